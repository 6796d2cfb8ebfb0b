package sample

import (
	"sync"
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// lateHolding is how long after the end of a file a holding may be taken. Later, the process holds
// what the next file needs.
const lateHolding = 100 * time.Millisecond

// holding returns what the process and its descendants hold, right after a file has ended. ok is
// false if the process has ended too, if it is too late, or if the budget for holdings is used up.
func (s *Sampler) holding(p *supervise.Process, file record.FileEnd) (h record.Holding, ok bool) {
	began := time.Now()
	h = record.Holding{Header: s.Head(began), PID: p.PID(), Index: file.Index, Path: file.Path}
	if h.Time.Sub(file.Time) > lateHolding || !s.holdings.allows(began) {
		return h, false
	}
	pids := p.Members()
	h.Resources, h.MostFiles = meter.Holding(pids)
	if _, alive := h.Get(record.Processes); alive {
		if s.Shared != nil {
			h.Set(record.SharedMemory, s.Shared.Held(pids))
		}
		h.Available, h.SharedFree = meter.Available(), meter.SharedFree()
		ok = true
	}
	s.holdings.spend(began, time.Since(began))
	return h, ok
}

// A budget limits the time that a task takes, to a share of the time that passes.
type budget struct {
	mu    sync.Mutex
	first time.Time
	spent time.Duration
}

const (
	// budgetShare is the part of a core that the task may take in the long run.
	budgetShare = 0.005
	// budgetFirst is the time that it may take at once, so that a short run is not cut.
	budgetFirst = 250 * time.Millisecond
)

// allows reports whether the task may run now.
func (b *budget) allows(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	passed := budgetShare * float64(now.Sub(b.first))
	return b.first.IsZero() || float64(b.spent) < float64(budgetFirst)+passed
}

// spend notes that the task began at a time and took so long.
func (b *budget) spend(began time.Time, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first.IsZero() {
		b.first = began
	}
	b.spent += took
}
