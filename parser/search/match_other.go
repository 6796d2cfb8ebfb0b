//go:build !amd64

package search

// teddy is nil: there is none for this processor.
var teddy func(text []byte, tables *teddyTables) (at, lines int, found bool)

// LineBreak looks through nothing.
var LineBreak = noLineBreak
