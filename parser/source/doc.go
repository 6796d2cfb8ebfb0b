// Package source cuts the bytes of a log into windows of lines.
//
// It opens logs that are compressed, in UTF-16, piped in, or still growing ([Open], [OpenTail]).
// It also recognises the text that other programs add to a program's line:
//
//   - An [Unwrapper] takes off what containers, launchers, schedulers and CI put around a line. It
//     keeps the time and the name of the process. Package scan then reads the lines of each process
//     on their own.
//   - [BarEnd] finds where a line follows the state of a progress bar.
//   - The prefix of a logger inside the program, such as "ERROR - asr - ", stays in the line.
//     [MessageStart] and [WriterIn] read it for package scan.
//
// Package source does not interpret the program's message.
//
// A [Window] is a piece of a log. Its buffer also holds a margin of lines before and behind the
// piece. So a worker can read a window without the other windows, even if a block of lines, such
// as a table, begins in the window and ends behind it.
package source
