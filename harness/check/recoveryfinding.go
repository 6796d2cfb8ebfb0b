package check

import (
	"fmt"
	"slices"
	"strconv"

	"vramsoak/parser/record"
)

// A recoverySum adds up the recoveries of one cleanup or stage over the files.
type recoverySum struct {
	name string
	all  int
	// left is how many bytes were allocated after it in the first file that was judged, and first is
	// the index of that file in Timeline.Files. left is -1 before.
	left  int64
	first int32
	of    [4]*recoveryCount // one for each of recoveryVerdicts
	// shares holds the ratio of freed to held memory for the files in which something was held and
	// could be judged.
	shares column
}

// recoveryVerdicts lists the verdicts on a recovery in one file, the most important first. The
// verdict over all files is the first in this list that any file has.
var recoveryVerdicts = [...]Verdict{Fail, Undecided, Pass, Skipped}

type recoveryCount struct {
	n       int
	decided Recovered       // the first that fails; for other verdicts the one with the lowest share
	from    int             // line of its first checkpoint
	left    int64           // bytes that were allocated after it
	at      record.Position // of its last checkpoint
	least   float64         // the lowest share
}

// sum returns the recoverySum of the device's cleanup or stage with this name. It adds one if there
// is none.
func (l *lane) sum(name string) *recoverySum {
	const few = 8 // with more names, a map is faster than a search
	s := l.byName[name]
	named := func(s *recoverySum) bool { return s.name == name }
	if i := slices.IndexFunc(l.sums[:min(few, len(l.sums))], named); i >= 0 {
		s = l.sums[i]
	}
	if s == nil {
		s = &recoverySum{name: name, left: -1, shares: column{most: columnFiles}}
		if l.sums = append(l.sums, s); len(l.sums) > few {
			if l.byName == nil {
				l.byName = map[string]*recoverySum{}
			}
			l.byName[name] = s
		}
	}
	return s
}

func (s *recoverySum) add(r *Recovered) {
	s.all++
	if r.Verdict != Skipped && !r.Nothing && !r.File.Outside {
		s.shares.add(r.n, r.Share, (r.High-r.Low)/2)
	}
	left, _ := r.File.Checkpoints[r.After].Get(r.level)
	if s.left < 0 && r.Verdict != Skipped {
		s.left, s.first = left.Bytes, r.n
	}
	of := slices.Index(recoveryVerdicts[:], r.Verdict)
	c := s.of[of]
	if c == nil {
		c = &recoveryCount{}
		s.of[of] = c
	}
	d := &c.decided
	if c.n == 0 || r.Share < c.least {
		c.least = r.Share
	}
	if c.n++; c.n == 1 || r.Verdict != Fail && !r.Nothing && (d.Nothing || r.Share < d.Share) {
		*d = *r
		c.left = left.Bytes
		c.from, c.at = r.File.Checkpoints[r.first].Pos.Line, r.File.Checkpoints[r.After].Pos
	}
}

// recovery adds a finding for each cleanup and each stage on a device, in the order in which they
// first appear.
func (j *Judge) recovery(l *lane) {
	for _, s := range l.sums {
		j.add(j.recoveryFinding(j.subject(s.name, l.id), s))
	}
	if len(l.sums) > 0 {
		return
	}
	f := Finding{
		Check: Recovery, Verdict: Skipped, Subject: j.subject("cleanups", l.id),
		Message: `no cleanup was logged; print a checkpoint "Before X Cleanup" and one "After X Cleanup"`,
	}
	if b, lost := j.firstLost[l.id]; lost {
		f.At = new(b.pos)
		f.Message = fmt.Sprintf("no cleanup was logged to its end: %q in %s has no After; print a "+
			"checkpoint when the cleanup is done, too",
			b.name, fileName(b.file))
	}
	j.add(f)
}

