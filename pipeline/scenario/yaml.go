package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"vramsoak/parser"
)

// Bounds of a file. The largest of the fixtures has some 5 KiB and 150 nodes.
const (
	maxSource   = 256 << 10 // bytes
	maxVisits   = 20_000    // nodes, those behind an alias counted each time
	maxMistakes = 100
	maxDepth    = 64 // of brackets and of aliases within aliases
)

// A place is where something stands in a file; line and column count from 1. It is direct where the text that begins there
// is written as it is: further into it is further right in the line.
type place struct {
	line, column int
	direct       bool
}

// places are where the parts of a scenario stand: "clear.every", "stages.0.batch".
type places map[string]place

// A reader collects the mistakes of a file.
type reader struct {
	path    string
	errs    []error
	anchors map[string]ast.Node
	visits  int
	places  places
}

// fields are the keys of a mapping and what reads their values.
type fields map[string]func(ast.Node)

// document reads the only document of a file; nil where there is nothing to read.
func (r *reader) document(src []byte) ast.Node {
	at := func(line, column int, expected, found, advice string) ast.Node {
		r.add(place{line: line, column: column}, expected, found, advice)
		return nil
	}
	if len(src) > maxSource {
		return at(1, 1, fmt.Sprintf("a file of at most %s", parser.FormatBytes(maxSource)), parser.FormatBytes(int64(len(src))),
			"is this a scenario?")
	}
	if line, column, ok := tooDeep(src); ok {
		return at(line, column, fmt.Sprintf("at most %d brackets within each other", maxDepth), "more", "")
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
	case len(bodies) == 0:
		return at(1, 1, "a scenario: at least stages:", "an empty file", "see the example in the documentation of pipeline/scenario")
	case len(bodies) > 1:
		r.fail(bodies[1].Body, "one document", "put the second one in a file of its own")
	}
	return bodies[0].Body
}

// tooDeep says where brackets are opened within too many others, before the parser calls itself for each.
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

// add adds a mistake, once where an alias brings it up again.
func (r *reader) add(p place, expected, found, advice string) {
	m := Mistake{Path: r.path, Line: p.line, Column: p.column, Expected: expected, Found: found, Advice: advice}
	if len(r.errs) == maxMistakes {
		m.Expected, m.Found, m.Advice = fmt.Sprintf("at most %d mistakes", maxMistakes-1), "more", "mend these first"
	}
	if len(r.errs) > maxMistakes || slices.ContainsFunc(r.errs, func(err error) bool { return *asMistake(err) == m }) {
		return
	}
	r.errs = append(r.errs, &m)
}

func asMistake(err error) *Mistake {
	m, _ := errors.AsType[*Mistake](err) // a reader's errors are all of them
	return m
}

// fail adds a mistake about a node.
func (r *reader) fail(n ast.Node, expected, advice string) {
	r.add(where(n), expected, shown(n), advice)
}

// shown is a node as it is written, its first line.
func shown(n ast.Node) string {
	found := ""
	switch n := n.(type) {
	case *ast.AliasNode:
		found = "*" + n.Value.GetToken().Value
	case *ast.AnchorNode:
		return shown(n.Value)
	case *ast.MappingNode, *ast.SequenceNode, *ast.MappingValueNode:
		found = n.String()
	case *ast.NullNode:
		return "nothing"
	default:
		if s, ok := text(n); ok {
			found = s
		} else {
			found = n.GetToken().Value
		}
	}
	found = strings.TrimSpace(found)
	if line, _, more := strings.Cut(found, "\n"); more {
		found = line + " ..."
	}
	if runes := []rune(found); len(runes) > 80 {
		found = string(runes[:77]) + "..."
	}
	return strconv.Quote(found)
}

// where is where a node begins: a block of keys at the first one, not at its colon.
func where(n ast.Node) place {
	t := n.GetToken()
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			t = n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		t = n.Key.GetToken()
	}
	if t == nil || t.Position == nil {
		return place{line: 1, column: 1}
	}
	return place{line: max(1, t.Position.Line), column: max(1, t.Position.Column)}
}

