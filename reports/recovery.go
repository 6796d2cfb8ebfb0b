package reports

import (
	"fmt"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// A recovery is what a pair of checkpoints gave back: the level falls from top to bottom, and start is what was held
// before the work. The rules are those of harness/check; here they only say what to show and where to put a mark.
type recovery struct {
	top, bottom, start parser.Size
	// judged says that start is known. For a cleanup in the midst of a stage, while other objects live on, it is not.
	judged bool
}

// floor is what is too little to speak of; the judge's default.
const floor = parser.MiB

func (r recovery) freed() int64 { return r.top.Bytes - r.bottom.Bytes }
func (r recovery) held() int64  { return r.top.Bytes - r.start.Bytes }

// share is freed over held. It is not to be asked where held is under the floor.
func (r recovery) share() float64 { return float64(r.freed()) / float64(r.held()) }

// surelyBelow says that the share is under the limit for every value that the printed digits allow.
func (r recovery) surelyBelow(limit float64) bool {
	if !r.judged || r.held() <= max(floor, r.top.Resolution+r.start.Resolution) {
		return false
	}
	at := func(top int64) float64 {
		return float64(top-r.bottom.Low()) / float64(max(1, top-r.start.High()))
	}
	return max(at(r.top.Low()), at(r.top.High())) < limit
}

// recoveries are a file's cleanups by one quantity, in their order; nil for those without readings. A cleanup of no stage
// is held against what the recovery before it left; the first, against the level at which the process began.
func recoveries(f *parser.File, q parser.Quantity, births map[int]parser.Size) []*recovery {
	out := make([]*recovery, len(f.Cleanups))
	left := births[f.Process]
	stage := 0
	for i, c := range f.Cleanups {
		for ; stage < len(f.Stages) && f.Stages[stage].After < c.Before; stage++ {
			if after, ok := f.Checkpoints[f.Stages[stage].After].Get(q); ok && hasCleanup(f, stage) {
				left = after
			}
		}
		before, ok1 := f.Checkpoints[c.Before].Get(q)
		after, ok2 := f.Checkpoints[c.After].Get(q)
		if !ok1 || !ok2 {
			continue
		}
		r := &recovery{top: before, bottom: after, start: left, judged: true}
		if c.Stage >= 0 {
			r.start, r.judged = f.Checkpoints[f.Stages[c.Stage].Before].Get(q)
			r.judged = r.judged && c.Last
		}
		if holds, ok := f.Checkpoints[c.Before].Get(parser.Holds); ok {
			r.start, r.judged = parser.Size{Bytes: before.Bytes - holds.Bytes, Resolution: holds.Resolution}, true
		}
		if c.Stage < 0 && !r.surelyBelow(wellFreed) {
			left = after
		}
		out[i] = r
	}
	return out
}

// births are the levels at which the processes began: at the first checkpoint of each, unless that is a cleanup's.
func births(tl *parser.Timeline, lane parser.Lane, q parser.Quantity) map[int]parser.Size {
	out := map[int]parser.Size{}
	begin := func(process int, c *parser.Checkpoint) {
		if _, known := out[process]; known || c.Lane != lane {
			return
		}
		out[process] = parser.Exact(0)
		if !c.OfCleanup() {
			out[process], _ = c.Get(q)
		}
	}
	for i := range tl.Outside {
		if c := &tl.Outside[i]; len(tl.Files) > 0 && c.Pos.Line < tl.Files[0].Pos.Line {
			begin(tl.Files[0].Process, c)
		}
	}
	for i := range tl.Files {
		f := &tl.Files[i]
		for k := range f.Checkpoints {
			begin(f.Process, &f.Checkpoints[k])
		}
	}
	return out
}

// wellFreed is the share from which a cleanup is complete; the judge's default.
const wellFreed = 0.95

func hasCleanup(f *parser.File, stage int) bool {
	for _, c := range f.Cleanups {
		if c.Stage == stage {
			return true
		}
	}
	return false
}

// stageRecovery is a stage's: from its largest reading to the one after it.
func stageRecovery(f *parser.File, s parser.Stage, q parser.Quantity) *recovery {
	before, ok1 := f.Checkpoints[s.Before].Get(q)
	after, ok2 := f.Checkpoints[s.After].Get(q)
	if !ok1 || !ok2 {
		return nil
	}
	r := &recovery{top: before, bottom: after, start: before, judged: true}
	for i := s.Before; i <= s.After; i++ {
		c := &f.Checkpoints[i]
		if size, ok := c.Get(q); ok && c.Lane == f.Checkpoints[s.Before].Lane && size.Bytes > r.top.Bytes {
			r.top = size
		}
	}
	return r
}

// recoveryOf is the finding on the recovery of a cleanup or stage in a lane, nil where there is none. lanes is the number
// of lanes in the log: with several, a finding's subject names its own.
func recoveryOf(rep *check.Report, name string, lane parser.Lane, lanes int) *check.Finding {
	if lanes > 1 {
		name = fmt.Sprintf("%s (rank %d, device %d)", name, lane.Rank, lane.Device)
	}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Check == check.Recovery && f.Subject == name {
			return f
		}
	}
	return nil
}
