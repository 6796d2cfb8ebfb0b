package validation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/strictyaml"
)

// An Edit replaces a value of a scenario file, or adds a line to it.
type Edit struct {
	// At is the position of the old value. If the file has no old value, it is the position of the
	// mapping that gets the new line.
	At  Location `json:"at"`
	Key string   `json:"key"` // "stages[0].batch"
	Old string   `json:"old"` // as YAML; "none" if the file has none
	New string   `json:"new"` // as YAML; "none" removes the value
	// Add is the line of YAML to insert if the file does not set Key yet, such as "clear: {every: 5}".
	// If the file inherits Key from a merge ("<<"), the line overrides the inherited value. Under is
	// the key of the mapping that gets the line, such as "stages[0]"; "" is the top level of the file.
	Add   string `json:"add,omitempty"`
	Under string `json:"under,omitempty"`
	// Export is the shell command that sets the value, if the value is an environment variable.
	Export string `json:"export,omitempty"`

	cost  string // what the edit costs, if its kind does not say so
	path  []any  // keys (string) and indices (int)
	value any    // nil removes the item from its list
}

// edit returns the edit that sets the value at a path. If value is nil, the edit removes the item
// at the path from its list.
func (d *document) edit(value any, path ...any) Edit {
	e := Edit{Key: yamlPath(path), Old: "none", New: "none", path: path, value: value}
	if value != nil {
		e.New = flow(value)
		if text, ok := value.(string); ok {
			e.New = text
		}
	}
	at := d.find(path)
	p := strictyaml.Where(at.node)
	e.At = Location{d.name, p.Line, p.Column}
	if at.old != nil {
		e.Old = d.shown(at.old)
	}
	if at.depth < len(path) {
		e.Add, e.Under = added(value, path[at.depth:]), yamlPath(path[:at.depth])
	}
	return e
}

// yamlPath returns a path as people write it: "stages[0].batch".
func yamlPath(path []any) string {
	var b strings.Builder
	for _, p := range path {
		if i, ok := p.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%s", p)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// added returns the line that sets a value at a path of keys below a mapping: "clear: {every: 5}".
func added(value any, path []any) string {
	text := flow(value)
	for i, key := range slices.Backward(path) {
		text = fmt.Sprintf("%v: %s", key, text)
		if i > 0 {
			text = "{" + text + "}"
		}
	}
	return text
}

// word matches a text that needs no quotes in YAML, not even in brackets. notAText matches the
// exceptions: words that YAML does not read as text.
var (
	word     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)
	notAText = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|y|n)$`)
)

// flow returns a value as YAML in one line that is also valid inside brackets.
func flow(value any) string {
	switch v := value.(type) {
	case string:
		if word.MatchString(v) && !notAText.MatchString(v) {
			return v
		}
		return strconv.Quote(v)
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = flow(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// shown returns a value of the file in one line, for the report.
func (d *document) shown(n ast.Node) string {
	n = d.resolve(n)
	if text, ok := strictyaml.Scalar(n); ok {
		return strings.TrimSpace(text)
	}
	var value any
	if err := yaml.NodeToValue(n, &value, yaml.UseOrderedMap()); err == nil {
		if text, err := yaml.MarshalWithOptions(value, yaml.Flow(true)); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return strings.Join(strings.Fields(n.String()), " ") // the value contains an alias
}

// with makes edits one after the other, as a person would make them by hand. It returns the file's
// new text. It also returns the edits as they were made: if the first adds "clear: {every: 5}", the
// next adds its line under clear.
func (d *document) with(edits []Edit) ([]byte, []Edit, error) {
	edits = slices.Clone(edits)
	// Items are removed from a list last, and from its end on, so that the indices of the others
	// stay valid.
	order := make([]int, len(edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := edits[i], edits[j]
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
	for n, i := range order {
		e := &edits[i]
		if n > 0 {
			var err error
			if d, err = newDocument([]byte(d.src), d.name); err != nil {
				return nil, nil, err
			}
			again := d.edit(e.value, e.path...)
			e.Add, e.Under = again.Add, again.Under
		}
		src, err := d.splice(*e)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", e.At, e.Key, err)
		}
		d = &document{name: d.name, src: src}
	}
	return []byte(d.src), edits, nil
}

// compareKeys compares two elements of paths: indices by value, others as text.
func compareKeys(a, b any) int {
	i, isIndex := a.(int)
	j, bothAre := b.(int)
	if isIndex && bothAre {
		return cmp.Compare(i, j)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
