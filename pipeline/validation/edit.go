package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"

	"vramsoak/parser/strictyaml"
)

// An Edit is a value of a scenario file that is to be written in the place of another.
type Edit struct {
	// Key is the value's place in the file: "stages[0].batch".
	Key string
	// Line and Column are where the old value stands, or where its parent does, if the file has no old value; from 1.
	Line, Column int
	Old, New     string // as YAML; Old is "none" where the file has none
	// Add is the line of YAML that is to be added, where the file has no old value, and Under is the key of what it is to be
	// added to: "" is the file itself.
	Add, Under string
	// Export is the line for a shell, where the value is an environment variable.
	Export string

	path  []any // keys (string) and indices (int)
	value any   // nil takes it out
}

// A document is a scenario file that can be edited.
type document struct {
	name string
	src  []byte
	file *ast.File
}

func newDocument(src []byte, name string) (*document, error) {
	file, err := yamlparser.ParseBytes(src, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &document{name, src, file}, nil
}

// edit is the edit that puts a value at a path.
func (d *document) edit(value any, path ...any) Edit {
	e := Edit{Key: strings.TrimPrefix(yamlPath(path), "$."), Old: "none", New: "none", path: path, value: value, Line: 1, Column: 1}
	if value != nil {
		e.New = oneLine(value)
	}
	for n := len(path); n > 0; n-- {
		node, ok := d.node(path[:n])
		if !ok {
			continue
		}
		at := strictyaml.Where(node)
		e.Line, e.Column = at.Line, at.Column
		if old := d.value(path...); n == len(path) && old != nil {
			e.Old = oneLine(old)
			return e
		}
		e.Add, e.Under = added(value, path[n:]), strings.TrimPrefix(yamlPath(path[:n]), "$.")
		return e
	}
	e.Add = added(value, path)
	return e
}

// added is a line that puts a value at a path of keys: "clear: {every: 5}"; "" where there is nothing to be added.
func added(value any, path []any) string {
	for _, key := range slices.Backward(path) {
		value = yaml.MapSlice{{Key: key, Value: value}}
	}
	line, found := strings.CutPrefix(oneLine(value), "{")
	if !found || len(path) == 0 {
		return ""
	}
	return strings.TrimSuffix(line, "}")
}

// node is what stands at a path.
func (d *document) node(path []any) (ast.Node, bool) {
	p, err := yaml.PathString(yamlPath(path))
	if err != nil {
		return nil, false
	}
	node, err := p.FilterFile(d.file)
	return node, err == nil && node != nil
}

// value is what stands at a path, nil where nothing does.
func (d *document) value(path ...any) any {
	node, ok := d.node(path)
	if !ok {
		return nil
	}
	var v any
	if yaml.NodeToValue(node, &v, yaml.UseOrderedMap()) != nil {
		return nil
	}
	return v
}

// yamlPath is "$.stages[0].batch".
func yamlPath(path []any) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, p := range path {
		if i, ok := p.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%s", p)
		}
	}
	return b.String()
}

// oneLine is a value as YAML in one line; a text as it is.
func oneLine(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := yaml.MarshalWithOptions(value, yaml.Flow(true))
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(string(text))
}

// with is the file's text with the edits made. Comments are lost, and nothing else.
func (d *document) with(edits []Edit) ([]byte, error) {
	var tree any
	if err := yaml.UnmarshalWithOptions(d.src, &tree, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	// What is taken out of a list is taken from its end on, so that places before it stay what they are.
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		switch {
		case a.value == nil && b.value == nil:
			return slices.CompareFunc(b.path, a.path, compareKeys)
		case a.value == nil:
			return 1
		case b.value == nil:
			return -1
		}
		return 0
	})
	for _, e := range edits {
		var err error
		if tree, err = put(tree, e.path, e.value); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", d.name, e.Key, err)
		}
	}
	return yaml.Marshal(tree)
}

// compareKeys orders indices by their value, and keys by their name.
func compareKeys(a, b any) int {
	i, isIndex := a.(int)
	j, bothAre := b.(int)
	if isIndex && bothAre {
		return cmp.Compare(i, j)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// put is a tree with a value at a path. Mappings that are not there are made.
func put(tree any, path []any, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch key := path[0].(type) {
	case int:
		list, ok := tree.([]any)
		if !ok || key >= len(list) {
			return nil, fmt.Errorf("expected a list of more than %d, found %T", key, tree)
		}
		if len(path) == 1 && value == nil {
			return append(list[:key:key], list[key+1:]...), nil
		}
		changed, err := put(list[key], path[1:], value)
		list[key] = changed
		return list, err
	case string:
		if tree == nil {
			tree = yaml.MapSlice{}
		}
		mapping, ok := tree.(yaml.MapSlice)
		if !ok {
			return nil, fmt.Errorf("expected a mapping with %s, found %T", key, tree)
		}
		for i := range mapping {
			if mapping[i].Key != key {
				continue
			}
			if len(path) == 1 && value == nil {
				return append(mapping[:i:i], mapping[i+1:]...), nil
			}
			changed, err := put(mapping[i].Value, path[1:], value)
			mapping[i].Value = changed
			return mapping, err
		}
		changed, err := put(nil, path[1:], value)
		return append(mapping, yaml.MapItem{Key: key, Value: changed}), err
	}
	return nil, fmt.Errorf("expected a key or an index, found %T", path[0])
}
