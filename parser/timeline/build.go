package timeline

import (
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/segments"
)

// A Builder makes the timeline of one log after another. The zero value is ready.
//
// Where a log has the harness's lines, its files are those. Otherwise they begin where the pipeline names one, else where
// the first checkpoint recurs; see [Splitter]. Nothing is carried from one log to the next: each is a run of its own.
type Builder struct {
	// Done, where it is set, gets each file, and each stretch between files, when its last checkpoint is read. Afterwards
	// its checkpoints and pairs are gone, but for those of the first files, [Kept] checkpoints in all, so that a log takes
	// memory by its files. How a file ended may be known only later.
	Done    func(*File)
	tl      Timeline
	file    *File // nil between files
	outside *File // nil but between files
	run     int
	batch   int
	process int
	log     logState
	// resumed says that the last line read was that the run was taken up again, or of a process that it found left behind.
	resumed bool

	keptCheckpoints  int                 // checkpoints, of those that are done
	lastPaired       File                // the last file that was paired
	spareCheckpoints []record.Checkpoint // an array for the next file
	spareFiles       []File              // for the next files
}

// AddCheckpoint adds the next record of a log, a checkpoint.
func (b *Builder) AddCheckpoint(c *record.Checkpoint) {
	b.noteLine(c.Pos)
	b.checkpoint(c)
}

// AddLines notes how many more lines of the log are read.
func (b *Builder) AddLines(n int) { b.tl.Lines += n }

// EndCrashes keeps those crashes with which a log of so many lines ends. It is called where a log was
// read to its end.
func (b *Builder) EndCrashes(lines int) { b.endCrashes(lines) }

// SoFar is the timeline as far as it is built: the file that is open, and the end of the log, are not in it yet.
func (b *Builder) SoFar() *Timeline { return &b.tl }

// Timeline is that of the logs so far; nothing is to be added after.
func (b *Builder) Timeline() *Timeline {
	b.endLog()
	return &b.tl
}

// A logState is what is known of the log that is read.
type logState struct {
	last       record.Position
	supervised bool
	splitter   Splitter
	// clock is the harness's last time. It dates the pipeline's lines that have no time, or one without a zone, to
	// within a sample.
	clock time.Time
	// calendar dates the lines that give no date, or no year.
	calendar calendar
	// failing has the last failure of each process that has done nothing else since, by what marks the
	// process's lines: see [record.OutOfMemory].Speaker.
	failing map[string]lastFailure
	// crashes are those of the ranks that have done nothing since.
	crashes      []CrashEnd
	harnessLines int  // lines of the harness
	hasRunStart  bool // by a run-start
	// maps are those of failures that are not whole yet.
	failureMaps segments.Joiner
	// before is a map that came before the message of its failure, nil where there is none.
	earlyMap  *record.SegmentMap
	earlySums record.SegmentSums // of it
	// files, outside and checkpoints are how many the timeline had when the log began.
	files, outside, checkpoints int
	// settled says that it is known how files begin, so that those that are closed are final.
	splitKnown bool
	// caches are what the allocators hold beside what they handed out, for the samples.
	caches allocatorCaches
	// worker says that the log is of a worker that sees one GPU alone, as its device 0.
	worker bool
	gpu    int
	// paths is the place in the timeline of each file that the log named.
	paths map[string]int
}

// enter notes the line of a record. One before the last is of another log with the same name: one log given twice.
func (b *Builder) noteLine(at record.Position) {
	if at.Line < b.log.last.Line || at.Path != b.log.last.Path {
		if b.log.last != (record.Position{}) {
			b.endLog()
			b.run++
			b.process++
		}
		b.batch = b.run
		b.log = logState{
			files: len(b.tl.Files), outside: len(b.tl.Outside), checkpoints: b.tl.Checkpoints, paths: map[string]int{},
		}
	}
	b.log.last = at
}

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
		f.Checkpoints, b.spareCheckpoints = b.spareCheckpoints[:0], nil
	}
	f.Checkpoints = append(grow(f.Checkpoints), *c)
	f.extend(&c.Header)
	b.noteWork(c)
	b.noteSurvival(c)
	switch {
	case !b.log.splitKnown && b.tl.Checkpoints-b.log.checkpoints >= maxUnsplit:
		b.finishSplit()
	case f.Outside && len(f.Checkpoints)%maxUnsplit == 0 && f.allSampled():
		b.closeOutside() // samples pair with nothing that follows
	}
}

// Add adds the next record of a log.
func (b *Builder) Add(rec record.Record) {
	b.noteLine(rec.At())
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

// addMap adds a map of segments and reports whether the record is one. A timeline keeps only what a map
// says of a failed allocation; the rest is for who draws it.
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

// addPipeline adds what the pipeline printed, and reports whether the record is of the pipeline.
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

// event adds what the pipeline said that it did about its memory.
func (b *Builder) event(r *record.Event) {
	b.tl.Words++
	if f := b.file; f != nil && len(f.Checkpoints) == 0 { // else its checkpoints say how far it came
		b.date(&r.Header)
		f.extend(&r.Header)
	}
	switch r.Kind {
	case record.EventFallback:
		b.noteFallback(r)
		b.log.crashes = nil
	case record.EventProgress:
		clear(b.log.failing)
		b.log.crashes = nil
	}
}

// fileStart adds the beginning of a file, in the harness's words or the pipeline's.
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

// fileEnd adds the end of a file, in the harness's words or the pipeline's.
func (b *Builder) fileEnd(r record.FileEnd) {
	clear(b.log.failing)
	b.log.crashes = nil
	if r.Pipeline {
		b.tl.Words++
		b.date(&r.Header)
	}
	b.end(r)
}

// date gives a pipeline's record the harness's clock where its own time is missing, without a date or of an unknown zone.
// Without the harness, days and years that the log leaves out are counted.
func (b *Builder) date(h *record.Header) {
	if (h.Time.IsZero() || h.Local || h.Dateless || h.Yearless) && !b.log.clock.IsZero() {
		h.Time, h.Local, h.Dateless, h.Yearless = b.log.clock, false, false, false
		return
	}
	b.log.calendar.date(h)
}

func (b *Builder) endLog() {
	b.endCrashes(b.log.last.Line)
	if !b.log.splitKnown {
		b.finishSplit()
	}
	b.close()
}

// settleAt is how many checkpoints a log may have before it is settled how files begin in it, and how many samples outside
// of files are kept together. It bounds what a log without end takes.
const maxUnsplit = 1 << 13

// settle decides how files begin in the log, and lets those go that have ended.
func (b *Builder) finishSplit() {
	if !b.log.supervised && !b.log.splitter.named {
		b.resplit()
	}
	b.log.splitKnown = true
	closed := Timeline{Files: b.tl.Files[b.log.files:], Outside: b.tl.Outside[b.log.outside:]}
	for f := range closed.InOrder() {
		if f != b.file && f != b.outside {
			b.finish(f)
		}
	}
}
