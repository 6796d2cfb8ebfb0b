// Package table reads programs that are described as data: for each line a pattern with named
// groups, a unit and an example. The built-in programs of parser/dialect/programs.yaml and the
// user's own dialects have the same form, a [Program]:
//
//	r := strictyaml.New("vramsoak.yaml")
//	programs := table.Load(r, node, taken)    // the list behind dialects:
//	for _, d := range programs[0].Dialects() { ... }
//
// A pattern is a regular expression in Go's syntax. Its needles are the literal texts that every match
// has, see [Line.Literals]. Only lines with one of them are matched.
package table
