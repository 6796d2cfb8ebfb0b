package check

import (
	"fmt"

	"vramsoak/parser"
)

// A peakMark is the high-water mark of a ledger.
type peakMark struct {
	of   mark // by the share of the total that the reading has beside it
	runs []runMark
	// low and high are the bounds of the largest share.
	low, high float64
	reserved  int64
}

// A runMark is for the readings of a run that have no total beside them.
type runMark struct {
	run   int
	total parser.Size // the device's; many programs print it once
	alone mark        // the highest by its size
}

// A mark is a reading that may be the highest.
type mark struct {
	seen        bool
	size, total parser.Size
	name        string // of the checkpoint
	pos         parser.Position
	file        fileRef
	told        bool // by peak=: the program saw it between two checkpoints
}

func (p *peakMark) add(level parser.Quantity, run int, file fileRef, c *parser.Checkpoint) {
	r := p.run(run)
	r.addTotal(&c.Reading)
	size, ok := c.Get(level)
	m, told := c.Get(parser.Peak)
	if told = told && m.Bytes > size.Bytes; told {
		size, ok = m, true
	}
	p.reserved = max(p.reserved, c.Bytes(parser.Reserved), c.Bytes(parser.PeakReserved))
	if !ok {
		return
	}
	if total, has := c.Get(parser.Total); has && total.Bytes > 0 {
		if p.of.seen && total == p.of.total && size.Resolution == p.of.size.Resolution && size.Bytes <= p.of.size.Bytes {
			return // as nearly always
		}
		p.raise(mark{true, size, total, c.Name, c.Pos, file, told})
	} else if !r.alone.seen || size.Bytes > r.alone.size.Bytes {
		r.alone = mark{true, size, parser.Size{}, c.Name, c.Pos, file, told}
	}
}

// raise compares a mark that has a total with the highest.
func (p *peakMark) raise(m mark) {
	p.low = max(p.low, float64(m.size.Low())/float64(m.total.High()))
	p.high = max(p.high, float64(m.size.High())/float64(max(1, m.total.Low())))
	if !p.of.seen || float64(m.size.Bytes)*float64(p.of.total.Bytes) > float64(p.of.size.Bytes)*float64(m.total.Bytes) {
		p.of = m
	}
}

// run is the mark of a run. The runs follow one another.
func (p *peakMark) run(n int) *runMark {
	if len(p.runs) == 0 || p.runs[len(p.runs)-1].run != n {
		p.runs = append(p.runs, runMark{run: n})
	}
	return &p.runs[len(p.runs)-1]
}

// addTotal notes the device's total: of several the one with the most digits.
func (r *runMark) addTotal(reading *parser.Reading) {
	t, has := reading.Get(parser.Total)
	if has && t.Bytes > 0 && (r.total.Bytes == 0 || t.Resolution < r.total.Resolution) {
		r.total = t
	}
}

// addTotals takes the totals that do not stand at checkpoints: those of out-of-memory messages, and of the harness's samples.
func (j *Judge) addTotals() {
	add := func(run int, lane parser.Lane, reading *parser.Reading) {
		if l := j.byLane[lane]; l != nil {
			for i := range l.peak.runs {
				if l.peak.runs[i].run == run {
					l.peak.runs[i].addTotal(reading)
				}
			}
		}
	}
	for outside, files := range [][]*parser.File{j.tl.Files, j.tl.Outside} {
		for i := range files {
			for k := range files[i].OOMs {
				o := &files[i].OOMs[k]
				add(files[i].Run, o.Lane, &o.Reading)
				j.highWater.add(&o.Reading)
				// It has the level at which it failed, too.
				size, ok := o.Get(parser.Allocated)
				total, hasTotal := o.Get(parser.Total)
				if l := j.byLane[o.Lane]; l != nil && ok && hasTotal && total.Bytes > 0 {
					l.peak.raise(mark{true, size, total, "the failed allocation", o.Pos, fileRef{int32(i), outside == 1}, false})
				}
			}
		}
	}
	for i := range j.tl.Samples {
		s := &j.tl.Samples[i]
		add(s.Run, s.Lane, &s.Reading)
	}
}

// peak compares the high-water mark of a ledger with the device's total: up to 70 % is normal, up to the policy's maximum
// (85 %) a notice, above it critical. The bounds are those at which the transcription pipelines warn.
func (j *Judge) peak(l *ledger) {
	f := Finding{Check: Peak, Subject: j.subject("high-water mark", l.lane), Unit: Ratio, Limit: new(float64(j.policy.Peak.Max))}
	p := &l.peak
	total, level := false, p.of.seen
	for _, r := range p.runs {
		total, level = total || r.total.Bytes > 0, level || r.alone.seen
		if r.alone.seen && r.total.Bytes > 0 {
			r.alone.total = r.total
			p.raise(r.alone)
		}
	}
	if !p.of.seen {
		f.Verdict, f.Limit, f.Unit = Skipped, nil, ""
		f.Message = `the log gives no total of the device; print it once, as in ` +
			`"[GPU Memory] Start: Allocated: 0.00GB | Total: 24.00GB"`
		switch {
		case !level && total:
			f.Message = "the log gives the device's total, and no level that could be compared with it"
		case !level:
			f.Message = "the log gives no level of memory, only parts of it or what is left"
		}
		j.add(f)
		return
	}
	file, mark, of, reserved := j.file(p.of.file), p.of.size, p.of.total, p.reserved
	share := float64(mark.Bytes) / float64(of.Bytes)
	f.Measured, f.At = new(share), new(p.of.pos)
	f.File = file.Index
	found := fmt.Sprintf("%s of %s (%s) at %s, %s", mark, of, percent(share), p.of.name, fileName(file))
	if p.of.told {
		found += " (peak=)"
	}
	if reserved > mark.Bytes {
		found += fmt.Sprintf("; reserved up to %s (%s)", parser.FormatBytes(reserved), percent(float64(reserved)/float64(of.Bytes)))
	}
	maximum := float64(j.policy.Peak.Max)
	switch {
	case p.low > maximum:
		f.Verdict = Fail
		f.Message = "critical: " + found + "; take a smaller batch or model, or a larger card"
	case p.high > maximum:
		f.Verdict = Undecided
		f.Message = found + "; the printed digits do not tell on which side of the limit; log exact bytes to decide it"
	case share > float64(j.policy.Peak.Notice):
		f.Verdict = Pass
		f.Message = "notice: " + found
	default:
		f.Verdict = Pass
		f.Message = found
	}
	j.add(f)
}
