package timeline

import (
	"cmp"
	"path"
	"slices"
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
	stretch *File // nil but between files
	run     int
	batch   int
	process int
	log     logState
	// resumed says that the last line read was that the run was taken up again, or of a process that it found left behind.
	resumed bool

	kept   int                 // checkpoints, of those that are done
	pairs  File                // the last file that was paired
	unused []record.Checkpoint // an array for the next file
	room   []File              // for the next files
}

// AddCheckpoint adds the next record of a log, a checkpoint.
func (b *Builder) AddCheckpoint(c *record.Checkpoint) {
	b.enter(c.Pos)
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
	crashes []CrashEnd
	own     int  // lines of the harness
	begun   bool // by a run-start
	// maps are those of failures that are not whole yet.
	maps segments.Joiner
	// before is a map that came before the message of its failure, nil where there is none.
	before *record.SegmentMap
	held   record.SegmentSums // of it
	// files, outside and checkpoints are how many the timeline had when the log began.
	files, outside, checkpoints int
	// settled says that it is known how files begin, so that those that are closed are final.
	settled bool
	// caches are what the allocators hold beside what they handed out, for the samples.
	caches cachesBeside
	// worker says that the log is of a worker that sees one GPU alone, as its device 0.
	worker bool
	gpu    int
	// paths is the place in the timeline of each file that the log named.
	paths map[string]int
}

// enter notes the line of a record. One before the last is of another log with the same name: one log given twice.
func (b *Builder) enter(at record.Position) {
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
	b.log.number(&c.Lane)
	if !b.log.supervised && b.log.splitter.begins(c) {
		b.begin(record.FileStart{Header: record.Header{Pos: c.Pos, Time: c.Time}})
	}
	if b.log.supervised {
		b.log.caches.checkpoint(c, b.tl.Samples)
	}
	b.tl.Checkpoints++
	f := b.place(&c.Header)
	if f.Checkpoints == nil {
		f.Checkpoints, b.unused = b.unused[:0], nil
	}
	f.Checkpoints = append(room(f.Checkpoints), *c)
	f.touch(&c.Header)
	b.workedOn(c)
	b.survived(c)
	switch {
	case !b.log.settled && b.tl.Checkpoints-b.log.checkpoints >= settleAt:
		b.settle()
	case f.Outside && len(f.Checkpoints)%settleAt == 0 && f.sampled():
		b.closeStretch() // samples pair with nothing that follows
	}
}

// sampled says that the file's checkpoints were all taken by the clock or the step.
func (f *File) sampled() bool {
	return !slices.ContainsFunc(f.Checkpoints, func(c record.Checkpoint) bool { return !c.Sampled })
}

// Add adds the next record of a log.
func (b *Builder) Add(rec record.Record) {
	b.enter(rec.At())
	if b.addMap(rec) {
		return
	}
	resumed := b.resumed
	b.resumed = false
	switch {
	case b.isQuoted(rec):
		b.quoted(rec.At())
	case !b.addPipeline(rec):
		b.addHarness(rec, resumed)
	}
}

