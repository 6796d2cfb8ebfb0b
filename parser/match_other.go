//go:build !amd64

package parser

// teddy is nil: there is none for this processor.
var teddy func(text []byte, tables *teddyTables) (at, lines int, found bool)

// lineBreak looks through nothing.
var lineBreak = noLineBreak
