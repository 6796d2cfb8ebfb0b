package simulator

import "vramsoak/pipeline/allocator/trace"

// notePeak returns the highest memory since its last call, and starts a new search. It raises the
// highest memory of the stage and of the run to this level.
func (p *process) notePeak() Level {
	s := p.alloc.Stats()
	peak := Level{Allocated: s.Allocated.Peak, Reserved: s.Reserved.Peak}
	// While the process runs, only the allocator's reserved memory changes on the card.
	peak.Used = p.device.Total() - p.device.Free() - s.Reserved.Current + peak.Reserved
	p.forgetPeak()
	p.high.raise(peak)
	p.outcome.Peak.raise(peak)
	return peak
}

// forgetPeak starts a new search for the highest memory.
func (p *process) forgetPeak() {
	p.alloc.ResetPeak()
	p.call(trace.Op{Kind: trace.ResetPeak})
}

func (l *Level) raise(to Level) {
	l.Allocated, l.Reserved, l.Used = max(l.Allocated, to.Allocated), max(l.Reserved, to.Reserved),
		max(l.Used, to.Used)
}

// beginPeak starts the search for the highest memory of a stage.
func (p *process) beginPeak() {
	p.high = Level{}
	p.ledger.begin()
}

// endPeak records the highest memory of a stage, with the first file in which the stage reached it.
func (p *process) endPeak(st *stage, file int) {
	peak := &p.outcome.Stages[st.index]
	if !peak.Reached || p.high.Allocated > peak.Allocated {
		peak.Reached = true
		peak.File, peak.Allocated = file, p.high.Allocated
		level := p.level()
		peak.Parts = p.onCard(p.ledger.highest(), level.Reserved, p.high.Allocated)
	}
	peak.Reserved, peak.Used = max(peak.Reserved, p.high.Reserved), max(peak.Used, p.high.Used)
}
