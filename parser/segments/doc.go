// Package segments writes and reads the lines in which a pipeline lists the segments of its
// allocator. A map may take several lines. A [Joiner] puts them together.
//
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
package segments