// inside is where the text of a scalar begins: behind its quote.
func inside(n ast.Node) place {
	p := where(n)
	switch n := n.(type) {
	case *ast.StringNode:
		t := n.GetToken()
		if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
			p.column++
		}
		p.direct = !strings.ContainsAny(t.Origin, "\\\n") || !strings.ContainsAny(strings.TrimSpace(t.Origin), "\\\n")
	case *ast.IntegerNode, *ast.FloatNode:
		p.direct = true
	}
	return p
}

// resolve is what a node stands for: behind anchors and aliases. It is nil where that is nothing, which was said.
func (r *reader) resolve(n ast.Node) ast.Node {
	for range maxDepth {
		if r.visits++; r.visits > maxVisits {
			if r.visits == maxVisits+1 {
				r.fail(n, fmt.Sprintf("at most %d values, those behind aliases counted each time", maxVisits), "")
			}
			return nil
		}
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			name := node.Value.GetToken().Value
			to, known := r.anchors[name]
			if !known {
				r.fail(node, "the name of an anchor before it"+meant(name, slices.Sorted(maps.Keys(r.anchors))), "")
				return nil
			}
			n = to
		case *ast.TagNode:
			r.fail(node, "a value without a tag", "leave out "+node.GetToken().Value)
			return nil
		case nil:
			return nil
		default:
			return n
		}
	}
	r.fail(n, "an alias of something else than itself", "")
	return nil
}

// anchored finds the anchors of a document.
type anchored struct{ to map[string]ast.Node }

func (a anchored) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a.to[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}

// An entry is a key with its value.
type entry struct {
	key   string
	at    ast.Node
	value ast.Node
}

// entries are the keys of a mapping, with those that "<<" merges into it; ok is false where it is none, which was said.
func (r *reader) entries(n ast.Node, depth int) (all []entry, ok bool) {
	node := r.resolve(n)
	if node == nil {
		return nil, false
	}
	var values []*ast.MappingValueNode
	switch node := node.(type) {
	case *ast.MappingNode:
		values = node.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{node}
	default:
		r.fail(node, "key: value", "")
		return nil, false
	}
	seen := map[string]bool{}
	var merged []ast.Node
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, v.Value)
			continue
		}
		key := v.Key.GetToken().Value
		if seen[key] {
			r.fail(v.Key, "each key once", "delete one of the two")
			continue
		}
		seen[key] = true
		all = append(all, entry{key, v.Key, v.Value})
	}
	for _, m := range merged {
		sources := []ast.Node{m}
		if list, isList := r.resolve(m).(*ast.SequenceNode); isList {
			sources = list.Values
		}
		for _, source := range sources {
			if depth > maxDepth {
				r.fail(source, "a merge of something else than itself", "")
				return all, true
			}
			more, _ := r.entries(source, depth+1)
			for _, e := range more {
				if !seen[e.key] {
					seen[e.key] = true
					all = append(all, e)
				}
			}
		}
	}
	return all, true
}

// mapping reads the keys of a mapping, and says which were there.
func (r *reader) mapping(n ast.Node, known fields) map[string]ast.Node {
	found := map[string]ast.Node{}
	all, _ := r.entries(n, 0)
	for _, e := range all {
		read, ok := known[e.key]
		if strings.HasPrefix(e.key, "x-") {
			continue // for anchors
		}
		if !ok {
			keys := slices.SortedFunc(maps.Keys(known), cmp.Compare)
			r.fail(e.at, "one of the keys "+strings.Join(keys, ", ")+meant(e.key, keys), "")
			continue
		}
		found[e.key] = e.value
		read(e.value)
	}
	return found
}

// list is the items of a list. A single name stands for a list of one.
func (r *reader) list(n ast.Node) []ast.Node {
	node := r.resolve(n)
	list, ok := node.(*ast.SequenceNode)
	if node != nil && !ok {
		r.fail(node, "a list", "put it in [brackets]")
	}
	if !ok {
		return nil
	}
	return list.Values
}

// text reads a text that is not empty.
func (r *reader) text(to *string, what string) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, ok := text(node)
		if !ok || strings.TrimSpace(s) == "" || strings.ContainsAny(strings.TrimSpace(s), "\n\r") {
			r.fail(node, what, "")
			return
		}
		*to = strings.TrimSpace(s)
	}
}

