package check

import (
	"cmp"
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A usualNeed says how much memory a stage takes in the files without a failed allocation, in
// bytes above the level at which the stage begins.
type usualNeed struct {
	files int
	// most is the largest amount that the checkpoints show. The stage may have taken more between
	// two checkpoints.
	most int64
	// bound is the largest amount that the stage can have taken. bounded counts the files whose
	// checkpoints give such a bound.
	bound   int64
	bounded int
}

// A stageTop holds the highest readings at the checkpoints of a stage.
type stageTop struct {
	reserved int64
	peak     int64 // without the stage's first checkpoint
}

func (s *stageTop) raise(to stageTop) {
	s.reserved, s.peak = max(s.reserved, to.reserved), max(s.peak, to.peak)
}

// topOf returns the readings of a checkpoint. A peak that is printed where a stage begins belongs
// to the work before it.
func topOf(c *record.Checkpoint, begins bool) stageTop {
	top := stageTop{reserved: c.Bytes(record.Reserved), peak: c.Bytes(record.Peak)}
	if begins {
		top.peak = 0
	}
	return top
}

// noteNeed adds what a stage took in a file. The stage began at the allocated level from and took
// most at its checkpoints.
func (p *stagePeak) noteNeed(f *timeline.File, s *timeline.Stage, from, most int64, top stageTop) {
	if len(f.OOMs) > 0 {
		return
	}
	p.need.files++
	p.need.most = max(p.need.most, most)
	bound := int64(-1)
	if s.Cleanups > 0 { // the checkpoint before the cleanup shows what the stage has reserved
		bound = top.reserved
	}
	if f.Checkpoints[s.After].Has(record.Peak) && (bound <= 0 || top.peak < bound) {
		bound = top.peak
	}
	if bound >= from+most {
		p.need.bounded++
		p.need.bound = max(p.need.bound, bound-from)
	}
}

// A fileNeed collects how much memory a file took above the level of its first checkpoint.
type fileNeed struct {
	from  int64 // allocated at the first checkpoint
	top   stageTop
	begun bool
	// working is set while a stage has begun and its cleanup has not. unseen is set if the work of
	// some stage ended without a cleanup: what was reserved for it may be gone before the next
	// checkpoint.
	working, cleaned, unseen bool
	endsWithPeak             bool
}

// A namedPair is what the name of a checkpoint says of its stage.
type namedPair struct {
	name                  string
	begins, ends, cleanup bool
}

// pairAt returns the pair of the file's next checkpoint. Most files have the same checkpoints, so
// the pairs of the file before are kept.
func (l *lane) pairAt(c *record.Checkpoint) namedPair {
	at := l.nextPair
	l.nextPair++
	if at < len(l.pairs) && l.pairs[at].name == c.Name {
		return l.pairs[at]
	}
	name, begins, ends := c.Pair()
	p := namedPair{c.Name, begins, ends, record.IsCleanup(name)}
	switch {
	case at < len(l.pairs):
		l.pairs[at] = p
	case at < pointsMax:
		l.pairs = append(l.pairs, p)
	}
	return p
}

// add adds the next checkpoint of the file, which has the pair p.
func (n *fileNeed) add(c *record.Checkpoint, p namedPair) {
	n.top.raise(topOf(c, !n.begun))
	if !n.begun {
		n.begun, n.from = true, c.Bytes(record.Allocated)
	}
	n.endsWithPeak = c.Has(record.Peak)
	switch {
	case p.begins && p.cleanup:
		n.working, n.cleaned = false, true
	case p.begins:
		n.unseen = n.unseen || n.working
		n.working = true
	case !p.ends: // a checkpoint in the middle of some work
		n.working = true
	}
}

// noteFileNeed adds what the file took to what the files of the device usually take.
func (l *lane) noteFileNeed(f *timeline.File) {
	if len(f.OOMs) > 0 || !l.need.begun {
		return
	}
	n := &l.need
	l.usual.files++
	l.usual.most = max(l.usual.most, l.highest.Bytes-n.from)
	bound := int64(-1)
	if n.cleaned && !n.unseen && !n.working {
		bound = n.top.reserved
	}
	if n.endsWithPeak && (bound <= 0 || n.top.peak < bound) {
		bound = n.top.peak
	}
	if l.level == record.Allocated && bound >= l.highest.Bytes {
		l.usual.bounded++
		l.usual.bound = max(l.usual.bound, bound-n.from)
	}
}

// usualLeast is how many other files show what a stage usually takes.
const usualLeast = 3

// A comparedRequest compares a failed request with what its stage takes in the other files.
type comparedRequest struct {
	shortage
	stage string // or "" if the whole files are compared
	usual usualNeed
	// need is what the stage has taken in this file, and the request. It is a lower bound unless
	// needKnown is set. Of a whole file it is the request: the file may have begun at another
	// checkpoint than the others.
	need      int64
	needKnown bool
}

// compareRequest compares the request of a failed allocation with its stage in the other files. If
// the stage does not end there, it compares with the whole files. compareRequest returns nil if the
// log does not show what they usually take.
func (j *Judge) compareRequest(s *shortage) *comparedRequest {
	at := j.placeBefore(s.file, s.oom.Lane, s.oom.Pos.Line)
	if known := j.failedAt[s.file]; known.line == s.oom.Pos.Line {
		at = known.place // the checkpoints of a long log are not kept
	}
	c := &comparedRequest{shortage: *s, stage: cmp.Or(s.oom.Stage, at.stage), need: s.requested}
	var files usualNeed
	for _, l := range j.lanes {
		if len(j.lanes) > 1 && l.id != s.oom.Lane || l.peaks.of != record.Allocated {
			continue
		}
		files = l.usual
		for _, p := range l.stagePeaks {
			if p.name == c.stage {
				c.usual = p.need
			}
		}
	}
	if c.usual.files < usualLeast {
		c.stage, c.usual = "", files
	}
	if s.file.Outside || s.requested == 0 || c.usual.files < usualLeast {
		return nil
	}
	if from, known := c.stageBegan(); known && c.stage != "" && s.oom.Has(record.Allocated) {
		c.need, c.needKnown = s.requested+max(0, s.oom.Bytes(record.Allocated)-from), true
	}
	return c
}

// stageBegan returns the allocated memory at the checkpoint with which the stage of the failed
// allocation began.
func (c *comparedRequest) stageBegan() (level int64, known bool) {
	for i := range c.file.Checkpoints {
		at := &c.file.Checkpoints[i]
		if at.Pos.Line > c.oom.Pos.Line {
			break
		}
		if name, begins, _ := at.Pair(); begins && name == c.stage && at.Lane == c.oom.Lane {
			level, known = at.Bytes(record.Allocated), at.Has(record.Allocated)
		}
	}
	return level, known
}

// isUnusual reports whether the request needs more memory than the stage, or the whole file, can
// have taken in any other file.
func (c *comparedRequest) isUnusual() bool {
	return c != nil && c.usual.bounded == c.usual.files && c.need > c.usual.bound
}

// leads reports whether the unusual request explains the failure better than the causes that the
// numbers of the device show.
func (c *comparedRequest) leads() bool { return c.stage != "" && c.othersFit() }

// isUsual reports whether the stage took as much in another file, in which it did not fail.
func (c *comparedRequest) isUsual() bool {
	return c != nil && c.needKnown && c.need <= c.usual.most
}

// othersFit reports whether the memory that was left would have been enough for all other files.
func (c *comparedRequest) othersFit() bool {
	return c.roomKnown && c.usual.bound <= c.room+c.need-c.requested
}

// unusualAdvice returns the advice on a file that needs more memory than any other.
func (c *comparedRequest) unusualAdvice() string {
	needs := "asked for " + formatBytes(c.requested) + " at once"
	if c.need > c.requested {
		needs = "needs at least " + formatBytes(c.need)
	}
	text := fmt.Sprintf("look at %s first: %s %s there, and took at most %s in each of the other %s",
		fileName(c.file), c.stage, needs, formatBytes(c.usual.bound), Plural(c.usual.files, "file"))
	if c.stage == "" {
		text = fmt.Sprintf("look at %s first: it %s, and each of the other %s took at most %s in all",
			fileName(c.file), needs, Plural(c.usual.files, "file"), formatBytes(c.usual.bound))
	}
	if !c.othersFit() {
		return text
	}
	return text + "; what was left is enough for those: split such an input, or refuse it before " +
		"the batch"
}

// usualAdvice returns the advice on a file that needs no more memory than others did.
func (c *comparedRequest) usualAdvice() string {
	return fmt.Sprintf("%s is a usual input: %s needed %s there, and took up to %s in the other %s; "+
		"so look for what holds the memory now, not at this file", fileName(c.file), c.stage,
		formatBytes(c.need), formatBytes(c.usual.most), Plural(c.usual.files, "file"))
}
