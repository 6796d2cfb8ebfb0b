package check

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"vramsoak/harness/shape"
	"vramsoak/parser"
)

// ParsePolicy reads a policy from YAML; name stands in its errors. What it does not name is as in [DefaultPolicy]. The
// error names every mistake, each with its line and column.
func ParsePolicy(src []byte, name string) (Policy, error) {
	policy := DefaultPolicy()
	file, err := yamlparser.ParseBytes(src, 0)
	if err != nil {
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			p := syntax.GetToken().Position
			return Policy{}, fmt.Errorf("%s:%d:%d: not YAML: %s", name, p.Line, p.Column, syntax.GetMessage())
		}
		return Policy{}, fmt.Errorf("%s: not YAML: %w", name, err)
	}
	r := &policyReader{name: name}
	switch {
	case len(file.Docs) > 1:
		r.fail(file.Docs[1].Body, "one document")
	case len(file.Docs) == 1 && file.Docs[0].Body != nil:
		r.mapping(file.Docs[0].Body, policyFields(r, &policy))
	}
	if err := errors.Join(r.errs...); err != nil {
		return Policy{}, err
	}
	return policy, nil
}

// policyFields are the keys of a policy file and what reads them.
func policyFields(r *policyReader, p *Policy) map[string]func(ast.Node) {
	checks := func(to *[]string) func(ast.Node) {
		return func(n ast.Node) {
			*to = r.strings(n, func(n ast.Node, s string) {
				if !slices.Contains(Checks, s) {
					r.fail(n, "one of "+strings.Join(Checks, ", "))
				}
			})
		}
	}
	return map[string]func(ast.Node){
		"gate":    checks(&p.Gate),
		"require": checks(&p.Require),
		"recovery": r.nested(map[string]func(ast.Node){
			"min":   r.share(&p.Recovery.Min),
			"floor": r.amount(&p.Recovery.Floor),
		}),
		"peak": r.nested(map[string]func(ast.Node){
			"notice": r.share(&p.Peak.Notice),
			"max":    r.share(&p.Peak.Max),
		}),
		"leak": r.nested(map[string]func(ast.Node){
			"max_growth": r.amount(&p.Leak.MaxGrowth),
			"min_files":  r.count(&p.Leak.MinFiles, shape.LeastFiles),
			"warm_up":    r.count(&p.Leak.WarmUp, 0),
		}),
		"fragmentation": r.nested(map[string]func(ast.Node){
			"max_growth": r.amount(&p.Fragmentation.MaxGrowth),
			"max_share":  r.share(&p.Fragmentation.MaxShare),
		}),
		"dark_memory": r.nested(map[string]func(ast.Node){"max_growth": r.amount(&p.DarkMemory.MaxGrowth)}),
		"drift":       r.nested(map[string]func(ast.Node){"max_change": r.share(&p.Drift.MaxChange)}),
		"clean_start": r.nested(map[string]func(ast.Node){
			"max_used": r.amount(&p.CleanStart.MaxUsed),
			"max_left": r.amount(&p.CleanStart.MaxLeft),
		}),
		"regression": r.nested(map[string]func(ast.Node){
			"min_effect":   r.share(&p.Regression.MinEffect),
			"min_bytes":    r.amount(&p.Regression.MinBytes),
			"min_slowdown": r.share(&p.Regression.MinSlowdown),
			"false_alarms": r.share(&p.Regression.FalseAlarms),
			"exact":        r.flag(&p.Regression.Exact),
		}),
		"expect": r.nested(map[string]func(ast.Node){
			"checkpoints": func(n ast.Node) { p.Expect.Checkpoints = r.strings(n, func(ast.Node, string) {}) },
		}),
		"dialects": r.dialects(&p.Dialects),
	}
}

// policyReader collects the mistakes of a policy file.
type policyReader struct {
	name string
	errs []error
}

func (r *policyReader) fail(n ast.Node, expected string) {
	p := place(n)
	found := strings.TrimSpace(n.String())
	if line, _, more := strings.Cut(found, "\n"); more {
		found = line + " ..."
	}
	r.errs = append(r.errs, fmt.Errorf("%s:%d:%d: expected %s, found %q", r.name, p.Line, p.Column, expected, found))
}

