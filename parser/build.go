package parser

import (
	"iter"
	"slices"
	"strings"
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
	last  Position
}

func (b *builder) add(rec Record) {
	b.last = rec.At()
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

// A Splitter finds where files begin in what a pipeline prints by itself: where it names a file, else where the file's
// first checkpoint recurs. The harness uses it while a pipeline runs, [Build] on a log without the harness's lines.
type Splitter struct {
	first *Checkpoint
	named bool
}

// Begins says whether a file begins with this record.
func (s *Splitter) Begins(rec Record) bool {
	switch r := rec.(type) {
	case FileStart:
		s.named = true
		return r.Pipeline
	case Checkpoint:
		if s.named {
			return false
		}
		if s.first == nil {
			s.first = &r
			return true
		}
		return r.Name == s.first.Name && r.Lane == s.first.Lane
	}
	return false
}

// The two halves of a pair.
type half int

const (
	neither half = iota
	before
	after
)

// pairName splits a checkpoint's name: "After Transcription (post-cleanup)" is the after of "Transcription".
func pairName(name string) (half, string) {
	kind := neither
	rest, ok := strings.CutPrefix(name, "Before ")
	if ok {
		kind = before
	} else if rest, ok = strings.CutPrefix(name, "After "); ok {
		kind = after
	} else {
		return neither, name
	}
	if open := strings.LastIndex(rest, " ("); open > 0 && strings.HasSuffix(rest, ")") {
		rest = rest[:open]
	}
	return kind, strings.Join(strings.Fields(rest), " ")
}

// pair finds the file's stages and cleanups. An After closes the latest open Before of its name in its lane; what was
// opened since and is still open has no After.
func (f *File) pair() {
	type opened struct {
		name string
		at   int
	}
	open := map[Lane][]opened{}
	for i := range f.Checkpoints {
		lane := f.Checkpoints[i].Lane
		kind, name := pairName(f.Checkpoints[i].Name)
		switch kind {
		case before:
			open[lane] = append(open[lane], opened{name, i})
		case after:
			stack := open[lane]
			for j := len(stack) - 1; j >= 0; j-- {
				if stack[j].name != name {
					continue
				}
				for _, lost := range stack[j+1:] {
					f.Unpaired = append(f.Unpaired, lost.at)
				}
				if isCleanup(name) {
					f.Cleanups = append(f.Cleanups, Cleanup{Name: name, Before: stack[j].at, After: i, Stage: -1})
				} else {
					f.Stages = append(f.Stages, Stage{Name: name, Before: stack[j].at, After: i})
				}
				open[lane] = stack[:j]
				break
			}
		}
	}
	for _, stack := range open {
		for _, lost := range stack {
			f.Unpaired = append(f.Unpaired, lost.at)
		}
	}
	slices.Sort(f.Unpaired)
	slices.SortFunc(f.Stages, func(a, b Stage) int { return a.Before - b.Before })
	slices.SortFunc(f.Cleanups, func(a, b Cleanup) int { return a.Before - b.Before })
	f.nest()
}

// OfCleanup says whether the checkpoint is a half of a cleanup's pair, be the other half there or not.
func (c *Checkpoint) OfCleanup() bool {
	kind, name := pairName(c.Name)
	return kind != neither && isCleanup(name)
}

func isCleanup(name string) bool {
	const word = "cleanup"
	return len(name) >= len(word) && strings.EqualFold(name[len(name)-len(word):], word)
}

// nest finds each cleanup's innermost stage, and the last cleanup of each stage. Both slices are in the order of Before.
func (f *File) nest() {
	last := map[int]int{} // stage -> its last cleanup
	inside := map[Lane][]int{}
	next := 0
	for i := range f.Cleanups {
		c := &f.Cleanups[i]
		lane := f.Checkpoints[c.Before].Lane
		for ; next < len(f.Stages) && f.Stages[next].Before < c.Before; next++ {
			l := f.Checkpoints[f.Stages[next].Before].Lane
			inside[l] = append(inside[l], next)
		}
		stack := inside[lane]
		for len(stack) > 0 && f.Stages[stack[len(stack)-1]].After < c.Before {
			stack = stack[:len(stack)-1]
		}
		inside[lane] = stack
		if len(stack) > 0 {
			c.Stage = stack[len(stack)-1]
			last[c.Stage] = i
		}
	}
	for _, i := range last {
		f.Cleanups[i].Last = true
	}
}
