// Package segments writes and reads the lines by which a pipeline says what its allocator holds, segment
// by segment. A map may take several lines; a [Joiner] puts them together.
//
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
package segments
