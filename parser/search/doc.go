// Package search finds many needles in a text in one pass, as fast as memory can be read. One [Set]
// holds the needles of all dialects. So another dialect does not make reading slower.
//
// This is the only package with assembly: for AVX2 and for AVX-512 VBMI, on amd64. On other
// processors the Go code in [Set.Next] does the work. A test checks that all of them find the same.
package search
