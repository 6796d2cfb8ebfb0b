package timeline

import (
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/segments"
)

// A Builder makes the timeline of several logs, one after another. The zero value is ready to
// use.
//
// In a log with the harness's lines, these lines say where files begin and end. In other logs,
// the pipeline's lines file-start and file-end say it. If the pipeline does not print these lines
// either, a file begins where the name of the first checkpoint recurs; see [Splitter]. Each log
// is a run of its own and does not influence other logs, except that the logs of several workers
// may be one batch.
type Builder struct {
	// Done, if it is set, is called with each file after the file's last checkpoint, and with
	// each part of the log between two files. The builder then drops the checkpoints and pairs
	// that it called Done with, except for the first [KeptCheckpoints] checkpoints in all. So the
	// memory for a log depends only on its number of files. The file's status may become known
	// only after the call of Done.
	Done    func(*File)
	tl      Timeline
	file    *File // the file that is being processed; nil between files
	outside *File // the part of the log since the last file; nil while file is set
	run     int
	batch   int
	process int
	log     logState
	root    *Builder  // for a stream: the builder of the log, see streams; else nil
	writer  string    // for a stream: the name of its process
	numbers numbering // the last run and the last process, in all streams
	// resumed is set if the last record was a Resume, or an orphan that the harness found when it
	// resumed the run.
	resumed bool

	keptCheckpoints  int                 // number of checkpoints in the finished files so far
	lastPaired       *File               // the last file whose checkpoints were paired, or nil
	spareCheckpoints []record.Checkpoint // reused for the next file of any stream
	spareFiles       []File              // memory for the next files of all streams, see newFile
}

// AddCheckpoint is [Builder.Add] for a checkpoint.
func (b *Builder) AddCheckpoint(c *record.Checkpoint) {
	b.noteLine(c.Pos)
	if b.root == nil && (c.Writer != "" || c.Lane.Rank != 0 || !b.log.streams.unnamed()) {
		reads, process := ofProcess(c), record.ProcessOf(c.Writer, c.Lane.Rank)
		if len(b.log.streams.held) > 0 {
			b.hold(*c)
		}
		s := b.stream(process, reads)
		b.setRank(process, &c.Lane, reads)
		switch s {
		case nil:
			return
		case b:
		default:
			s.AddCheckpoint(c)
			return
		}
	}
	b.checkpoint(c)
}

// AddLines adds n to the timeline's Lines. The parameter n is a number of line ends.
func (b *Builder) AddLines(n int) { b.tl.Lines += n }

// Timeline returns the timeline of all logs. No record may be added after this call.
func (b *Builder) Timeline() *Timeline {
	b.endLog()
	return &b.tl
}

// A logState is what the builder knows about the current log.
type logState struct {
	last       record.Position
	supervised bool
	splitter   Splitter
	// clock is the last time that the harness gave. Lines of the pipeline without a full time get
	// this time. It is too early by at most the time between two samples.
	clock time.Time
	// wrapped is set if something put times before the lines of the harness, too. They may be times
	// of reading the log.
	wrapped bool
	// calendar completes the times of lines without a date or a year.
	calendar calendar
	// failing holds the last failed allocation of each process, until the process does something
	// else. The keys are the values of Speaker, see [record.OutOfMemory].
	failing map[string]lastFailure
	// crashes holds the last crash of each rank that has done nothing since.
	crashes      []CrashEnd
	harnessLines int  // number of lines of the harness so far
	hasRunStart  bool // the log has a run-start line
	// failureMaps joins the parts of the segment maps that belong to failed allocations.
	failureMaps segments.Joiner
	// earlyMap is a segment map that came before the message of its failed allocation, or nil.
	// earlySums are the map's sums.
	earlyMap  *record.SegmentMap
	earlySums record.SegmentSums
	// files, outside, checkpoints and bad are the numbers of these items in the timeline at the
	// beginning of the log.
	files, outside, checkpoints, bad int
	refused                          bool // the log has more processes than maxStreams
	// streams holds the processes that print into the log, apart from the builder's own.
	streams streams
	// splitKnown is set when the builder has decided where files begin in this log. From then on,
	// a file does not change after it has ended.
	splitKnown bool
	// caches holds how much memory each allocator holds as a cache. It gives Cached of the samples.
	caches allocatorCaches
	// worker is set if the log is from a worker whose process sees only one GPU, as its device 0.
	// gpu is the number of this GPU among all workers.
	worker bool
	gpu    int
	// between holds what the pipeline said since the last file.
	between []eventGap
	// paths holds, for each file that the log named, the file's index in the timeline.
	paths map[string]int
}

