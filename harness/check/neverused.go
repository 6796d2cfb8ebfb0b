package check

import (
	"cmp"
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// segment is how much memory a process may reserve and not use in any case, in bytes. PyTorch cuts
// allocations of 1 to 10 MiB out of segments of 20 MiB (kLargeBuffer in CUDACachingAllocator.cpp),
// so one segment may be mostly empty.
const segment = 20 * record.MiB

// adviceFragmented says what to do about memory that is reserved and not handed out.
const adviceFragmented = "in PyTorch try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or " +
	"empty the cache between files; " + adviceSnapshot

// A reserveMark compares, for each process on a device, the most memory that the allocator reserved
// with the most that it handed out at once. The process never used the difference, not even when
// the allocator reused memory from its cache.
type reserveMark struct {
	limit float64 // 0 if never used reserve is not judged
	now   processReserve
	worst *processReserve // the worst of the earlier processes, or nil
}

// A processReserve holds the largest readings of one process. It does not outlive the process,
// because the allocator's memory ends with the process.
type processReserve struct {
	process int
	seen    bool
	// reserved holds the largest reading of reserved memory; size, name, pos, file and stage belong
	// to its checkpoint.
	reserved bounds
	size     record.Size
	name     string
	pos      record.Position
	file     *timeline.File
	stage    string // the innermost stage or cleanup in which the memory was reserved, or ""
	handed   bounds
	// known is set if a checkpoint at or after the largest reading of reserved memory prints a peak.
	// Without a peak, the allocator may have handed out more between two checkpoints: up to all that
	// it reserved.
	known bool
}

// bounds holds three values of the largest reading: the least that its digits allow, the printed
// value, and the greatest that they allow.
type bounds struct{ low, printed, high int64 }

func (b *bounds) raise(s record.Size) {
	b.low, b.printed, b.high = max(b.low, s.Low()), max(b.printed, s.Bytes), max(b.high, s.High())
}

// add adds the next reading.
func (m *reserveMark) add(f *timeline.File, c *record.Checkpoint) {
	if m.limit == 0 {
		return
	}
	if m.now.process != f.Process {
		m.endProcess()
	}
	p := &m.now
	p.process = f.Process
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
			p.size, p.name, p.pos, p.file, p.known = size, c.Name, c.Pos, f, false
			p.stage = ""
		}
		p.seen = true
		p.reserved.raise(size)
	}
	if c.Has(record.Peak) {
		p.known = true
	}
}

// endFile names the stage of the largest reading, if that reading is in the file.
func (m *reserveMark) endFile(j *Judge, f *timeline.File, id record.Lane) {
	if p := &m.now; p.file == f && f != nil {
		p.stage = j.placeBefore(f, id, p.pos.Line).stage
	}
}

func (m *reserveMark) endProcess() {
	if worse := m.worse(); worse == &m.now {
		ended := m.now
		m.worst = &ended
	}
	m.now = processReserve{}
}

// worse returns the process with the worse verdict: the current one or the worst of the earlier
// ones.
func (m *reserveMark) worse() *processReserve {
	now, before := &m.now, m.worst
	switch {
	case !now.seen || now.handed.printed == 0:
		return cmp.Or(before, &processReserve{})
	case before == nil:
		return now
	}
	rank := map[Verdict]int{Pass: 0, Undecided: 1, Fail: 2}
	if cmp.Or(rank[now.verdict(m.limit)]-rank[before.verdict(m.limit)],
		cmp.Compare(now.unused(), before.unused())) > 0 {
		return now
	}
	return before
}

// unused returns the part of the reserved memory that was never handed out, computed from the
// printed values.
func (p *processReserve) unused() float64 {
	return max(0, 1-float64(p.handed.printed)/float64(max(1, p.reserved.printed)))
}

// verdict returns the verdict that holds for every value that the printed digits allow. Without a
// known peak the process does not fail, because it may have used the reserved memory between two
// checkpoints.
func (p *processReserve) verdict(limit float64) Verdict {
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

// neverUsed judges how much of the largest reserved memory on a device was never handed out.
func (j *Judge) neverUsed(l *lane) {
	m := &l.reserve
	if m.limit == 0 {
		return
	}
	f := Finding{Check: Fragmentation, Subject: j.subject(NeverUsed, l.id)}
	p := m.worse()
	if !p.seen {
		f.Verdict = Skipped
		f.Message = "no process has readings of both allocated and reserved"
		j.add(f)
		return
	}
	f.Verdict, f.Measured, f.Limit, f.Unit = p.verdict(m.limit), new(p.unused()), new(m.limit), Ratio
	f.in(p.file)
	f.At = new(p.pos)
	reserved := fmt.Sprintf("reserved up to %s at %s, %s", p.size, p.name, fileName(p.file))
	if f.Verdict != Pass && p.stage != "" {
		f.Stage = p.stage
		reserved += ", in " + p.stage
	}
	handed := record.FormatBytes(p.handed.printed)
	switch {
	case f.Verdict == Fail:
		f.Message = fmt.Sprintf("%s of it was never in use: %s, but at most %s was handed out at "+
			"once; %s", percent(p.unused()), reserved, handed, adviceFragmented)
	case f.Verdict == Undecided && !p.known:
		f.Message = fmt.Sprintf("%s, but the checkpoints show at most %s handed out at once; "+
			"print peak= (torch.cuda.max_memory_allocated) to show what happened between them",
			reserved, handed)
	case f.Verdict == Undecided:
		f.Message = fmt.Sprintf("%s, and up to %s handed out at once; the printed digits do not "+
			"show whether it is over the limit; log exact bytes to decide it", reserved, handed)
	case p.unused() > m.limit: // it passes because it is at most one segment
		f.Measured, f.Limit = new(float64(p.reserved.printed-p.handed.printed)), new(float64(segment))
		f.Unit = Bytes
		f.Message = fmt.Sprintf("%s, and up to %s handed out at once: the difference is at most "+
			"one segment of the allocator", reserved, handed)
	default:
		f.Message = fmt.Sprintf("%s, and up to %s handed out at once", reserved, handed)
	}
	j.add(f)
}
