// Package source cuts the bytes of a log into windows of lines.
//
// It opens logs that are compressed, in UTF-16, piped in, or still growing ([Open], [OpenTail]). It
// also removes what wrappers put around a line: Docker's JSON, terminal escapes, a logger's prefix,
// the mark of a rank. It does not interpret the message itself.
//
// A [Window] is a piece of a log. Its buffer also holds a margin of lines before and behind the
// piece. So each worker can read a window by itself, with all lines of a block that crosses the
// window's end.
package source
