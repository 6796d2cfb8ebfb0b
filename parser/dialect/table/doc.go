// Package table reads the lines of programs that are described as data: a pattern with named
// groups, a unit, an example. The built-in programs of parser/dialect/programs.yaml and the user's
// own dialects are the same thing, a [Program]:
//
//	r := strictyaml.New("vramsoak.yaml")
//	programs := table.Load(r, node)    // the list behind dialects:
//	for _, d := range programs[0].Dialects() { ... }
//
// A pattern is a regular expression of Go's. A [scan.Dialect] of a table is found by the literal
// text that its pattern demands, so that only lines with that text are matched.
package table
