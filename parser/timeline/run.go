package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// currentRun returns the run to which a line of the harness belongs.
func (b *Builder) currentRun() *Run {
	n := len(b.tl.Runs)
	if n == 0 || b.tl.Runs[n-1].Number != b.run { // the log lacks its beginning
		b.tl.Runs = append(b.tl.Runs, Run{Number: b.run, Batch: b.batch})
		n++
	}
	return &b.tl.Runs[n-1]
}

// startRun begins a run. If the log has files or a run already, the new run gets the next run
// number.
func (b *Builder) startRun(r record.RunStart) {
	b.close()
	b.log.hasRunStart = true
	b.noteHarness(r.Header)
	n := len(b.tl.Runs)
	if len(b.tl.Files) > b.log.files || len(b.tl.Outside) > b.log.outside ||
		n > 0 && b.tl.Runs[n-1].Number == b.run {
		b.run, b.process = b.nextRun(), b.nextProcess()
	}
	b.batch = b.batchOf(r)
	b.tl.Runs = append(b.tl.Runs, Run{Number: b.run, Batch: b.batch, Start: r})
}

// batchOf returns the number of the batch to which a new run belongs. If the timeline already has
// the log of another worker of the same run, the new run belongs to that worker's batch.
// Otherwise it begins a batch of its own.
func (b *Builder) batchOf(r record.RunStart) int {
	if r.Workers == 0 || r.ID == "" {
		return b.run
	}
	if b.log.last.Line == 1 {
		b.log.worker, b.log.gpu = true, r.GPU
	}
	batch := b.run
	for _, other := range b.tl.Runs {
		if other.Start.Workers == r.Workers && other.Start.RunID() == r.RunID() {
			batch = other.Batch
		}
	}
	sameWorker := func(other Run) bool { return other.Batch == batch && other.Start.GPU == r.GPU }
	if slices.ContainsFunc(b.tl.Runs, sameWorker) { // the same log was given twice
		return b.run
	}
	return batch
}

// renumber replaces a worker's device 0 with the number of the worker's GPU among all workers.
func (l *logState) renumber(lane *record.Lane) {
	if l.worker && lane.Device == 0 {
		lane.Device = l.gpu
	}
}

// isQuoted reports whether the harness did not write this line, although the line has the
// harness's prefix. In a log without a run-start line, this is also true of a file-start or
// file-end line that has neither index nor path, because the harness always names the file.
func (b *Builder) isQuoted(rec record.Record) bool {
	index, path := 1, ""
	switch r := rec.(type) {
	case record.Quoted:
		return true
	case record.FileStart:
		if !r.Pipeline {
			index, path = r.Index, r.Path
		}
	case record.FileEnd:
		if !r.Pipeline {
			index, path = r.Index, r.Path
		}
	}
	return !b.log.hasRunStart && index == 0 && path == ""
}

// countQuoted counts a line for which isQuoted returned true.
func (b *Builder) countQuoted(at record.Position) {
	if b.tl.Quoted++; b.tl.Quoted == 1 {
		b.tl.FirstQuoted = at
	}
}

// addHarness adds a record of the harness. The parameter resumed is set if the previous record
// resumed the run.
func (b *Builder) addHarness(rec record.Record, resumed bool) {
	switch r := rec.(type) {
	case record.Sample:
		b.noteHarness(r.Header)
		b.log.renumber(&r.Lane)
		r.Run = b.run
		r.Cached = b.log.caches.of(r.Lane.Device)
		b.tl.Samples = append(b.tl.Samples, r)
	case record.Exit:
		b.noteHarness(r.Header)
		clear(b.log.failing)
		b.closeOutside() // a file that is being processed gets its own file-end later
		r.Process = b.process
		b.tl.Exits = append(b.tl.Exits, r)
		b.log.caches = allocatorCaches{} // the allocator's memory is freed when the process ends
		b.process = b.nextProcess()
	case record.Orphan:
		b.noteHarness(r.Header)
		r.Run, r.Process, b.resumed = b.run, b.process, resumed
		if resumed { // the orphan's process ended before the resume, without an exit line
			r.Process--
		}
		b.tl.Orphans = append(b.tl.Orphans, r)
	case record.Holding:
		b.noteHarness(r.Header)
		b.noteHolding(&r)
	case record.Limits:
		b.noteHarness(r.Header)
		r.Run = b.run
		b.tl.Limits = append(b.tl.Limits, r)
	case record.Leftover:
		b.noteHarness(r.Header)
		r.Run = b.run
		b.tl.Leftovers = append(b.tl.Leftovers, r)
	case record.Idle:
		b.noteHarness(r.Header)
		b.log.renumber(&r.Lane)
		r.Run = b.run
		b.tl.Idles = append(b.tl.Idles, r)
	case record.Holder:
		b.noteHarness(r.Header)
		b.log.renumber(&r.Lane)
		if n := len(b.tl.Idles); n > 0 && b.tl.Idles[n-1].Run == b.run {
			b.tl.Idles[n-1].Holders = append(b.tl.Idles[n-1].Holders, r)
		}
	case record.RunStart:
		b.startRun(r)
	case record.Resume:
		b.log.caches = allocatorCaches{}
		b.close()
		b.noteHarness(r.Header)
		b.process = b.nextProcess()
		run := b.currentRun()
		r.Process = b.process
		run.Resumes, run.End, run.Early = append(run.Resumes, r), nil, nil
		b.resumed = true
	case record.EarlyEnd:
		b.noteHarness(r.Header)
		b.currentRun().Early = &r
	case record.RunEnd:
		b.close()
		b.noteHarness(r.Header)
		b.currentRun().End = &r
	}
}

// nearFiles is how many of the last files noteHolding looks at. The harness takes a holding within
// 100 ms after a file has ended, and short files may have begun and ended since.
const nearFiles = 64

// noteHolding gives a holding to the file after which the harness took it, or to the last
// checkpoint.
func (b *Builder) noteHolding(h *record.Holding) {
	if h.Index == 0 && h.Path == "" {
		if f := b.file; f != nil && len(f.Checkpoints) > 0 {
			held := f.ensureHeld()
			held.At = append(held.At, HeldAt{len(f.Checkpoints) - 1, h.Resources})
			held.Least.Lower(h.Comparable())
		}
		return
	}
	files := b.tl.Files
	for i := len(files) - 1; i >= max(0, len(files)-nearFiles); i-- {
		f := files[i]
		if f.Run == b.run && f.Process == b.process && f.Index == h.Index &&
			(h.Index != 0 || f.Path == h.Path) {
			f.ensureHeld().AtEnd = h
			return
		}
	}
}

// ensureHeld returns f.Held, and creates it if it is nil.
func (f *File) ensureHeld() *Held {
	if f.Held == nil {
		f.Held = &Held{}
	}
	return f.Held
}

// noteHarness notes that the log has lines of the harness, and remembers the time in this line's
// header.
func (b *Builder) noteHarness(h record.Header) {
	b.log.supervised = true
	b.log.harnessLines++
	b.log.wrapped = b.log.wrapped || h.Outer
	if !b.log.splitKnown {
		b.finishSplit()
	}
	if !h.Time.IsZero() {
		b.log.clock = h.Time
	}
}