// noteLine notes the position of a record, and begins a new log if the path changes. It also
// begins a new log if the line number is smaller than the last one: a caller may read the same
// log twice.
func (b *Builder) noteLine(at record.Position) {
	if at.Line < b.log.last.Line || at.Path != b.log.last.Path {
		if b.log.last != (record.Position{}) {
			b.endLog()
			b.run, b.process = b.nextRun(), b.nextProcess()
		}
		if b.root == nil {
			b.batch = b.run
		}
		b.log = logState{
			files: len(b.tl.Files), outside: len(b.tl.Outside), checkpoints: b.tl.Checkpoints,
			bad: len(b.tl.Bad),
		}
	}
	b.log.last = at
}

// checkpoint adds a checkpoint to the file that is being processed, or else to the part of the
// log between two files.
func (b *Builder) checkpoint(c *record.Checkpoint) {
	b.resumed = false
	b.date(&c.Header)
	b.log.renumber(&c.Lane)
	if !b.log.supervised && b.log.splitter.begins(c) {
		b.begin(record.FileStart{Header: record.Header{Pos: c.Pos, Time: c.Time}})
	}
	if b.log.supervised {
		b.log.caches.add(c, b.tl.Samples)
	}
	b.tl.Checkpoints++
	f := b.currentFile(&c.Header)
	if f.Checkpoints == nil {
		all := b.main()
		f.Checkpoints, all.spareCheckpoints = all.spareCheckpoints[:0], nil
	}
	f.Checkpoints = append(grow(f.Checkpoints), *c)
	f.extend(&c.Header)
	b.noteWork(c)
	b.noteSurvival(c)
	switch {
	case !b.log.splitKnown && b.tl.Checkpoints-b.log.checkpoints >= maxUnsplit:
		b.finishSplit()
	case f.Outside && len(f.Checkpoints)%maxUnsplit == 0 && f.allSampled():
		b.closeOutside() // sampled checkpoints need no pairing, so this part can end here
	}
}

// Add adds the next record of a log.
func (b *Builder) Add(rec record.Record) {
	b.noteLine(rec.At())
	switch {
	case b.root != nil:
		b.add(rec)
	case !b.hold(rec):
		b.deliver(rec)
	}
}

// add is [Builder.Add] for a record of the builder's own stream.
func (b *Builder) add(rec record.Record) {
	if b.addMap(rec) {
		return
	}
	resumed := b.resumed
	b.resumed = false
	switch {
	case b.isQuoted(rec):
		b.countQuoted(rec.At())
	case !b.addPipeline(rec):
		b.addHarness(rec, resumed)
	}
}

// addMap adds the record if it is a segment map or a part of one, and reports whether it is. The
// timeline keeps only maps printed at a failed allocation, and of these only the sums. Plots need
// whole maps and read them from the log again.
func (b *Builder) addMap(rec record.Record) bool {
	switch r := rec.(type) {
	case record.SegmentMap:
		b.addFailureMap(r, nil)
	case segments.Part:
		if r.Requested > 0 {
			b.log.failureMaps.Add(r, b.addFailureMap)
		}
	default:
		return false
	}
	return true
}

