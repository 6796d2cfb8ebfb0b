// Package source cuts the bytes of a log into windows of lines.
//
// It opens logs that are compressed, in UTF-16, piped in, or still growing ([Open], [OpenTail]).
// It also recognises the text that other programs add to a program's line. The scanner of
// parser/scan removes Docker's JSON and terminal escapes, with [Unwrap] and [StripEscapes]. The
// prefix of a launcher or a logger, such as "[rank3]: " or "ERROR - asr - ", is not removed: it
// stays in the line, and parser/scan/head.go reads it with [MessageStart], [SpeakerOf] and
// [LauncherRank]. Package source does not interpret the program's message.
//
// A [Window] is a piece of a log. Its buffer also holds a margin of lines before and behind the
// piece. So a worker can read a window without the other windows, even if a block of lines, such
// as a table, begins in the window and ends behind it.
package source