// recoveryFinding returns the finding on one cleanup or stage over all files.
func (j *Judge) recoveryFinding(subject string, s *recoverySum) Finding {
	f := Finding{
		Check: Recovery, Subject: subject, Unit: Ratio, Limit: new(float64(j.policy.Recovery.Min)),
	}
	of := slices.IndexFunc(s.of[:], func(c *recoveryCount) bool { return c != nil })
	c := s.of[of]
	f.Verdict = recoveryVerdicts[of]
	for of, c := range s.of {
		if v := recoveryVerdicts[of]; c != nil && (v == Fail || v == Undecided) {
			f.includes(c.least)
		}
	}
	r, file := &c.decided, c.decided.File
	f.in(file)
	f.At, f.Measured, f.Stage = new(c.at), new(r.Share), r.Name
	f.causeInput = &causeInput{
		lane: r.Lane, file: file, rise: c.left - s.left, from: c.from, to: c.at.Line,
	}
	if r.n == s.first {
		f.causeInput.rise = r.Held.Bytes - r.Freed
	}
	where := inFile(file)
	switch {
	case f.Verdict == Skipped:
		f.Measured, f.Limit, f.Unit = nil, nil, ""
		f.Message = fmt.Sprintf("freed %s %s, not judged: %s", record.FormatBytes(r.Freed), where,
			r.Reason)
	case f.Verdict == Fail && r.Freed < 0:
		f.Message = fmt.Sprintf("memory grew by %s %s; under %s freed in %s",
			record.FormatBytes(-r.Freed), where,
			percent(float64(j.policy.Recovery.Min)), ofFiles(c.n, s.all))
	case f.Verdict == Fail:
		f.Message = fmt.Sprintf("freed %s of %s (%s) %s; under %s in %s", record.FormatBytes(r.Freed),
			r.Held,
			percentBelow(r.Share, float64(j.policy.Recovery.Min)), where,
			percent(float64(j.policy.Recovery.Min)), ofFiles(c.n, s.all))
	case f.Verdict == Undecided:
		f.Message = fmt.Sprintf("the printed digits allow %s to %s of %s %s; log exact bytes to "+
			"decide it",
			percent(r.Low), percent(r.High), r.Held, where)
	case r.Nothing:
		f.Measured = nil
		f.Message = fmt.Sprintf("nothing to free: it held %s or less in %s", record.FormatBytes(max(
			j.policy.Recovery.Floor.Bytes, r.Held.Resolution)), ofFiles(c.n, s.all))
	default:
		f.Message = fmt.Sprintf("freed %s of %s or better in %s", percent(r.Share), r.Held,
			ofFiles(c.n, s.all))
	}
	if r.left > 0 && f.Measured != nil {
		f.Message += fmt.Sprintf("; without the %s that an earlier failed cleanup left",
			record.FormatBytes(r.left))
	}
	f.addShareOfAll(r)
	return f
}

// addShareOfAll adds to the finding on a recovery the share of all that was allocated before, if it
// is not the share that the finding shows.
func (f *Finding) addShareOfAll(r *Recovered) {
	if f.Measured == nil || r.Freed < 0 || percent(r.OfAll) == percent(r.Share) {
		return
	}
	all := map[record.Quantity]string{
		record.Allocated: "allocated", record.Reserved: "reserved", record.Used: "in use",
	}
	f.OfAllocated = new(r.OfAll)
	f.Message += fmt.Sprintf("; %s of all that was %s, (before - after) / before", percent(r.OfAll),
		all[r.level])
}

func ofFiles(n, all int) string {
	switch {
	case all == 1:
		return "1 file"
	case n == all:
		return fmt.Sprintf("all %d files", all)
	}
	return fmt.Sprintf("%d of %d files", n, all)
}

func percent(share float64) string { return Quantity(share, Ratio) }

// percentBelow returns a share that is less than least, with as many digits as show it: "94.97 %",
// not "95.0 %", if least is 95 %. Shares that agree in percentDigits digits are not told apart.
func percentBelow(share, least float64) string {
	text := ""
	for digits := 1; digits <= percentDigits; digits++ {
		text = strconv.FormatFloat(100*share, 'f', digits, 64)
		if text != strconv.FormatFloat(100*least, 'f', digits, 64) {
			break
		}
	}
	return text + " %"
}

const percentDigits = 6
