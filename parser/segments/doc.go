// Package segments writes and reads segment maps: log lines in which a pipeline lists the
// segments of its allocator. A segment is memory that the allocator got from the driver in one
// piece. The map gives each segment's address and blocks:
//
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
//
// A map that is too long for one line takes several lines. Each of these lines is a [Part] of the
// map, and a [Joiner] joins the parts.
package segments
