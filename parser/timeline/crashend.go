package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// A CrashEnd is a crash after which the log does not show any more work.
type CrashEnd struct {
	// First and Last are its first and last message: a traceback may be followed by a line of the
	// shell.
	First, Last  record.Crash
	Run, Process int // as in File
	// noReadings is set if no reading of its rank came before it.
	noReadings bool
}

// crashRange is the most lines between two crashes that count as one, and between the last crash
// and the end of the log. The stacks of threads and a launcher's summary take lines. If more
// follows a traceback, the program caught it.
const crashRange = 256

// maxCrashes is the most ranks of a log whose crashes are kept.
const maxCrashes = 64

// addCrash keeps a crash until the log shows that the work went on.
func (b *Builder) addCrash(r record.Crash) {
	for i := range b.log.crashes {
		if end := &b.log.crashes[i]; end.First.Lane.Rank == r.Lane.Rank {
			switch last := end.Last.Line().Line; {
			case r.Pos.Line > last+crashRange:
				end.First, end.Last = r, r
			case r.Line().Line > last:
				end.Last = r
			}
			return
		}
	}
	if len(b.log.crashes) == maxCrashes {
		return
	}
	ofRank := func(c record.Checkpoint) bool { return c.Lane.Rank == r.Lane.Rank }
	f := b.file
	if f == nil {
		f = b.outside
	}
	alone := f == nil || !slices.ContainsFunc(f.Checkpoints, ofRank)
	b.log.crashes = append(b.log.crashes, CrashEnd{
		First: r, Last: r, Run: b.run, Process: b.process,
		noReadings: alone,
	})
}

// noteSurvival drops the crashes that a reading follows. If the rank of the crash has readings,
// only a reading of that rank counts.
func (b *Builder) noteSurvival(c *record.Checkpoint) {
	if len(b.log.crashes) > 0 {
		b.log.crashes = slices.DeleteFunc(b.log.crashes, func(end CrashEnd) bool {
			return end.noReadings || end.First.Lane.Rank == c.Lane.Rank
		})
	}
}

// dropMemoryCrash drops a crash whose traceback was of a failed allocation.
func (b *Builder) dropMemoryCrash(r *record.OutOfMemory) {
	if len(b.log.crashes) == 0 {
		return
	}
	b.log.crashes = slices.DeleteFunc(b.log.crashes,
		func(end CrashEnd) bool { return end.First.Line().Line == r.Pos.Line })
	for i := range b.log.crashes {
		if end := &b.log.crashes[i]; end.Last.Line().Line == r.Pos.Line {
			end.Last = end.First
		}
	}
}

// EndCrashes adds the crashes near the end of a log with that many lines. Call it when a log was
// read to its end. In a supervised log the harness says how each process ended, so none is added.
func (b *Builder) EndCrashes(lines int) {
	for _, end := range b.log.crashes {
		if !b.log.supervised && lines <= end.Last.Line().Line+crashRange {
			b.tl.Crashes = append(b.tl.Crashes, end)
		}
	}
	b.log.crashes = nil
}