// texts reads a list of texts.
func (r *reader) texts(to *[]string, what string) func(ast.Node) {
	return func(n ast.Node) {
		for _, item := range r.list(n) {
			var s string
			if r.text(&s, what)(item); s != "" {
				*to = append(*to, s)
			}
		}
	}
}

// oneOf reads one of some words.
func oneOf[T ~string](r *reader, to *T, words ...T) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, _ := text(node)
		if !slices.Contains(words, T(s)) {
			all := make([]string, len(words))
			for i, w := range words {
				all[i] = string(w)
			}
			r.fail(node, "one of "+strings.Join(all, ", ")+meant(s, all), "")
			return
		}
		*to = T(s)
	}
}

func (r *reader) flag(to *bool) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		b, ok := node.(*ast.BoolNode)
		if !ok {
			r.fail(node, "true or false", "")
			return
		}
		*to = b.Value
	}
}

// integer reads a whole number.
func (r *reader) integer(to *int, least int) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, ok := text(node)
		i, err := strconv.ParseInt(s, 10, 32)
		if !ok || err != nil || int(i) < least {
			r.fail(node, fmt.Sprintf("a whole number of %d or more", least), "")
			return
		}
		*to = int(i)
	}
}

// size reads bytes with their unit.
func (r *reader) size(to *int64, what string) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, _ := text(node)
		size, err := parser.ParseSize(s)
		if err != nil || size.Bytes < 0 || float64(size.Bytes) > maxBytes {
			r.fail(node, what+" such as 512MiB", "")
			return
		}
		if r.unitless(node, s, size.Bytes) {
			return
		}
		*to = size.Bytes
	}
}

// leastBare is the least number of bytes that may be written without a unit. Less is likely a number of MiB.
const leastBare = parser.MiB

// unitless says, as a mistake, that a number of bytes lacks its unit.
func (r *reader) unitless(n ast.Node, s string, bytes int64) bool {
	if _, err := strconv.ParseFloat(s, 64); err != nil || bytes == 0 || bytes >= leastBare {
		return false
	}
	r.fail(n, "a size with its unit", fmt.Sprintf("write %sMiB, or %sB if it is so few bytes", s, s))
	return true
}

// seconds reads a time of 0 or more: 0.5, 250us, 2m.
func (r *reader) seconds(to *float64, what string) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, _ := text(node)
		f, ok := parseSeconds(s)
		if !ok {
			r.fail(node, what+" such as 0.5 (seconds), 250us or 2m", "")
			return
		}
		*to = f
	}
}

func parseSeconds(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, false
		}
		f = d.Seconds()
	}
	return f, f >= 0 && f <= 1e9 && !math.IsNaN(f)
}

// share reads a ratio above 0 and up to 1: 0.75 or 75%.
func (r *reader) share(to *float64) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, _ := text(node)
		digits, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
		f, err := strconv.ParseFloat(digits, 64)
		if percent {
			f /= 100
		}
		if err != nil || !(f > 0 && f <= 1) {
			r.fail(node, "a share such as 0.75 or 75%, above 0 and up to 1", "")
			return
		}
		*to = f
	}
}

// expression reads a number, a size or an expression.
func (r *reader) expression(to *Expr) func(ast.Node) {
	return func(n ast.Node) {
		node := r.resolve(n)
		if node == nil {
			return
		}
		s, ok := text(node)
		if !ok || strings.TrimSpace(s) == "" {
			r.fail(node, "a number, a size such as 1.5GiB, or an expression such as ceil(seconds/30)", "")
			return
		}
		e, err := ParseExpr(s)
		if bad, isExpr := errors.AsType[*ExprError](err); isExpr {
			p := inside(node)
			if p.direct {
				p.column += utf8.RuneCountInString(s[:min(bad.Column, len(s))])
			}
			r.add(p, bad.Expected, shown(node), "")
			return
		}
		*to = e
	}
}

// text is a scalar as it is written.
func text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode: // behind | or >
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	}
	return "", false
}
