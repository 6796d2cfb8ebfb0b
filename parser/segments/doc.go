// Package segments writes and reads segment maps: log lines in which a pipeline lists the
// segments of its allocator. A segment is memory that the allocator got from the driver in one
// piece. The map gives each segment's address and blocks. A map that is too long for one line is
// written in several parts, one a line. A [Joiner] joins the parts.
//
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
package segments
