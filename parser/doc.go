// Package parser reads the memory checkpoints that GPU pipelines log. Callers need no other package
// to read a log:
//
//	log, err := parser.Open("run.log")                     // plain, compressed, a pipe
//	for rec, err := range parser.Read(log, "run.log") { }  // a stream of records, in constant memory
//	tl, err := parser.Build(parser.Read(log, "run.log"))   // files, stages, cleanups, samples
//
// The packages below parser do the work. parser/source cuts the bytes into windows of lines.
// parser/dialect knows the log formats of many programs, and turns the lines into records
// (parser/record). parser/timeline makes a timeline of the records. If a line looks like a record
// and cannot be read, the reader yields a [record.SyntaxError] and goes on with the next line.
// Only an I/O error ends the reading.
//
// Each log is read in all built-in dialects at once. With a [Set], the caller can add the user's
// own dialects, or read a log in a single dialect.
package parser