// addPipeline adds the record if a pipeline wrote it, and reports whether it handled the record.
// It handles file-start and file-end of the harness, too.
func (b *Builder) addPipeline(rec record.Record) bool {
	switch r := rec.(type) {
	case record.Checkpoint:
		b.checkpoint(&r)
	case record.OutOfMemory:
		b.date(&r.Header)
		b.log.renumber(&r.Lane)
		b.dropMemoryCrash(&r)
		b.addFailure(r)
	case record.Crash:
		b.date(&r.Header)
		b.addCrash(r)
	case record.Event:
		b.event(&r)
	case record.Change:
		b.notePrinted(&r)
	case record.Warning:
		b.tl.Words++
		b.date(&r.Header)
		b.tl.Warnings = append(b.tl.Warnings, r)
	case record.SyntaxError:
		b.tl.Bad = append(b.tl.Bad, r)
	case record.FileStart:
		b.fileStart(r)
	case record.FileEnd:
		b.fileEnd(r)
	default:
		return false
	}
	return true
}

// event adds an event: a line in which the pipeline says that it did something about its memory.
func (b *Builder) event(r *record.Event) {
	b.tl.Words++
	if f := b.file; f != nil && len(f.Checkpoints) == 0 { // else the checkpoints say when it ended
		b.date(&r.Header)
		f.extend(&r.Header)
	}
	b.noteEvent(r)
	switch r.Kind {
	case record.EventFallback:
		b.noteFallback(r)
		b.log.crashes = nil
	case record.EventExtracted:
		if r.Items > 0 {
			clear(b.log.failing)
		}
		b.log.crashes = nil
	case record.EventProgress:
		clear(b.log.failing)
		b.log.crashes = nil
	case record.EventAudio:
		b.log.crashes = nil
	}
}

// fileStart begins a file. The line is from the harness or from the pipeline.
func (b *Builder) fileStart(r record.FileStart) {
	clear(b.log.failing)
	b.log.crashes = nil
	if !r.Pipeline {
		b.noteHarness(r.Header)
		b.open(r)
		return
	}
	b.tl.Words++
	b.date(&r.Header)
	first := !b.log.splitter.named
	if begins := b.log.splitter.Begins(r); begins && !b.log.supervised {
		if first && !b.log.splitKnown {
			b.joinFiles()
		}
		b.begin(r)
	}
	if !b.log.splitKnown {
		b.finishSplit()
	}
	b.noteAudioLength(r)
}

// fileEnd ends a file. The line is from the harness or from the pipeline.
func (b *Builder) fileEnd(r record.FileEnd) {
	clear(b.log.failing)
	b.log.crashes = nil
	if r.Pipeline {
		b.tl.Words++
		b.date(&r.Header)
	}
	b.end(r)
}

// date completes the time of a pipeline's record. In a log with the harness's lines, a record
// without a full time of the pipeline gets the last time that the harness gave. In other logs the
// calendar counts days and years.
func (b *Builder) date(h *record.Header) {
	late := h.Outer && b.log.wrapped
	if (h.Time.IsZero() || h.Local || h.Dateless || h.Yearless || late) && !b.log.clock.IsZero() {
		h.Time, h.Local, h.Dateless, h.Yearless = b.log.clock, false, false, false
		return
	}
	b.main().log.calendar.date(h) // the lines of all streams are in one order
}

// endLog ends the file that is being processed, and adds the crashes at the end of the log.
func (b *Builder) endLog() {
	b.EndCrashes(b.log.last.Line)
	if !b.log.splitKnown {
		b.finishSplit()
	}
	b.close()
	b.moveGaps(b.log.between)
	b.log.between = nil
	b.tl.Between.finish()
	b.joinStreams()
}

// maxUnsplit is the most checkpoints that the builder reads before it decides where files begin.
// It is also the most sampled checkpoints that the timeline keeps together between two files.
// Both limits bound the memory for an endless log.
const maxUnsplit = 1 << 13

// finishSplit decides where files begin in the log. Then it calls finish for each file that has
// ended already.
func (b *Builder) finishSplit() {
	if !b.log.supervised && !b.log.splitter.named {
		b.resplit()
	}
	b.log.splitKnown = true
	for f := range b.logSoFar().InOrder() {
		if f != b.file && f != b.outside {
			b.finish(f)
		}
	}
}
