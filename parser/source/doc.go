// Package source cuts the bytes of a log into windows of lines.
//
// It opens logs that are compressed, in UTF-16, piped in, or still growing ([Open], [OpenTail]).
// It also recognises what wrappers put around a program's line: Docker's JSON, terminal escapes,
// a logger's prefix, the rank of a process. The scanner of parser/scan removes the first two with
// [Unwrap] and [StripEscapes]; parser/scan/head.go reads the prefix of each line with
// [MessageStart], [SpeakerOf] and [LauncherRank]. Package source does not interpret the program's
// message itself.
//
// A [Window] is a piece of a log. Its buffer also holds a margin of lines before and behind the
// piece. So each worker can read a window by itself, even if a block of lines, such as a table,
// begins in the window and ends behind it.
package source
