package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// causeOfShortage returns the leak, the cleanup or the fragmentation without which the failed
// allocation would have succeeded, or nil. If the log does not say how much was missing, it returns
// the first one that kept a large part of the device: see [shortage.worthIt].
func (j *Judge) causeOfShortage(s *shortage) *Cause {
	decides := func(kept int64) bool {
		worthy, enough := s.worthIt(kept)
		return enough || worthy && s.missing == 0
	}
	if g, kept, _ := j.grownBefore(s, (*Ledger).holds); g != nil && decides(kept) {
		return g.w.finding.named()
	}
	if l, r := j.cleanupBehind(s); r != nil && decides(r.Held.Bytes-r.Freed) {
		return &Cause{Recovery, j.subject(r.Name, l.id)}
	}
	if g, unused, _ := j.grownBefore(s, (*Ledger).isUnused); g != nil && decides(unused) {
		return g.w.finding.named()
	}
	return nil
}

// holds reports whether a ledger's growth takes memory of the device that something refers to.
func (of *Ledger) holds() bool { return of.Name != UnusedReserve && of.Name != PinnedMemory }

// isUnused reports whether a ledger is the memory that the allocator reserved and does not use.
func (of *Ledger) isUnused() bool { return of.Name == UnusedReserve }

// recoveryAdvice returns the advice to free what a cleanup left allocated before memory ran out.
func (j *Judge) recoveryAdvice(s *shortage) string {
	_, r := j.cleanupBehind(s)
	if r == nil {
		return ""
	}
	kept := r.Held.Bytes - r.Freed
	text := fmt.Sprintf("first mend %s: %s of %s stays allocated after it, so something still "+
		"refers to it; in Python, vramlog.freeing names what (docs/reference/vramlog.md)", r.Name,
		formatBytes(kept), r.Held)
	if _, enough := s.worthIt(kept); enough {
		text += suffices
	}
	return text
}

// cleanupBehind returns the first cleanup before memory ran out that left as much memory allocated
// as [shortage.worthIt] asks for. It returns nil if no cleanup did.
func (j *Judge) cleanupBehind(s *shortage) (*lane, *Recovered) {
	for _, l := range j.lanes {
		if len(j.lanes) > 1 && l.id != s.oom.Lane {
			continue
		}
		for _, sum := range l.sums {
			failed := sum.of[slices.Index(recoveryVerdicts[:], Fail)]
			if failed == nil || failed.decided.Stage || failed.at.Line > s.oom.Pos.Line ||
				failed.decided.File.Process != s.file.Process {
				continue
			}
			r := &failed.decided
			if worthy, _ := s.worthIt(r.Held.Bytes - r.Freed); worthy {
				return l, r
			}
		}
	}
	return nil, nil
}

// heldOverAdvice returns the advice on memory that earlier files left when the file began. grows
// reports whether each file left more.
func (j *Judge) heldOverAdvice(s *shortage) (text string, grows bool) {
	levels := j.beginnings(s)
	if len(levels) < 2 {
		return "", false
	}
	now, was := levels[len(levels)-1], levels[0]
	if worthy, _ := s.worthIt(now - was); !worthy {
		return "", false
	}
	if goesOn(levels) {
		return fmt.Sprintf("%s was allocated when the first file began, then %s, and %s when this one "+
			"did: each file leaves more. A list, dict or closure collects tensors on the device, such as "+
			"outputs, losses or views: keep x.cpu() or x.item() (docs/stories.md)", formatBytes(was),
			formatBytes(levels[1]), formatBytes(now)), true
	}
	return fmt.Sprintf("%s is still allocated when the file begins, and %s was when the first file "+
		"began: if that is no model that stays, something of the last file is held, often by the "+
		"variable of a loop: del it before the next file is loaded", formatBytes(now),
		formatBytes(was)), false
}

// goesOn reports whether levels rise from each file to the next, and by more than at the first step
// only.
func goesOn(levels []int64) bool {
	for i := range levels[1:] {
		if levels[i+1] <= levels[i] {
			return false
		}
	}
	return 2*(levels[len(levels)-1]-levels[1]) >= levels[1]-levels[0]
}

// beginnings returns what was allocated when the files of the process began, up to the file that
// failed, in bytes. It leaves out files that begin with another checkpoint than the first one. It
// returns nil if the file that failed is one of these.
func (j *Judge) beginnings(s *shortage) (levels []int64) {
	name := ""
	for _, f := range j.tl.Files {
		if f.Process != s.file.Process {
			continue
		}
		c := s.beginning(f)
		switch {
		case c != nil && (name == "" || c.Name == name):
			name, levels = c.Name, append(levels, c.Bytes(record.Allocated))
		case f == s.file:
			return nil
		}
		if f == s.file {
			return levels
		}
	}
	return nil // the failure is between files
}

// beginning returns the reading with which the first stage of a file begins on the device, or nil
// if it has none before the failed allocation.
func (s *shortage) beginning(f *timeline.File) *record.Checkpoint {
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if c.Lane == s.oom.Lane && c.Has(record.Allocated) {
			if c.Pos.Line < s.oom.Pos.Line && strings.HasPrefix(c.Name, "Before ") {
				return c
			}
			return nil
		}
	}
	return nil
}

// mostOf is the part of the device's memory from which residentAdvice speaks of what was allocated
// before a file.
const mostOf = 0.5

// residentAdvice returns the advice on memory that was allocated before the work on the file began.
func (s *shortage) residentAdvice() string {
	c := s.beginning(s.file)
	if c == nil || s.total == 0 ||
		float64(c.Bytes(record.Allocated)) < mostOf*float64(s.total) {
		return ""
	}
	return fmt.Sprintf("%s of %s was allocated before the work on the file began (%s): if that is "+
		"data, bring it to the device batch by batch; if it is weights, take a smaller number format",
		formatBytes(c.Bytes(record.Allocated)), formatBytes(s.total), c.Name)
}

// contextMax is the most memory in bytes that a CUDA context takes; see contextOf in
// pipeline/scenario/card.go.
const contextMax = 696 << 20

// outsideAdvice returns the advice on memory that neither is free nor belongs to the allocator, if
// the log does not say to whom it belongs.
func (s *shortage) outsideAdvice() string {
	o := s.oom
	reserved, known := o.Get(record.Reserved)
	if s.capped || s.others > 0 || o.Has(record.Used) || !known || !o.Has(record.Total) ||
		!o.Has(record.Free) {
		return ""
	}
	outside := o.Bytes(record.Total) - o.Bytes(record.Free) - reserved.Bytes
	if worthy, _ := s.worthIt(outside - contextMax); !worthy {
		return ""
	}
	return fmt.Sprintf("%s of the device is held outside of this program's allocator: a CUDA context "+
		"takes up to %s, the rest is other processes or libraries; nvidia-smi lists the processes",
		formatBytes(outside), formatBytes(contextMax))
}
