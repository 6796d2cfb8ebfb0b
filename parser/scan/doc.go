// Package scan reads the windows of a log and collects the records in them. It offers each line
// that contains a needle to the dialects that have this needle, and they read the records.
//
// A [Dialect] has a name, needles, and a function that reads a [Line]. Several workers scan windows
// at the same time ([Batches]). The records are the same as if one worker read the log line by
// line.
package scan
