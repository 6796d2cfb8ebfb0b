// Package source turns the bytes of a log into windows of lines.
//
// It opens logs ([Open]): compressed, in UTF-16, from a pipe, still growing. It takes off what
// wrappers put around a line: Docker's JSON, terminal escapes, a logger's prefix, the mark of a
// rank. It does not know what a line says.
//
// A [Window] is a piece of a log with a margin of lines before and behind it, so that several
// workers can each read one, and a block of lines is at hand as a whole.
package source
