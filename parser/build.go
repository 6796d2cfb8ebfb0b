package parser

import (
	"iter"
	"time"
)

// Build makes the timeline of a stream of records. It returns what it has so far along with an I/O error.
//
// Where the log has the harness's lines, its files are those. Otherwise they begin where the pipeline names one, else
// where the first checkpoint recurs; see [Splitter].
func Build(records iter.Seq2[Record, error]) (*Timeline, error) {
	b := &builder{tl: &Timeline{}}
	for rec, err := range records {
		if err != nil {
			b.finish()
			return b.tl, err
		}
		b.add(rec)
	}
	b.finish()
	return b.tl, nil
}

// builder holds the timeline and the file that is open.
type builder struct {
	tl       *Timeline
	file     *File // nil between files
	splitter Splitter
	process  int
	// clock is the harness's last time. It dates the pipeline's lines that have no time, or one without a zone, to
	// within a sample.
	clock time.Time
	path  string // of the log that is read
}

func (b *builder) add(rec Record) {
	if path := rec.At().Path; path != b.path {
		if b.path != "" && !b.tl.Supervised {
			b.process++ // levels of two logs are not of one process, as far as anyone knows
		}
		b.path = path
	}
	switch r := rec.(type) {
	case Checkpoint:
		b.date(&r.Header)
		b.boundary(r)
		b.tl.Checkpoints++
		if b.file == nil {
			b.tl.Outside = append(b.tl.Outside, r)
			return
		}
		b.file.Checkpoints = append(b.file.Checkpoints, r)
		b.touch(r.Header)
	case OutOfMemory:
		b.date(&r.Header)
		b.tl.OOMs = append(b.tl.OOMs, r)
		if b.file != nil {
			b.file.OOMs = append(b.file.OOMs, r)
			b.touch(r.Header)
		}
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
		b.tl.Exits = append(b.tl.Exits, r)
		b.process++
	case RunStart:
		b.close()
		b.supervised(r.Header)
		if len(b.tl.Files) > 0 {
			b.process++
		}
		b.tl.Runs = append(b.tl.Runs, Run{Start: r})
	case Resume:
		b.close()
		b.supervised(r.Header)
		b.process++
	case RunEnd:
		b.close()
		b.supervised(r.Header)
		if n := len(b.tl.Runs); n > 0 {
			b.tl.Runs[n-1].End = &r
		}
	}
}

// supervised notes a line of the harness.
func (b *builder) supervised(h Header) {
	b.tl.Supervised = true
	if !h.Time.IsZero() {
		b.clock = h.Time
	}
}

// date gives a pipeline's record the harness's clock where its own time is missing or of an unknown zone.
func (b *builder) date(h *Header) {
	if (h.Time.IsZero() || h.Local) && !b.clock.IsZero() {
		h.Time, h.Local = b.clock, false
	}
}

// boundary begins a file where a log without the harness's lines shows one.
func (b *builder) boundary(rec Record) {
	if b.tl.Supervised || !b.splitter.Begins(rec) {
		return
	}
	start := FileStart{Header: Header{Pos: rec.At(), Time: rec.When()}}
	if named, ok := rec.(FileStart); ok {
		start = named
	}
	b.open(start)
}

func (b *builder) open(start FileStart) {
	b.close()
	index := start.Index
	if index == 0 {
		index = len(b.tl.Files) + 1
	}
	b.tl.Files = append(b.tl.Files, File{
		Index: index, Path: start.Path, AudioSeconds: start.AudioSeconds, Process: b.process,
		Pos: start.Pos, EndPos: start.Pos, Start: start.Time, End: start.Time,
	})
	b.file = &b.tl.Files[len(b.tl.Files)-1]
}

// touch extends the open file to a record of its own.
func (b *builder) touch(h Header) {
	b.file.EndPos = h.Pos
	if b.file.Start.IsZero() {
		b.file.Start = h.Time
	}
	if !h.Time.IsZero() {
		b.file.End = h.Time
	}
}

// end closes the file. The pipeline's word does so only where the harness has none.
func (b *builder) end(r FileEnd) {
	if r.Pipeline && b.tl.Supervised {
		if b.file != nil {
			b.file.Error = r.Error
		}
		return
	}
	if !r.Pipeline {
		b.supervised(r.Header)
	}
	if b.file == nil {
		return
	}
	b.touch(r.Header)
	b.file.Status, b.file.Seconds = r.Status, r.Seconds
	if r.Error != "" {
		b.file.Error = r.Error
	}
	b.close()
}

func (b *builder) close() {
	if b.file == nil {
		return
	}
	if b.file.Seconds == 0 && !b.file.Start.IsZero() {
		b.file.Seconds = max(0, b.file.End.Sub(b.file.Start).Seconds()) // a clock may go back
	}
	b.file = nil
}

func (b *builder) finish() {
	b.close()
	if !b.tl.Supervised {
		b.splitPreamble()
	}
	for i := range b.tl.Files {
		b.tl.Files[i].pair()
	}
}

// splitPreamble mends what the splitter cannot know while it reads: a program that logs some checkpoints once, before
// its first file, has a first checkpoint that never recurs. Its files then begin at the first checkpoint that does recur
// and does not stand between a Before and its After.
func (b *builder) splitPreamble() {
	if len(b.tl.Files) != 1 || b.splitter.named {
		return
	}
	whole := b.tl.Files[0]
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
	b.tl.Files = nil
	b.tl.Outside = append(b.tl.Outside, whole.Checkpoints[:first]...)
	b.splitter = Splitter{}
	ooms := whole.OOMs
	for _, c := range whole.Checkpoints[first:] {
		if b.splitter.Begins(c) {
			b.open(FileStart{Header: Header{Pos: c.Pos, Time: c.Time}})
		}
		for len(ooms) > 0 && ooms[0].Pos.Line < c.Pos.Line {
			b.file.OOMs = append(b.file.OOMs, ooms[0])
			ooms = ooms[1:]
		}
		b.file.Checkpoints = append(b.file.Checkpoints, c)
		b.touch(c.Header)
	}
	b.file.OOMs = append(b.file.OOMs, ooms...)
	b.close()
}
