// Package search finds many needles in a text in one pass, at the speed of memory. A [Set] holds
// the needles of all dialects, so that one more dialect costs the others nothing.
//
// This is the only package with assembly: AVX2 and AVX-512 VBMI on amd64. Other processors take the
// Go code in [Set.Next], which finds the same; a test compares them.
package search
