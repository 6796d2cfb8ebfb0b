//go:build !amd64

package search

// Only amd64 has an assembly search. The Go code finds the same.
var (
	teddy   func(text []byte, tables *teddyTables) (at, lines int, found bool)
	lineEnd func(text []byte) (at int, escaped bool)
)
