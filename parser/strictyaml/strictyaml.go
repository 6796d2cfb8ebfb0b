package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"

	"vramsoak/parser/bounded"
	"vramsoak/parser/record"
)

// Bounds of a file. The largest of the fixtures has some 5 KiB and 150 nodes. The YAML parser takes
// time by the square of the tokens: of 256 KiB of them half a minute.
const (
	maxSource   = 64 << 10 // bytes
	maxVisits   = 10_000   // nodes, those behind an alias counted each time
	maxMistakes = 100
	maxDepth    = 64 // of brackets and of aliases within aliases
)

// ReadFile returns the text of a file for [Reader.Document]. One that is too large is a [*Mistake],
// and is not read.
func ReadFile(path string) ([]byte, error) { return refused(bounded.ReadFile(path, maxSource)) }

// ReadAll is [ReadFile] for a stream, such as standard input. Its error has the name.
func ReadAll(r io.Reader, name string) ([]byte, error) {
	return refused(bounded.ReadAll(r, name, maxSource))
}

func refused(text []byte, err error) ([]byte, error) {
	if large, ok := errors.AsType[*bounded.TooLargeError](err); ok {
		found := "more"
		if large.Size > 0 {
			found = record.FormatBytes(large.Size)
		}
		return nil, tooLarge(large.Name, found)
	}
	return text, err
}

func tooLarge(path, found string) *Mistake {
	return &Mistake{
		Path: path, Line: 1, Column: 1, Expected: "a file of at most " +
			record.FormatBytes(maxSource), Found: found,
		Advice: "is this the right file?",
	}
}

// A Place is where something stands in a file; line and column count from 1. It is Direct where the
// text that begins there is written as it is: further into it is further right in the line.
type Place struct {
	Line, Column int
	Direct       bool
}

// A Reader collects the mistakes of a file.
type Reader struct {
	Mistakes []*Mistake // in the order in which they were found
	path     string
	anchors  map[string]ast.Node
	visits   int
}

// New is a reader of a file of that name.
func New(path string) *Reader { return &Reader{path: path, anchors: map[string]ast.Node{}} }

// Err joins the mistakes in the order of the file; nil where there are none.
func (r *Reader) Err() error {
	slices.SortStableFunc(r.Mistakes, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(r.Mistakes))
	for i, m := range r.Mistakes {
		errs[i] = m
	}
	return errors.Join(errs...)
}

// Fields are the keys of a mapping and what reads their values.
type Fields map[string]func(ast.Node)

// Document reads the only document of a file; nil where there is nothing to read, which was said:
// what was expected, and what to do. A file of which nothing is expected may be empty.
func (r *Reader) Document(src []byte, expected, advice string) ast.Node {
	at := func(line, column int, expected, found, advice string) ast.Node {
		r.Add(Place{Line: line, Column: column}, expected, found, advice)
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // a byte order mark
	if len(src) > maxSource {
		large := tooLarge(r.path, record.FormatBytes(int64(len(src))))
		return at(1, 1, large.Expected, large.Found, large.Advice)
	}
	if line, column, ok := tooDeep(src); ok {
		return at(line, column, fmt.Sprintf("at most %d brackets within each other", maxDepth),
			"more", "")
	}
	if !utf8.Valid(src) {
		line, column := firstInvalid(src)
		return at(line, column, "UTF-8", "other bytes", "save the file as UTF-8")
	}
	file, err := yamlparser.ParseBytes(src, 0, yamlparser.AllowDuplicateMapKey())
	if err != nil {
		line, column, message := 1, 1, err.Error()
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			p := syntax.GetToken().Position
			line, column, message = max(1, p.Line), max(1, p.Column), syntax.GetMessage()
		}
		advice := ""
		if strings.ContainsAny(message, "\t") {
			advice = "indent with spaces, not with tabs"
		}
		return at(line, column, "YAML", strconv.Quote(message), advice)
	}
	bodies := slices.DeleteFunc(slices.Clone(file.Docs), func(d *ast.DocumentNode) bool {
		_, comment := d.Body.(*ast.CommentGroupNode)
		return d.Body == nil || comment
	})
	switch {
	case len(bodies) == 0 && expected == "":
		return nil
	case len(bodies) == 0:
		return at(1, 1, expected, "an empty file", advice)
	case len(bodies) > 1:
		r.Fail(bodies[1].Body, "one document", "put the second one in a file of its own")
	}
	ast.Walk(anchored{r.anchors}, bodies[0].Body)
	return bodies[0].Body
}

// tooDeep says where brackets are opened within too many others, before the parser calls itself for
// each.
func tooDeep(src []byte) (line, column int, ok bool) {
	line, column = 1, 0
	depth, dashes := 0, 0
	for _, c := range src {
		column++
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?':
			dashes++
		case ' ':
		case '\n':
			line, column, dashes = line+1, 0, 0
		default:
			dashes = 0
		}
		if depth > maxDepth || dashes > 4*maxDepth {
			return line, column, true
		}
	}
	return 0, 0, false
}

func firstInvalid(src []byte) (line, column int) {
	line, column = 1, 1
	for len(src) > 0 {
		c, size := utf8.DecodeRune(src)
		switch {
		case c == utf8.RuneError && size == 1:
			return line, column
		case c == '\n':
			line, column = line+1, 0
		}
		column++
		src = src[size:]
	}
	return line, column
}

// Add adds a mistake, once where an alias brings it up again.
func (r *Reader) Add(p Place, expected, found, advice string) {
	m := Mistake{
		Path: r.path, Line: p.Line, Column: p.Column, Expected: expected, Found: found,
		Advice: advice,
	}
	if len(r.Mistakes) == maxMistakes {
		m.Expected, m.Found, m.Advice = fmt.Sprintf("at most %d mistakes", maxMistakes-1), "more",
			"mend these first"
	}
	if len(r.Mistakes) > maxMistakes || slices.ContainsFunc(r.Mistakes, func(o *Mistake) bool {
		return *o == m
	}) {
		return
	}
	r.Mistakes = append(r.Mistakes, &m)
}

// Fail adds a mistake about a node.
func (r *Reader) Fail(n ast.Node, expected, advice string) {
	if len(r.Mistakes) > maxMistakes {
		return
	}
	r.Add(Where(n), expected, Shown(n), advice)
}