// addMap adds a map of segments and reports whether the record is one. A timeline keeps only what a map
// says of a failed allocation; the rest is for who draws it.
func (b *Builder) addMap(rec record.Record) bool {
	switch r := rec.(type) {
	case record.SegmentMap:
		b.failedWith(r, nil)
	case segments.Part:
		if r.Requested > 0 {
			b.log.maps.Add(r, b.failedWith)
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
		b.log.number(&r.Lane)
		b.ranOut(&r)
		b.failed(r)
	case record.Crash:
		b.date(&r.Header)
		b.crashed(r)
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
		f.touch(&r.Header)
	}
	switch r.Kind {
	case record.EventFallback:
		b.fellBack(r)
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
		b.supervised(r.Header)
		b.open(r)
		return
	}
	b.tl.Words++
	b.date(&r.Header)
	first := !b.log.splitter.named
	if begins := b.log.splitter.Begins(r); begins && !b.log.supervised {
		if first && !b.log.settled {
			b.unsplit()
		}
		b.begin(r)
	}
	if !b.log.settled {
		b.settle()
	}
	b.length(r)
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

// addHarness adds what the harness saw from outside. resumed reports whether the line before says that
// the run went on.
func (b *Builder) addHarness(rec record.Record, resumed bool) {
	switch r := rec.(type) {
	case record.Sample:
		b.supervised(r.Header)
		b.log.number(&r.Lane)
		r.Run = b.run
		r.Cached = b.log.caches.of(r.Lane.Device)
		b.tl.Samples = append(b.tl.Samples, r)
	case record.Exit:
		b.supervised(r.Header)
		clear(b.log.failing)
		b.closeStretch() // a file that is open gets its end yet
		r.Process = b.process
		b.tl.Exits = append(b.tl.Exits, r)
		b.log.caches = cachesBeside{} // the allocator's memory ends with the process
		b.process++
	case record.Orphan:
		b.supervised(r.Header)
		r.Run, r.Process, b.resumed = b.run, b.process, resumed
		if resumed { // of the process that ended with the part before, whose end nobody saw; not of the one that follows
			r.Process--
		}
		b.tl.Orphans = append(b.tl.Orphans, r)
	case record.Idle:
		b.supervised(r.Header)
		b.log.number(&r.Lane)
		r.Run = b.run
		b.tl.Idles = append(b.tl.Idles, r)
	case record.Holder:
		b.supervised(r.Header)
		b.log.number(&r.Lane)
		if n := len(b.tl.Idles); n > 0 && b.tl.Idles[n-1].Run == b.run {
			b.tl.Idles[n-1].Holders = append(b.tl.Idles[n-1].Holders, r)
		}
	case record.RunStart:
		b.startRun(r)
	case record.Resume:
		b.log.caches = cachesBeside{}
		b.close()
		b.supervised(r.Header)
		b.process++
		run := b.thisRun()
		r.Process = b.process
		run.Resumes, run.End = append(run.Resumes, r), nil
		b.resumed = true
	case record.RunEnd:
		b.close()
		b.supervised(r.Header)
		b.thisRun().End = &r
	}
}

// supervised notes a line of the harness.
func (b *Builder) supervised(h record.Header) {
	b.log.supervised = true
	b.log.own++
	if !b.log.settled {
		b.settle()
	}
	if !h.Time.IsZero() {
		b.log.clock = h.Time
	}
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

// begin begins a file where a log without the harness's lines shows one.
func (b *Builder) begin(start record.FileStart) {
	if f := b.file; f != nil && len(f.Checkpoints) == 0 && !start.Time.IsZero() { // its work went on up to here
		f.End = start.Time
	}
	start.Index = len(b.tl.Files) - b.log.files + 1
	b.open(start)
}

// place is where a record of the pipeline belongs: the open file, else the stretch between files.
func (b *Builder) place(h *record.Header) *File {
	switch {
	case b.file != nil:
		return b.file
	case b.stretch == nil:
		b.stretch = b.newFile(File{
			Outside: true, Supervised: b.log.supervised, Run: b.run, Batch: b.batch, Process: b.process,
			Pos: h.Pos, EndPos: h.Pos, Start: h.Time, End: h.Time,
		})
		b.tl.Outside = append(b.tl.Outside, b.stretch)
	}
	return b.stretch
}

func (b *Builder) open(start record.FileStart) {
	b.close()
	b.file = b.newFile(File{
		Index: start.Index, Path: start.Path, AudioSeconds: start.AudioSeconds,
		Supervised: b.log.supervised, Run: b.run, Batch: b.batch, Process: b.process,
		Pos: start.Pos, EndPos: start.Pos, Start: start.Time, End: start.Time,
	})
	b.tl.Files = append(b.tl.Files, b.file)
	if start.Path != "" {
		b.log.paths[start.Path] = len(b.tl.Files) - 1
	}
}

// length takes the length of the open file from the pipeline, where the harness began the file and did not know it: in a
// process of its own, or at a checkpoint before the name.
func (b *Builder) length(r record.FileStart) {
	f := b.file
	if f != nil && f.AudioSeconds == 0 && (f.Path == "" || path.Base(r.Path) == path.Base(f.Path)) {
		f.AudioSeconds = r.AudioSeconds
	}
}

// newFile takes the room for a file from an array for several: a log may have a hundred thousand.
func (b *Builder) newFile(f File) *File {
	if len(b.room) == 0 {
		b.room = make([]File, 64)
	}
	place := &b.room[0]
	b.room = b.room[1:]
	*place = f
	return place
}

// touch extends the file to a record of its own.
func (f *File) touch(h *record.Header) {
	f.EndPos = h.Pos
	if f.Start.IsZero() {
		f.Start = h.Time
	}
	if !h.Time.IsZero() {
		f.End = h.Time
	}
}

// end ends a file. The pipeline's word does so only where the harness has none.
func (b *Builder) end(r record.FileEnd) {
	if r.Pipeline && b.log.supervised {
		if b.file != nil {
			b.file.Error = r.Error
		}
		return
	}
	if !r.Pipeline {
		b.supervised(r.Header)
	}
	f := b.ended(r)
	if f == nil {
		return
	}
	f.touch(&r.Header)
	f.Status, f.Seconds = r.Status, r.Seconds
	f.Path = cmp.Or(f.Path, r.Path)
	if r.Error != "" {
		f.Error = r.Error
	}
	if !r.Pipeline && !f.Supervised { // the head of the log is missing
		f.Supervised, f.Index, f.Path = true, r.Index, r.Path
	}
	if f == b.file {
		b.close()
	}
}

// ended is the file that a line ends: the open one, or an earlier one of that path; else, for a pipeline that prints no
// beginnings, the stretch since the last file, or nothing at all, was the work on it. It is nil where the end of a file is
// only said again.
func (b *Builder) ended(r record.FileEnd) *File {
	if b.file != nil && (r.Path == "" || b.file.Path == "" || b.file.Path == r.Path || b.file.Supervised) {
		return b.file
	}
	if i, known := b.log.paths[r.Path]; known {
		if f := b.tl.Files[i]; f.Status == record.StatusUnknown {
			return f
		}
		return nil
	}
	stretch := b.stretch
	if b.file != nil {
		stretch = nil
	}
	start := record.FileStart{Header: r.Header, Index: r.Index, Path: r.Path}
	if start.Index == 0 {
		start.Index = len(b.tl.Files) - b.log.files + 1
	}
	if stretch == nil {
		b.open(start)
		return b.file
	}
	work := *stretch
	b.tl.Outside, b.stretch = b.tl.Outside[:len(b.tl.Outside)-1], nil
	start.Pos, start.Time = work.Pos, work.Start
	b.open(start)
	b.file.Checkpoints, b.file.OOMs = work.Checkpoints, work.OOMs
	return b.file
}

// close ends the open file, or the stretch between files.
func (b *Builder) close() {
	clear(b.log.failing)
	if f := b.file; f != nil {
		measured := f.Supervised && f.Status != record.StatusUnknown // by the harness, however short
		if f.Seconds == 0 && !measured && !f.Start.IsZero() {
			f.Seconds = max(0, f.End.Sub(f.Start).Seconds()) // a clock may go back
		}
		b.file = nil
		b.done(f)
	}
	b.closeStretch()
}

func (b *Builder) closeStretch() {
	if f := b.stretch; f != nil {
		b.stretch = nil
		b.done(f)
	}
}

func (b *Builder) endLog() {
	b.endCrashes(b.log.last.Line)
	if !b.log.settled {
		b.settle()
	}
	b.close()
}

// settleAt is how many checkpoints a log may have before it is settled how files begin in it, and how many samples outside
// of files are kept together. It bounds what a log without end takes.
const settleAt = 1 << 13

// settle decides how files begin in the log, and lets those go that have ended.
func (b *Builder) settle() {
	if !b.log.supervised && !b.log.splitter.named {
		b.splitAgain()
	}
	b.log.settled = true
	closed := Timeline{Files: b.tl.Files[b.log.files:], Outside: b.tl.Outside[b.log.outside:]}
	for f := range closed.InOrder() {
		if f != b.file && f != b.stretch {
			b.done(f)
		}
	}
}
