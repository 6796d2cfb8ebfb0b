// Package lex takes numbers, sizes and words off the beginning of a text. A function Cut... returns what
// it found, the rest of the text, and whether there was something to find; it allocates nothing.
package lex
