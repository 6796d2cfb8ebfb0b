// Package segments writes and reads the lines in which a pipeline lists the segments of its
// allocator. A map that is too long for one line is written in several parts. A [Joiner] joins the
// parts.
//
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
package segments
