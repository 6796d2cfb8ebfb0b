package parser

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"time"
)

// Build makes the timeline of a stream of records, of one log or of several after one another. It returns what it has so
// far along with an I/O error. See [Builder].
func Build(records iter.Seq2[Record, error]) (*Timeline, error) {
	b := &Builder{}
	for rec, err := range records {
		if err != nil {
			return b.Timeline(), err
		}
		b.add(rec)
	}
	return b.Timeline(), nil
}

// A Builder makes the timeline of one log after another. The zero value is ready.
//
// Where a log has the harness's lines, its files are those. Otherwise they begin where the pipeline names one, else where
// the first checkpoint recurs; see [Splitter]. Nothing is carried from one log to the next: each is a run of its own.
type Builder struct {
	// Done, where it is set, gets each file, and each stretch between files, when its last checkpoint is read. Afterwards
	// its checkpoints and pairs are gone, so that a log takes memory by its files, not by its checkpoints. How a file ended
	// may be known only later.
	Done func(*File)

	tl      Timeline
	file    *File // nil between files
	stretch *File // nil but between files
	run     int
	process int
	log     logState

	pairs  File         // the last file that was paired
	unused []Checkpoint // an array for the next file
}

// Read adds a log.
func (b *Builder) Read(r io.Reader, name string) error {
	for batch, err := range batches(newSource(r), name, allDialects) {
		for i := range batch.entries {
			if e := &batch.entries[i]; e.other != nil {
				b.add(e.record(batch.line))
			} else {
				e.Pos.Line += batch.line
				b.enter(e.Pos)
				b.checkpoint(&e.Checkpoint)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SoFar is the timeline as far as it is built: the file that is open, and the end of the log, are not in it yet.
func (b *Builder) SoFar() *Timeline { return &b.tl }

// Timeline is that of the logs so far; nothing is to be added after.
func (b *Builder) Timeline() *Timeline {
	b.endLog()
	return &b.tl
}

// A logState is what is known of the log that is read.
type logState struct {
	last       Position
	supervised bool
	splitter   Splitter
	// clock is the harness's last time. It dates the pipeline's lines that have no time, or one without a zone, to
	// within a sample.
	clock time.Time
	// files and outside are how many the timeline had when the log began.
	files, outside int
	// paths is the place in the timeline of each file that the log named.
	paths map[string]int
}

// enter notes the line of a record. One before the last is of another log with the same name: one log given twice.
func (b *Builder) enter(at Position) {
	if at.Line < b.log.last.Line || at.Path != b.log.last.Path {
		if b.log.last != (Position{}) {
			b.endLog()
			b.run++
			b.process++
		}
		b.log = logState{files: len(b.tl.Files), outside: len(b.tl.Outside), paths: map[string]int{}}
	}
	b.log.last = at
}

func (b *Builder) checkpoint(c *Checkpoint) {
	b.date(&c.Header)
	if !b.log.supervised && b.log.splitter.begins(c) {
		b.begin(FileStart{Header: Header{Pos: c.Pos, Time: c.Time}})
	}
	b.tl.Checkpoints++
	f := b.place(c.Header)
	if f.Checkpoints == nil {
		f.Checkpoints, b.unused = b.unused[:0], nil
	}
	f.Checkpoints = append(f.Checkpoints, *c)
	f.touch(c.Header)
	switch n := len(f.Checkpoints); {
	case n < settleAt || n&(n-1) != 0:
	case b.oneFile():
		b.splitPreamble()
	case f.Outside && !slices.ContainsFunc(f.Checkpoints, func(c Checkpoint) bool { return !c.Sampled }):
		b.closeStretch() // samples pair with nothing that follows
	}
}

func (b *Builder) add(rec Record) {
	b.enter(rec.At())
	switch r := rec.(type) {
	case Checkpoint:
		b.checkpoint(&r)
	case OutOfMemory:
		b.date(&r.Header)
		f := b.justFailed()
		if f == nil {
			f = b.place(r.Header)
			f.touch(r.Header)
		}
		f.OOMs = append(f.OOMs, r)
	case Warning:
		b.date(&r.Header)
		b.tl.Warnings = append(b.tl.Warnings, r)
	case SyntaxError:
		b.tl.Bad = append(b.tl.Bad, r)
	case FileStart:
		if r.Pipeline {
			if begins := b.log.splitter.Begins(r); begins && !b.log.supervised {
				b.begin(r)
			}
			return
		}
		b.supervised(r.Header)
		b.open(r)
	case FileEnd:
		b.end(r)
	case Sample:
		b.supervised(r.Header)
		b.tl.Samples = append(b.tl.Samples, r)
	case Exit:
		b.supervised(r.Header)
		b.closeStretch() // a file that is open gets its end yet
		r.Process = b.process
		b.tl.Exits = append(b.tl.Exits, r)
		b.process++
	case RunStart:
		b.startRun(r)
	case Resume:
		b.close()
		b.supervised(r.Header)
		b.process++
	case RunEnd:
		b.close()
		b.supervised(r.Header)
		n := len(b.tl.Runs)
		if n == 0 || b.tl.Runs[n-1].Number != b.run { // the head of the log is missing
			b.tl.Runs = append(b.tl.Runs, Run{Number: b.run})
			n++
		}
		b.tl.Runs[n-1].End = &r
	}
}

// justFailed is the file that ended badly and is followed by nothing yet, nil where there is none: programs print the error
// of a file once more when they are done with it.
func (b *Builder) justFailed() *File {
	if b.file != nil || b.stretch != nil || len(b.tl.Files) == b.log.files {
		return nil
	}
	f := &b.tl.Files[len(b.tl.Files)-1]
	if f.Process != b.process || f.Status == StatusOK || f.Status == StatusUnknown {
		return nil
	}
	return f
}

// supervised notes a line of the harness.
func (b *Builder) supervised(h Header) {
	b.log.supervised = true
	if !h.Time.IsZero() {
		b.log.clock = h.Time
	}
}

// date gives a pipeline's record the harness's clock where its own time is missing or of an unknown zone.
func (b *Builder) date(h *Header) {
	if (h.Time.IsZero() || h.Local) && !b.log.clock.IsZero() {
		h.Time, h.Local = b.log.clock, false
	}
}

// startRun begins a run, which is a new one where the log had anything before.
func (b *Builder) startRun(r RunStart) {
	b.close()
	b.supervised(r.Header)
	n := len(b.tl.Runs)
	if len(b.tl.Files) > b.log.files || len(b.tl.Outside) > b.log.outside || n > 0 && b.tl.Runs[n-1].Number == b.run {
		b.run++
		b.process++
	}
	b.tl.Runs = append(b.tl.Runs, Run{Number: b.run, Start: r})
}

// begin begins a file where a log without the harness's lines shows one.
func (b *Builder) begin(start FileStart) {
	start.Index = len(b.tl.Files) - b.log.files + 1
	b.open(start)
}

// place is where a record of the pipeline belongs: the open file, else the stretch between files.
func (b *Builder) place(h Header) *File {
	switch {
	case b.file != nil:
		return b.file
	case b.stretch == nil:
		b.tl.Outside = append(b.tl.Outside, File{
			Outside: true, Supervised: b.log.supervised, Run: b.run, Process: b.process,
			Pos: h.Pos, EndPos: h.Pos, Start: h.Time, End: h.Time,
		})
		b.stretch = &b.tl.Outside[len(b.tl.Outside)-1]
	}
	return b.stretch
}

func (b *Builder) open(start FileStart) {
	b.close()
	b.tl.Files = append(b.tl.Files, File{
		Index: start.Index, Path: start.Path, AudioSeconds: start.AudioSeconds,
		Supervised: b.log.supervised, Run: b.run, Process: b.process,
		Pos: start.Pos, EndPos: start.Pos, Start: start.Time, End: start.Time,
	})
	b.file = &b.tl.Files[len(b.tl.Files)-1]
	if start.Path != "" {
		b.log.paths[start.Path] = len(b.tl.Files) - 1
	}
}

// touch extends the file to a record of its own.
func (f *File) touch(h Header) {
	f.EndPos = h.Pos
	if f.Start.IsZero() {
		f.Start = h.Time
	}
	if !h.Time.IsZero() {
		f.End = h.Time
	}
}

// end ends a file. The pipeline's word does so only where the harness has none.
func (b *Builder) end(r FileEnd) {
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
	f.touch(r.Header)
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
func (b *Builder) ended(r FileEnd) *File {
	if b.file != nil && (r.Path == "" || b.file.Path == "" || b.file.Path == r.Path || b.file.Supervised) {
		return b.file
	}
	if i, known := b.log.paths[r.Path]; known {
		if f := &b.tl.Files[i]; f.Status == StatusUnknown {
			return f
		}
		return nil
	}
	stretch := b.stretch
	if b.file != nil {
		stretch = nil
	}
	start := FileStart{Header: r.Header, Index: r.Index, Path: r.Path}
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
	if f := b.file; f != nil {
		if f.Seconds == 0 && !f.Start.IsZero() {
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

// done pairs a file's checkpoints: a file with the same ones as the last has the same pairs.
func (b *Builder) done(f *File) {
	if f.alike(&b.pairs) {
		f.Stages, f.Cleanups, f.Unpaired = b.pairs.Stages, b.pairs.Cleanups, b.pairs.Unpaired
	} else {
		f.pair()
		b.pairs = *f
		if b.Done != nil {
			b.pairs.Checkpoints = slices.Clone(f.Checkpoints)
		}
	}
	if b.Done != nil {
		b.Done(f)
		b.unused = f.Checkpoints[:0]
		f.Checkpoints, f.Stages, f.Cleanups, f.Unpaired = nil, nil, nil, nil
	}
}

// alike says whether two files have the same checkpoints in the same order.
func (f *File) alike(other *File) bool {
	if len(f.Checkpoints) != len(other.Checkpoints) {
		return false
	}
	for i := range f.Checkpoints {
		if a, b := &f.Checkpoints[i], &other.Checkpoints[i]; a.Name != b.Name || a.Lane != b.Lane || a.Sampled != b.Sampled {
			return false
		}
	}
	return true
}

func (b *Builder) endLog() {
	if b.oneFile() {
		b.splitPreamble()
	}
	b.close()
}

// oneFile says that files are told by the checkpoint that recurs, and that the log's first one has not.
func (b *Builder) oneFile() bool {
	return b.file != nil && len(b.tl.Files)-b.log.files == 1 && !b.log.supervised && !b.log.splitter.named
}

// settleAt is how many checkpoints a log may have before it is settled where its files begin, and how many samples outside
// of files are kept together. It bounds what a log without end takes.
const settleAt = 1 << 13

// splitPreamble mends what the splitter cannot know while it reads: a program that logs some checkpoints once, before
// its first file, has a first checkpoint that never recurs. Its files then begin at the first checkpoint that does recur
// and does not stand between a Before and its After.
func (b *Builder) splitPreamble() {
	whole := *b.file
	count := map[string]int{}
	for i := range whole.Checkpoints {
		count[whole.Checkpoints[i].Name]++
	}
	first := -1
	open := map[string]bool{}
	for i := range whole.Checkpoints {
		kind, name := pairName(whole.Checkpoints[i].Name)
		if len(open) == 0 && kind != after && count[whole.Checkpoints[i].Name] > 1 {
			first = i
			break
		}
		switch kind {
		case before:
			open[name] = true
		case after:
			delete(open, name)
		}
	}
	if first <= 0 {
		return
	}
	b.tl.Files = b.tl.Files[:b.log.files]
	b.file, b.log.splitter = nil, Splitter{}
	ooms := whole.OOMs
	for i := range whole.Checkpoints {
		c := &whole.Checkpoints[i]
		if i >= first && b.log.splitter.begins(c) {
			b.begin(FileStart{Header: Header{Pos: c.Pos, Time: c.Time}})
		}
		for len(ooms) > 0 && ooms[0].Pos.Line < c.Pos.Line {
			f := b.place(ooms[0].Header)
			f.OOMs = append(f.OOMs, ooms[0])
			ooms = ooms[1:]
		}
		f := b.place(c.Header)
		f.Checkpoints = append(f.Checkpoints, *c)
		f.touch(c.Header)
	}
	b.file.OOMs = append(b.file.OOMs, ooms...)
}
