package check

import (
	"cmp"
	"fmt"

	"vramsoak/parser/record"
)

// segment is how much may be reserved and not handed out for want of a smaller piece: PyTorch takes allocations of 1 to 10
// MiB out of segments of 20 MiB (kLargeBuffer in its CUDACachingAllocator.cpp).
const segment = 20 * record.MiB

// A shareMark is what a ledger's processes reserved at most, against the most that each handed out at once. That part of the
// reserve was of no use at any time, whatever a cache would have made of it.
type shareMark struct {
	limit float64 // 0 where it is not judged
	now   processShare
	worst *processShare // of those before; nil for none
}

// A processShare is of one process: the allocator's memory ends with it.
type processShare struct {
	process int
	seen    bool
	// reserved is the largest reading, and where it stands.
	reserved bounds
	at       mark
	handed   bounds
	// known says that a reading of the peak stands at the largest reserve, or after it. Without one, more may have been handed
	// out between two checkpoints, up to all that was reserved.
	known bool
}

// bounds are the largest of readings, for every value that their digits allow.
type bounds struct{ low, printed, high int64 }

func (b *bounds) raise(s record.Size) {
	b.low, b.printed, b.high = max(b.low, s.Low()), max(b.printed, s.Bytes), max(b.high, s.High())
}

// add takes the next reading.
func (m *shareMark) add(process int, file fileRef, c *record.Checkpoint) {
	if m.limit == 0 {
		return
	}
	if m.now.process != process {
		m.end()
	}
	p := &m.now
	p.process = process
	for _, q := range [...]record.Quantity{record.Allocated, record.Active, record.Peak} {
		if size, ok := c.Get(q); ok {
			p.handed.raise(size)
		}
	}
	for _, q := range [...]record.Quantity{record.Reserved, record.PeakReserved} {
		size, ok := c.Get(q)
		if !ok {
			continue
		}
		if !p.seen || size.Bytes > p.reserved.printed {
			p.at, p.known = mark{seen: true, size: size, name: c.Name, pos: c.Pos, file: file}, false
		}
		p.seen = true
		p.reserved.raise(size)
	}
	if c.Has(record.Peak) {
		p.known = true
	}
}

// end ends the process of now.
func (m *shareMark) end() {
	if worse := m.worse(); worse == &m.now {
		ended := m.now
		m.worst = &ended
	}
	m.now = processShare{}
}

// worse is the process of now, or the worst one before.
func (m *shareMark) worse() *processShare {
	now, before := &m.now, m.worst
	switch {
	case !now.seen || now.handed.printed == 0:
		return cmp.Or(before, &processShare{})
	case before == nil:
		return now
	}
	rank := map[Verdict]int{Pass: 0, Undecided: 1, Fail: 2}
	if cmp.Or(rank[now.verdict(m.limit)]-rank[before.verdict(m.limit)], cmp.Compare(now.share(), before.share())) > 0 {
		return now
	}
	return before
}

// share is of the readings as they are printed.
func (p *processShare) share() float64 {
	return max(0, 1-float64(p.handed.printed)/float64(max(1, p.reserved.printed)))
}

// verdict holds for every value that the digits allow, and without a peak for all that may have been handed out between the
// checkpoints.
func (p *processShare) verdict(limit float64) Verdict {
	most := 1 - float64(p.handed.low)/float64(max(1, p.reserved.high))
	least := 1 - float64(p.handed.high)/float64(max(1, p.reserved.low))
	switch {
	case most <= limit || p.reserved.high-p.handed.low <= segment:
		return Pass
	case p.known && least > limit && p.reserved.low-p.handed.high > segment:
		return Fail
	}
	return Undecided
}

// share judges how much of a ledger's largest reserve was never handed out.
func (j *Judge) share(l *ledger) {
	m := &l.share
	if m.limit == 0 {
		return
	}
	f := Finding{Check: Fragmentation, Subject: j.subject(PeakShare, l.lane)}
	p := m.worse()
	if !p.seen {
		f.Verdict = Skipped
		f.Message = "no process has readings of both allocated and reserved"
		j.add(f)
		return
	}
	file := j.file(p.at.file)
	f.Verdict, f.Measured, f.Limit, f.Unit = p.verdict(m.limit), new(p.share()), new(m.limit), Ratio
	f.File, f.At = file.Index, new(p.at.pos)
	reserved := fmt.Sprintf("reserved up to %s at %s, %s", p.at.size, p.at.name, fileName(file))
	handed := record.FormatBytes(p.handed.printed)
	switch {
	case f.Verdict == Fail:
		f.Message = fmt.Sprintf("%s of it was never in use: %s, where no more than %s was handed out at once; in PyTorch try "+
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or empty the cache between files", percent(p.share()), reserved, handed)
	case f.Verdict == Undecided && !p.known:
		f.Message = fmt.Sprintf("%s, where the checkpoints saw no more than %s handed out at once; print peak= "+
			"(torch.cuda.max_memory_allocated) to tell what was between them", reserved, handed)
	case f.Verdict == Undecided:
		f.Message = fmt.Sprintf("%s, where up to %s was handed out at once; the printed digits do not tell on which side of the limit; "+
			"log exact bytes to decide it", reserved, handed)
	case p.share() > m.limit: // it passes by its bytes, not by its share
		f.Measured, f.Limit, f.Unit = new(float64(p.reserved.printed-p.handed.printed)), new(float64(segment)), Bytes
		f.Message = fmt.Sprintf("%s, and up to %s handed out at once: the difference is no more than one segment of the allocator",
			reserved, handed)
	default:
		f.Message = fmt.Sprintf("%s, and up to %s handed out at once", reserved, handed)
	}
	j.add(f)
}
