package validation

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/strictyaml"
)

// A document is a scenario file that can be edited.
type document struct {
	name    string
	src     string // lines end with \n
	body    ast.Node
	anchors map[string]ast.Node
}

func newDocument(src []byte, name string) (*document, error) {
	d := &document{name: name, anchors: map[string]ast.Node{}}
	d.src = strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n") // as an editor shows it
	r := strictyaml.New(name)
	d.body = r.Document([]byte(d.src), "a scenario", "")
	if err := r.Err(); err != nil {
		return nil, err
	}
	ast.Walk(d, d.body)
	return d, nil
}

// Visit notes anchors.
func (d *document) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		d.anchors[anchor.Name.GetToken().Value] = anchor.Value
	}
	return d
}

// resolve is what a node stands for: behind anchors and aliases.
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

// A place is where a path leads.
type place struct {
	// node is the value, as it is written; or, where the file has none in that place, the mapping that lacks it.
	node  ast.Node
	depth int      // keys of the path that lead to node
	old   ast.Node // the value, also where it is merged into node
}

// find follows a path as far as the file has it. A key that a merge brings in is followed, but a value that one brings in is not
// of that place: it is everybody's who merges it.
func (d *document) find(path []any) place {
	at := d.body
	for i, key := range path {
		node := d.resolve(at)
		switch key := key.(type) {
		case string:
			own, merged := d.entry(node, key)
			if own == nil && (merged == nil || i == len(path)-1) {
				return place{node, i, merged}
			}
			if at = own; own == nil {
				at = merged
			}
		case int:
			list, ok := node.(*ast.SequenceNode)
			if !ok || key >= len(list.Values) {
				return place{node, i, nil}
			}
			at = list.Values[key]
		}
	}
	for anchor, ok := at.(*ast.AnchorNode); ok; anchor, ok = at.(*ast.AnchorNode) {
		at = anchor.Value // the anchor stays
	}
	return place{at, len(path), at}
}

// pairs are the keys of a mapping with their values.
func pairs(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// entry is the value of a mapping's key: its own, and the first that is merged into it.
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
