// Package parser reads the memory checkpoints that GPU pipelines log. It is the front door of the
// layers below it:
//
//	log, err := parser.Open("run.log")                     // plain, compressed, a pipe
//	for rec, err := range parser.Read(log, "run.log") { }  // a stream of records, in constant memory
//	tl, err := parser.Build(parser.Read(log, "run.log"))   // files, stages, cleanups, samples
//
// Bytes become windows of lines (parser/source), lines become records (parser/record) in the
// dialects of many programs (parser/dialect), and records become a timeline (parser/timeline). A
// line that looks like a record and cannot be read is a [record.SyntaxError]; an I/O error alone
// ends the reading.
//
// A log is read in all dialects at once. A [Set] reads it in one of them only, or in the user's own
// too.
package parser
