// Package parser reads the memory checkpoints that GPU pipelines log.
//
// It is the vocabulary of the whole program and imports nothing of it. Reading is in two steps:
//
//	for rec, err := range parser.Read(r, "soak.log") { ... } // a stream of records, constant memory
//	tl, err := parser.Build(parser.Read(r, "soak.log"))      // files, stages, cleanups, samples
//
// A [record.Record] is one thing that a log says: a [record.Checkpoint], a [record.Change], an [record.OutOfMemory] message, an [record.Event], a pipeline's
// [record.Warning], a [record.SegmentMap], one of the harness's own lines ([record.RunStart], [record.FileStart], [record.FileEnd], [record.Sample], [record.Exit], [record.Orphan],
// [record.Idle], [record.Holder], [record.Resume], [record.RunEnd]), or a line that looks like one of these and cannot be read ([record.SyntaxError]). A bad line
// does not end the reading; an I/O error does.
//
// A log is read in all dialects at once, see [dialect.Names]; in one of them only, or in the user's own too, by a [Set].
//
// A [timeline.Timeline] is what the records say together: which file was worked on when, which checkpoints enclose a stage, which
// a cleanup. It judges nothing; harness/check does.
//
// Sizes are integers of bytes. "GB" in these logs is 1024^3 bytes, but for the programs that are known to divide by powers
// of 1000; each dialect says which. What a log prints with few digits carries its resolution, so that a judge can tell what
// the digits allow; see [record.Size].
package parser
