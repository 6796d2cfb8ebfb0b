package strictyaml

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Shown returns the first line of a node as it is written, shortened and in quotes.
func Shown(n ast.Node) string {
	found := ""
	switch n := n.(type) {
	case *ast.AliasNode:
		found = "*" + n.Value.GetToken().Value
	case *ast.AnchorNode:
		return Shown(n.Value)
	case *ast.MappingNode, *ast.SequenceNode, *ast.MappingValueNode:
		found = n.String()
	case *ast.NullNode:
		return "nothing"
	default:
		if s, ok := Scalar(n); ok {
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

// Where returns the position at which a node begins. For a mapping, this is the position of its
// first key. The YAML parser would give the position of the key's colon.
func Where(n ast.Node) Place {
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
		return Place{Line: 1, Column: 1}
	}
	return Place{Line: max(1, t.Position.Line), Column: max(1, t.Position.Column)}
}

// Inside returns the position of the first character of a scalar's text, behind the opening quote.
func Inside(n ast.Node) Place {
	p := Where(n)
	switch n := n.(type) {
	case *ast.StringNode:
		t := n.GetToken()
		if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
			p.Column++
		}
		p.Direct = !strings.ContainsAny(t.Origin, "\\\n") ||
			!strings.ContainsAny(strings.TrimSpace(t.Origin), "\\\n")
	case *ast.IntegerNode, *ast.FloatNode:
		p.Direct = true
	}
	return p
}

// Resolve follows anchors and aliases, and returns the node to which they lead. If this node
// cannot be read, Resolve adds a mistake and returns nil.
func (r *Reader) Resolve(n ast.Node) ast.Node {
	for range maxDepth {
		if r.visits++; r.visits > maxVisits {
			if r.visits == maxVisits+1 {
				r.Fail(n, fmt.Sprintf("at most %d values, those behind aliases counted each time",
					maxVisits), "")
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
				r.Fail(node, "the name of an anchor before it"+Meant(name,
					slices.Sorted(maps.Keys(r.anchors))), "")
				return nil
			}
			n = to
		case *ast.TagNode:
			r.Fail(node, "a value without a tag", "leave out "+node.GetToken().Value)
			return nil
		case nil:
			return nil
		case *ast.IntegerNode:
			if otherwise := fmt.Sprint(node.Value); r.octal(node, otherwise) {
				return nil
			}
			return n
		default:
			return n
		}
	}
	r.Fail(n, "an alias of something else than itself", "")
	return nil
}

// octal reports whether YAML 1.1 reads a number as octal, as it reads 010 as 8. If so, octal adds
// a mistake.
func (r *Reader) octal(n *ast.IntegerNode, value string) bool {
	digits := strings.ReplaceAll(n.GetToken().Value, "_", "")
	if decimal, err := strconv.ParseInt(digits, 10, 64); err != nil || strconv.FormatInt(decimal,
		10) == value {
		return false
	}
	sign := strings.TrimRight(digits, "0123456789")
	r.Fail(n, "a number without a 0 before it",
		fmt.Sprintf("YAML reads it as %s; write %s%s or %s, or put it in quotes if it is a text",
			value,
			strings.TrimPrefix(sign, "+"), strings.TrimLeft(digits, "+-0"), value))
	return true
}

// An anchored visitor collects the anchors of a document.
type anchored struct{ to map[string]ast.Node }

func (a anchored) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a.to[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}

// An Entry is a key of a mapping and its value.
type Entry struct {
	Key   string
	At    ast.Node // At is the node of the key
	Value ast.Node
}

// Entries returns the keys of a mapping with their values, including the keys that "<<" merges into
// it. If the node is no mapping, Entries adds a mistake and ok is false.
func (r *Reader) Entries(n ast.Node, depth int) (all []Entry, ok bool) {
	node := r.Resolve(n)
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
		r.Fail(node, "key: value", "")
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
			r.Fail(v.Key, "each key once", "delete one of the two")
			continue
		}
		seen[key] = true
		all = append(all, Entry{key, v.Key, v.Value})
	}
	for _, m := range merged {
		sources := []ast.Node{m}
		if list, isList := r.Resolve(m).(*ast.SequenceNode); isList {
			sources = list.Values
		}
		for _, source := range sources {
			if depth > maxDepth {
				r.Fail(source, "a merge of something else than itself", "")
				return all, true
			}
			more, _ := r.Entries(source, depth+1)
			for _, e := range more {
				if !seen[e.Key] {
					seen[e.Key] = true
					all = append(all, e)
				}
			}
		}
	}
	return all, true
}

// Mapping calls the function in `known` for the value of each key. It returns the values of the
// keys that it found. An unknown key is a mistake.
func (r *Reader) Mapping(n ast.Node, known Fields) map[string]ast.Node {
	found := map[string]ast.Node{}
	all, _ := r.Entries(n, 0)
	for _, e := range all {
		read, ok := known[e.Key]
		if strings.HasPrefix(e.Key, "x-") {
			continue // keys that begin with x- exist only for their anchors
		}
		if !ok {
			keys := slices.SortedFunc(maps.Keys(known), cmp.Compare)
			r.Fail(e.At, "one of the keys "+strings.Join(keys, ", ")+Meant(e.Key, keys), "")
			continue
		}
		found[e.Key] = e.Value
		read(e.Value)
	}
	return found
}

// List returns the items of a list. If the node is no list, List adds a mistake and returns nil.
func (r *Reader) List(n ast.Node) []ast.Node {
	node := r.Resolve(n)
	list, ok := node.(*ast.SequenceNode)
	if node != nil && !ok {
		r.Fail(node, "a list", "put it in [brackets]")
	}
	if !ok {
		return nil
	}
	return list.Values
}
