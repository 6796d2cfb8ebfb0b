package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// A CrashEnd is a crash after which the log shows no more work.
type CrashEnd struct {
	// First and Last are the first and the last message of the crash. For example, a line of the shell
	// may follow a traceback.
	First, Last  record.Crash
	Run, Process int // as in File
	// noReadings is set if the crash's rank had no reading before the crash.
	noReadings bool
}

// crashRange is the most lines between two messages of the same crash, and between the last message
// and the end of the log. Threads' stacks and a launcher's summary may take that many lines. If
// more lines follow a traceback, the program caught the exception and went on.
const crashRange = 256

// maxCrashes is the most ranks whose crashes are kept in a log.
const maxCrashes = 64

// addCrash keeps a crash until the log shows that its rank went on working.
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

// noteSurvival drops the crashes of ranks that went on working, as the checkpoint c shows. If a
// rank had no readings before its crash, a reading of any rank counts.
func (b *Builder) noteSurvival(c *record.Checkpoint) {
	if len(b.log.crashes) > 0 {
		b.log.crashes = slices.DeleteFunc(b.log.crashes, func(end CrashEnd) bool {
			return end.noReadings || end.First.Lane.Rank == c.Lane.Rank
		})
	}
}

// dropMemoryCrash drops a crash whose message is the message of a failed allocation.
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

// EndCrashes adds the crashes near the end of a log. Call it when the whole log was read, with its
// number of lines. It adds no crash of a supervised log, because the harness says there how each
// process ended.
func (b *Builder) EndCrashes(lines int) {
	for _, end := range b.log.crashes {
		if !b.log.supervised && lines <= end.Last.Line().Line+crashRange {
			b.tl.Crashes = append(b.tl.Crashes, end)
		}
	}
	b.log.crashes = nil
}
