package parser

import (
	"cmp"
	"iter"
	"time"
)

// Build makes the timeline of a stream of records, of one log or of several after one another. It returns what it has so
// far along with an I/O error.
//
// Where a log has the harness's lines, its files are those. Otherwise they begin where the pipeline names one, else where
// the first checkpoint recurs; see [Splitter]. Nothing is carried from one log to the next: each is a run of its own.
func Build(records iter.Seq2[Record, error]) (*Timeline, error) {
	b := &builder{tl: &Timeline{}}
	for rec, err := range records {
		if err != nil {
			b.endLog()
			return b.tl, err
		}
		b.add(rec)
	}
	b.endLog()
	for i := range b.tl.Files {
		b.tl.Files[i].pair()
	}
	for i := range b.tl.Outside {
		b.tl.Outside[i].pair()
	}
	return b.tl, nil
}

// builder holds the timeline and what is open.
type builder struct {
	tl      *Timeline
	file    *File // nil between files
	stretch *File // nil but between files
	run     int
	process int
	log     logState
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

func (b *builder) add(rec Record) {
	// A line before the last one is of another log with the same name: one log given twice.
	if at := rec.At(); at.Path != b.log.last.Path || at.Line < b.log.last.Line {
		if b.log.last != (Position{}) {
			b.endLog()
			b.run++
			b.process++
		}
		b.log = logState{files: len(b.tl.Files), outside: len(b.tl.Outside), paths: map[string]int{}}
	}
	b.log.last = rec.At()
	switch r := rec.(type) {
	case Checkpoint:
		b.date(&r.Header)
		b.boundary(r)
		b.tl.Checkpoints++
		f := b.place(r.Header)
		f.Checkpoints = append(f.Checkpoints, r)
		f.touch(r.Header)
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
			b.boundary(r)
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
		b.stretch = nil // a file that is open gets its end yet
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
func (b *builder) justFailed() *File {
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
func (b *builder) supervised(h Header) {
	b.log.supervised = true
	if !h.Time.IsZero() {
		b.log.clock = h.Time
	}
}

// date gives a pipeline's record the harness's clock where its own time is missing or of an unknown zone.
func (b *builder) date(h *Header) {
	if (h.Time.IsZero() || h.Local) && !b.log.clock.IsZero() {
		h.Time, h.Local = b.log.clock, false
	}
}

// startRun begins a run, which is a new one where the log had anything before.
func (b *builder) startRun(r RunStart) {
	b.close()
	b.supervised(r.Header)
	n := len(b.tl.Runs)
	if len(b.tl.Files) > b.log.files || len(b.tl.Outside) > b.log.outside || n > 0 && b.tl.Runs[n-1].Number == b.run {
		b.run++
		b.process++
	}
	b.tl.Runs = append(b.tl.Runs, Run{Number: b.run, Start: r})
}

// boundary begins a file where a log without the harness's lines shows one.
func (b *builder) boundary(rec Record) {
	if b.log.supervised || !b.log.splitter.Begins(rec) {
		return
	}
	start := FileStart{Header: Header{Pos: rec.At(), Time: rec.When()}}
	if named, ok := rec.(FileStart); ok {
		start = named
	}
	start.Index = len(b.tl.Files) - b.log.files + 1
	b.open(start)
}

// place is where a record of the pipeline belongs: the open file, else the stretch between files.
func (b *builder) place(h Header) *File {
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

func (b *builder) open(start FileStart) {
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
func (b *builder) end(r FileEnd) {
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
func (b *builder) ended(r FileEnd) *File {
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
	b.tl.Outside = b.tl.Outside[:len(b.tl.Outside)-1]
	start.Pos, start.Time = work.Pos, work.Start
	b.open(start)
	b.file.Checkpoints, b.file.OOMs = work.Checkpoints, work.OOMs
	return b.file
}

// close ends the open file, or the stretch between files.
func (b *builder) close() {
	if f := b.file; f != nil && f.Seconds == 0 && !f.Start.IsZero() {
		f.Seconds = max(0, f.End.Sub(f.Start).Seconds()) // a clock may go back
	}
	b.file, b.stretch = nil, nil
}

func (b *builder) endLog() {
	b.close()
	inferred := !b.log.supervised && !b.log.splitter.named
	if inferred && len(b.tl.Files)-b.log.files == 1 && b.tl.Files[b.log.files].Status == StatusUnknown {
		b.splitPreamble()
	}
}

// splitPreamble mends what the splitter cannot know while it reads: a program that logs some checkpoints once, before
// its first file, has a first checkpoint that never recurs. Its files then begin at the first checkpoint that does recur
// and does not stand between a Before and its After.
func (b *builder) splitPreamble() {
	whole := b.tl.Files[b.log.files]
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
	b.log.splitter = Splitter{}
	ooms := whole.OOMs
	for i, c := range whole.Checkpoints {
		if i >= first {
			b.boundary(c)
		}
		for len(ooms) > 0 && ooms[0].Pos.Line < c.Pos.Line {
			f := b.place(ooms[0].Header)
			f.OOMs = append(f.OOMs, ooms[0])
			ooms = ooms[1:]
		}
		f := b.place(c.Header)
		f.Checkpoints = append(f.Checkpoints, c)
		f.touch(c.Header)
	}
	b.file.OOMs = append(b.file.OOMs, ooms...)
	b.close()
}
