package validation

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/strictyaml"
)

// A document is the text of a scenario file that can be edited.
type document struct {
	name    string
	src     string // lines end with \n
	body    ast.Node
	anchors map[string]ast.Node
}

func newDocument(src []byte, name string) (*document, error) {
	d := &document{name: name, anchors: map[string]ast.Node{}}
	// Without the byte order mark and with line ends \n, offsets agree with positions in an editor.
	d.src = strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
	r := strictyaml.New(name)
	d.body = r.Document([]byte(d.src), "a scenario", "")
	if err := r.Err(); err != nil {
		return nil, err
	}
	ast.Walk(d, d.body)
	return d, nil
}

// Visit collects the anchors of the YAML document (&name). [ast.Walk] calls it for each node.
func (d *document) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		d.anchors[anchor.Name.GetToken().Value] = anchor.Value
	}
	return d
}

// resolve returns the value behind an anchor (&name) or an alias (*name). It returns any other node
// as it is.
func (d *document) resolve(n ast.Node) ast.Node {
	for range 100 { // the reader refuses loops
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			n = d.anchors[node.Value.GetToken().Value]
		default:
			return n
		}
	}
	return n
}

// A target is the place in a document at which a path ends, such as the path stages, 0, batch.
type target struct {
	// node is the YAML node at the end of the path. If the file does not have the whole path, node
	// is the innermost mapping or list on the path that the file has.
	node  ast.Node
	depth int      // number of keys of the path that lead to node
	old   ast.Node // the value, even if inherited; nil if there is none
}

// find follows a path as far as the file has it. It also follows keys that a mapping inherits
// through a merge ("<<"). If the value at the end of the path is inherited, the value is only in
// old, not in node: other mappings may inherit the same value, so an edit must not change it.
func (d *document) find(path []any) target {
	at := d.body
	for i, key := range path {
		node := d.resolve(at)
		switch key := key.(type) {
		case string:
			own, merged := d.entry(node, key)
			if own == nil && (merged == nil || i == len(path)-1) {
				return target{node, i, merged}
			}
			if at = own; own == nil {
				at = merged
			}
		case int:
			list, ok := node.(*ast.SequenceNode)
			if !ok || key >= len(list.Values) {
				return target{node, i, nil}
			}
			at = list.Values[key]
		}
	}
	for anchor, ok := at.(*ast.AnchorNode); ok; anchor, ok = at.(*ast.AnchorNode) {
		at = anchor.Value // the anchor stays
	}
	return target{at, len(path), at}
}

// pairs returns the pairs of keys and values of a mapping, or nil for another node.
func pairs(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// entry returns the value of a key in a mapping: own if the mapping itself has the key; otherwise
// merged, the first value that the mapping inherits through a merge ("<<").
func (d *document) entry(mapping ast.Node, key string) (own, merged ast.Node) {
	for _, p := range pairs(mapping) {
		if !p.Key.IsMergeKey() {
			if p.Key.GetToken().Value == key {
				return p.Value, nil
			}
			continue
		}
		source := d.resolve(p.Value)
		sources := []ast.Node{source}
		if list, ok := source.(*ast.SequenceNode); ok {
			sources = list.Values
		}
		for _, s := range sources {
			if value, deeper := d.entry(d.resolve(s), key); merged == nil {
				if merged = value; value == nil {
					merged = deeper
				}
			}
		}
	}
	return nil, merged
}
