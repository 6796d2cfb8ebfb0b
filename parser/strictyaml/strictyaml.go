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

// Limits of a file. The largest file in the fixtures has about 5 KiB and 150 nodes. The limits
// keep the time short: the YAML parser's time grows with the square of the number of tokens, and
// 256 KiB of tokens take half a minute.
const (
	maxSource   = 64 << 10 // bytes
	maxVisits   = 10_000   // nodes; a node counts again for each alias that leads to it
	maxMistakes = 100
	maxDepth    = 64 // of brackets and of aliases within aliases
)

// ReadFile returns the text of a file for [Reader.Document]. If the file is too large, ReadFile
// returns a [*Mistake] and no text.
func ReadFile(path string) ([]byte, error) { return refused(bounded.ReadFile(path, maxSource)) }

// ReadAll is [ReadFile] for a stream such as standard input. The parameter name is the stream's
// name in errors.
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

// A Place is a position in a file. Line and Column count from 1. Direct is set if the text at
// this position has no escapes and no line breaks. Then the n-th character of the text is n
// columns further right, so a mistake inside the text can be located.
type Place struct {
	Line, Column int
	Direct       bool
}

// A Reader reads one file and collects the mistakes in it.
type Reader struct {
	Mistakes []*Mistake // in the order in which they were found
	path     string
	anchors  map[string]ast.Node
	visits   int
}

// New returns a reader. The parameter path is the file's path in mistakes.
func New(path string) *Reader { return &Reader{path: path, anchors: map[string]ast.Node{}} }

// Err returns all mistakes as one error, in the order of the file, or nil if there are none.
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

// Fields maps each key of a mapping to the function that reads its value.
type Fields map[string]func(ast.Node)

// Document returns the only document of a file. If the file is empty, Document adds a mistake with
// the texts in expected and advice, and returns nil. If expected is "", the file may be empty, and
// Document only returns nil. If the file cannot be read, Document adds a mistake that says why, and
// returns nil.
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

// tooDeep returns the first position at which more than maxDepth brackets are open. It runs
// before the YAML parser, because the parser calls itself for each bracket and could exhaust the
// stack.
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

// Add adds a mistake. A mistake that an alias leads to several times is added only once.
func (r *Reader) Add(p Place, expected, found, advice string) {
	m := Mistake{
		Path: r.path, Line: p.Line, Column: p.Column, Expected: expected, Found: found,
		Advice: advice,
	}
	if len(r.Mistakes) == maxMistakes {
		m.Expected, m.Found, m.Advice = fmt.Sprintf("at most %d mistakes", maxMistakes-1), "more",
			"correct these first"
	}
	if len(r.Mistakes) > maxMistakes || slices.ContainsFunc(r.Mistakes, func(o *Mistake) bool {
		return *o == m
	}) {
		return
	}
	r.Mistakes = append(r.Mistakes, &m)
}

// Fail adds a mistake about a node. The mistake says that the text of the node was found.
func (r *Reader) Fail(n ast.Node, expected, advice string) {
	if len(r.Mistakes) > maxMistakes {
		return
	}
	r.Add(Where(n), expected, Shown(n), advice)
}
