package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// A CrashEnd is a crash after which the log shows no more work of the same rank.
type CrashEnd struct {
	// First and Last are the first and the last message of the crash. They differ if, for
	// example, a line of the shell follows a traceback.
	First, Last  record.Crash
	Run, Process int // as in File
	// noReadings is set if the crash's rank had no reading before the crash.
	noReadings bool
}

// crashRange is the most lines between two messages of the same crash, and between the last
// message and the end of the log. The stacks of threads and a launcher's summary may take that
// many lines. If more lines follow a traceback, the program caught the exception and went on.
const crashRange = 256

// maxCrashes is the most ranks of a log whose crashes are kept.
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

// noteSurvival drops the crash of the checkpoint's rank, because the checkpoint shows that the
// rank went on working. If a rank had no readings before its crash, a reading of any rank counts,
// and its crash is dropped too.
func (b *Builder) noteSurvival(c *record.Checkpoint) {
	if len(b.log.crashes) > 0 {
		b.log.crashes = slices.DeleteFunc(b.log.crashes, func(end CrashEnd) bool {
			return end.noReadings || end.First.Lane.Rank == c.Lane.Rank
		})
	}
}

// dropMemoryCrash drops a crash whose message is also a failed allocation. The failure r replaces
// it.
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

// isOneOfSeveral reports whether the builder takes the lines of one process of several that the log
// names.
func (b *Builder) isOneOfSeveral() bool {
	return b.root != nil || len(b.log.streams.all) > 0 && b.log.streams.writer != ""
}

// EndCrashes adds the crashes near the end of a log to the timeline. Call it after the whole log
// was read. The parameter lines is the log's number of lines. If the log has the harness's lines,
// EndCrashes adds nothing, because these lines say how each process ended.
func (b *Builder) EndCrashes(lines int) {
	b.settle()
	for _, other := range b.log.streams.all {
		other.EndCrashes(lines)
	}
	for _, end := range b.log.crashes {
		// The lines that follow may be of other processes, if the log tells them apart.
		near := lines <= end.Last.Line().Line+crashRange || b.isOneOfSeveral()
		if !b.main().log.supervised && near {
			b.tl.Crashes = append(b.tl.Crashes, end)
		}
	}
	b.log.crashes = nil
}
