package scenario

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/strictyaml"
)

// A Parameter is a named number, such as n_mels, that the file's expressions may use.
type Parameter struct {
	Name  string
	Value float64
	// Try has other values that validate may propose, from the cheapest to the most expensive. Cost
	// says in words what they cost, such as "detail of the spectrograms".
	Try  []float64
	Cost string
}

// A Row is a row of validate's table: values of parameters under a name.
type Row struct {
	Name   string
	Values map[string]float64
}

// Values returns the values of the parameters by their names.
func (s *Scenario) Values() map[string]float64 {
	if len(s.Parameters) == 0 {
		return nil
	}
	values := make(map[string]float64, len(s.Parameters))
	for _, p := range s.Parameters {
		values[p.Name] = p.Value
	}
	return values
}

// Set replaces the value of a parameter. It returns an error if the file has no such parameter.
func (s *Scenario) Set(name string, value float64) error {
	var names []string
	for i := range s.Parameters {
		if s.Parameters[i].Name == name {
			s.Parameters[i].Value = value
			return nil
		}
		names = append(names, s.Parameters[i].Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: expected a parameter named %q, found no parameters; add to the file: "+
			"parameters: {%s: %g}", s.Path, name, name, value)
	}
	return fmt.Errorf("%s: expected a parameter%s, found %q; the file has %s", s.Path,
		strictyaml.Meant(name, names), name, strings.Join(names, ", "))
}

// parameterNames returns the names of the parameters without reporting mistakes, because the
// expressions that use them may come first in the file.
func (r *reader) parameterNames(body ast.Node) (names []string) {
	scout := *r.Reader
	entries := func(n ast.Node) []strictyaml.Entry {
		all, _ := scout.Entries(n, 0)
		return all
	}
	for _, e := range entries(body) {
		if e.Key == "parameters" {
			for _, p := range entries(e.Value) {
				names = append(names, p.Key)
			}
		}
	}
	return names
}

// parameterName matches a name that an expression can use.
var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// usable reports whether an expression can use a name for a parameter: it has another meaning
// neither here nor in package expr.
func usable(name string) bool {
	taken := slices.Concat(names, functions, slices.Collect(maps.Keys(constants)), []string{
		"random", "mod",
	})
	_, err := parseExpr(name+" + 0", []string{name})
	return parameterName.MatchString(name) && !slices.Contains(taken, name) && err == nil
}

// readParameters reads the parameters: each is a number, or a number with other values to try.
func (r *reader) readParameters(n ast.Node) []Parameter {
	var all []Parameter
	entries, _ := r.Entries(n, 0)
	for _, e := range entries {
		p := Parameter{Name: e.Key}
		r.places["parameters."+e.Key] = strictyaml.Where(e.At)
		if !usable(e.Key) {
			r.Fail(e.At, "a name such as n_mels, of letters, digits and _, that no expression uses for "+
				"something else", "")
			continue
		}
		value := r.Resolve(e.Value)
		if value == nil {
			continue
		}
		before := len(r.Mistakes)
		if _, scalar := strictyaml.Scalar(value); scalar {
			r.constant(&p.Value)(value)
		} else {
			r.parameter(value, &p)
		}
		if len(r.Mistakes) > before {
			p.Value = 1 // one mistake is enough: a batch of 0 would be another
		}
		all = append(all, p)
	}
	return all
}

// parameter reads a parameter that is more than a number.
func (r *reader) parameter(n ast.Node, p *Parameter) {
	found := map[string]ast.Node{}
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		found = r.Mapping(n, strictyaml.Fields{
			"value": r.constant(&p.Value),
			"try": func(n ast.Node) {
				for _, item := range r.List(n) {
					p.Try = append(p.Try, 0)
					r.constant(&p.Try[len(p.Try)-1])(item)
				}
			},
			"cost": r.Text(&p.Cost, "what other values cost"),
		})
	}
	if found["value"] == nil {
		r.Fail(n, "a number of 0 or more, or {value: 128, try: [96, 64]}", "")
	}
}

// constant returns a function that reads a number or a size, but no other expression, into to.
func (r *reader) constant(to *float64) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		text, _ := strictyaml.Scalar(node)
		e, err := ParseExpr(text)
		value, constant := e.Constant()
		if text == "" || err != nil || !constant || value < 0 {
			r.Fail(node, "a number of 0 or more, or a size such as 1.5GiB", "")
			return
		}
		*to = value
	}
}

// table reads the rows of validate's table: a mapping of names to values of parameters.
func (r *reader) table(n ast.Node) []Row {
	var all []Row
	rows, _ := r.Entries(n, 0)
	for _, row := range rows {
		values, _ := r.Entries(row.Value, 0)
		made := Row{Name: row.Key, Values: map[string]float64{}}
		for _, v := range values {
			if !slices.Contains(r.parameters, v.Key) {
				have := "the file has no parameters"
				if len(r.parameters) > 0 {
					have = "the file has " + strings.Join(r.parameters, ", ")
				}
				r.Add(strictyaml.Where(v.At), "a parameter of the file"+
					strictyaml.Meant(v.Key, r.parameters), strconv.Quote(v.Key), have)
				continue
			}
			var value float64
			r.constant(&value)(v.Value)
			made.Values[v.Key] = value
		}
		all = append(all, made)
	}
	return all
}

// parameters finds parameters that no expression uses.
func (l *linter) parameters() {
	var used []Expr
	for i := range l.s.Stages {
		used = append(used, l.s.Stages[i].expressions()...)
	}
	for _, m := range l.s.Models {
		used = append(used, m.TrainLayers)
	}
	for _, p := range l.s.Parameters {
		if !slices.ContainsFunc(used, func(e Expr) bool { return e.Uses(p.Name) }) {
			l.warn("unused-parameter", "parameters."+p.Name, "an expression that uses it",
				strconv.Quote(p.Name), "its value changes nothing")
		}
	}
}