// place is where a node begins: a block of keys at the first one, not at its colon.
func place(n ast.Node) *token.Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position
	}
	return n.GetToken().Position
}

func (r *policyReader) mapping(n ast.Node, fields map[string]func(ast.Node)) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "key: value")
		return
	}
	for _, v := range values {
		read, known := fields[v.Key.String()]
		if !known {
			keys := slices.SortedFunc(maps.Keys(fields), cmp.Compare)
			r.fail(v.Key, "one of the keys "+strings.Join(keys, ", "))
			continue
		}
		read(v.Value)
	}
}

func (r *policyReader) nested(fields map[string]func(ast.Node)) func(ast.Node) {
	return func(n ast.Node) { r.mapping(n, fields) }
}

// list is the items of a list.
func (r *policyReader) list(n ast.Node) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "a list")
		return nil
	}
	return list.Values
}

func (r *policyReader) strings(n ast.Node, valid func(ast.Node, string)) []string {
	var out []string
	for _, v := range r.list(n) {
		s, ok := text(v)
		if !ok {
			r.fail(v, "a name")
			continue
		}
		valid(v, s)
		out = append(out, s)
	}
	return out
}

// dialects reads the list of the user's dialects.
func (r *policyReader) dialects(to *[]parser.UserDialect) func(ast.Node) {
	return func(n ast.Node) {
		names := map[string]bool{}
		for _, item := range r.list(n) {
			d, name := r.dialect(item)
			if name == nil {
				continue
			}
			if names[d.Name] {
				r.fail(name, "a name that no other dialect has")
			}
			names[d.Name] = true
			*to = append(*to, d)
		}
	}
}

// dialect reads one; name is nil where it has none.
func (r *policyReader) dialect(item ast.Node) (d parser.UserDialect, name ast.Node) {
	places := map[string]ast.Node{} // of the fields that could be read
	field := func(key string, to *string) func(ast.Node) {
		return func(n ast.Node) {
			s, ok := text(n)
			if !ok {
				r.fail(n, "a text after "+key+":")
				return
			}
			*to, places[key] = s, n
		}
	}
	before := len(r.errs)
	r.mapping(item, map[string]func(ast.Node){
		"name":    field("name", &d.Name),
		"pattern": field("pattern", &d.Pattern),
		"unit":    field("unit", &d.Unit),
		"decimal": r.flag(&d.Decimal),
	})
	if len(r.errs) == before && (places["name"] == nil || places["pattern"] == nil) {
		r.fail(item, "a name and a pattern")
		return d, places["name"]
	}
	for _, m := range d.Mistakes() {
		if n := places[m.Field]; n != nil {
			r.fail(n, m.Expected)
		}
	}
	return d, places["name"]
}

func (r *policyReader) share(to *Share) func(ast.Node) {
	return func(n ast.Node) {
		s, ok := text(n)
		share, valid := ParseShare(s)
		if !ok || !valid {
			r.fail(n, "a share such as 95% or 0.95, above 0 and up to 1")
			return
		}
		*to = share
	}
}

// ParseShare reads a share as policies have it: "95%" or "0.95". ok is false for what is none, or not above 0 and up to 1.
func ParseShare(s string) (share Share, ok bool) {
	digits, isPercent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if isPercent {
		f /= 100
	}
	return Share(f), err == nil && f > 0 && f <= 1
}

func (r *policyReader) amount(to *Amount) func(ast.Node) {
	return func(n ast.Node) {
		s, ok := text(n)
		size, err := parser.ParseSize(s)
		if !ok || err != nil || size.Bytes < 0 {
			r.fail(n, "an amount such as 256KiB")
			return
		}
		to.Bytes = size.Bytes
	}
}

func (r *policyReader) count(to *int, least int) func(ast.Node) {
	return func(n ast.Node) {
		s, ok := text(n)
		i, err := strconv.Atoi(s)
		if !ok || err != nil || i < least {
			r.fail(n, fmt.Sprintf("a whole number of %d or more", least))
			return
		}
		*to = i
	}
}

func (r *policyReader) flag(to *bool) func(ast.Node) {
	return func(n ast.Node) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			r.fail(n, "true or false")
			return
		}
		*to = b.Value
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
		return n.String(), true
	}
	return "", false
}
