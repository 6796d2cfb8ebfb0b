// Package lex reads numbers, sizes and words at the beginning of a text. A function named Cut...
// returns the value, the rest of the text, and whether there was such a value. The Cut functions of
// single values allocate nothing.
package lex
