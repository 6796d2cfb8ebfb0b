package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// A CrashEnd is a crash after which its log does not show that the work went on.
type CrashEnd struct {
	// First and Last are the first and the last words on it: of a traceback, and of the shell.
	First, Last  record.Crash
	Run, Process int // as in File
	// alone says that no reading before it is of its rank.
	noReadings bool
}

// afterCrash is how many lines may be between two crashes that are told as one, and between the last
// one and the end of the log: the stacks of threads, a launcher's summary. A traceback with more behind
// it was caught.
const crashRange = 256

// crashesMax is how many ranks may have crashed in a log.
const maxCrashes = 64

// crashed keeps a crash until the log shows that the work went on.
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
	b.log.crashes = append(b.log.crashes, CrashEnd{First: r, Last: r, Run: b.run, Process: b.process, noReadings: alone})
}

// survived notes that a reading followed a crash. Where the rank that crashed has readings, those of
// others say nothing on it.
func (b *Builder) noteSurvival(c *record.Checkpoint) {
	if len(b.log.crashes) > 0 {
		b.log.crashes = slices.DeleteFunc(b.log.crashes, func(end CrashEnd) bool {
			return end.noReadings || end.First.Lane.Rank == c.Lane.Rank
		})
	}
}

// ranOut notes that a traceback was of an allocation that failed, which is no crash by itself.
func (b *Builder) dropMemoryCrash(r *record.OutOfMemory) {
	if len(b.log.crashes) == 0 {
		return
	}
	b.log.crashes = slices.DeleteFunc(b.log.crashes, func(end CrashEnd) bool { return end.First.Line().Line == r.Pos.Line })
	for i := range b.log.crashes {
		if end := &b.log.crashes[i]; end.Last.Line().Line == r.Pos.Line {
			end.Last = end.First
		}
	}
}

// endCrashes adds the crashes that a log of so many lines ends with. Where the harness watched, it says
// itself how each process ended.
func (b *Builder) endCrashes(lines int) {
	for _, end := range b.log.crashes {
		if !b.log.supervised && lines <= end.Last.Line().Line+crashRange {
			b.tl.Crashes = append(b.tl.Crashes, end)
		}
	}
	b.log.crashes = nil
}
