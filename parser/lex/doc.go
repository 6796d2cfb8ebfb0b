// Package lex reads numbers, sizes and words from the beginning of a text. A function named
// Cut... returns the value, the text behind the value, and whether the text begins with such a
// value. The Cut functions that read a single value allocate no memory.
package lex
