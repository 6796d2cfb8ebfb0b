package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// thisRun is the run that a line of the harness belongs to.
func (b *Builder) thisRun() *Run {
	n := len(b.tl.Runs)
	if n == 0 || b.tl.Runs[n-1].Number != b.run { // the head of the log is missing
		b.tl.Runs = append(b.tl.Runs, Run{Number: b.run, Batch: b.batch})
		n++
	}
	return &b.tl.Runs[n-1]
}

// startRun begins a run, which is a new one where the log had anything before.
func (b *Builder) startRun(r record.RunStart) {
	b.close()
	b.log.begun = true
	b.supervised(r.Header)
	n := len(b.tl.Runs)
	if len(b.tl.Files) > b.log.files || len(b.tl.Outside) > b.log.outside || n > 0 && b.tl.Runs[n-1].Number == b.run {
		b.run++
		b.process++
	}
	b.batch = b.batchOf(r)
	b.tl.Runs = append(b.tl.Runs, Run{Number: b.run, Batch: b.batch, Start: r})
}

// batchOf is the batch of a run that begins: its own, or that of a worker beside which it works.
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
	again := func(other Run) bool { return other.Batch == batch && other.Start.GPU == r.GPU }
	if slices.ContainsFunc(b.tl.Runs, again) { // the same log was given twice
		return b.run
	}
	return batch
}

// number gives a worker's device the number that it has among those of all workers.
func (l *logState) number(lane *record.Lane) {
	if l.worker && lane.Device == 0 {
		lane.Device = l.gpu
	}
}

// isQuoted reports whether a record is of a line in the harness's name that is not the harness's. In a
// log without a run-start, which a program may have printed all by itself, a line on a file that names
// none is not: the harness always does.
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
	return !b.log.begun && index == 0 && path == ""
}

// quoted counts a line in the harness's name that is not the harness's.
func (b *Builder) quoted(at record.Position) {
	if b.tl.Quoted++; b.tl.Quoted == 1 {
		b.tl.FirstQuoted = at
	}
}
