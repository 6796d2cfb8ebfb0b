package sample

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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
	h = record.Holding{Header: s.Head(time.Now()), PID: p.PID(), Index: file.Index, Path: file.Path}
	if h.Time.Sub(file.Time) > lateHolding {
		return h, false
	}
	s.holdings.spend(func() {
		pids := p.MembersNow()
		h.Resources, h.MostFiles = meter.Holding(pids)
		if _, ok = h.Get(record.Processes); !ok {
			return
		}
		if s.Shared != nil {
			h.Set(record.SharedMemory, s.Shared.Held(pids))
		}
		h.Available, h.SharedFree = meter.Available(p.PID()), meter.SharedFree()
	})
	return h, ok
}

// AtCheckpoint returns what the process and its descendants hold, right after it has printed a
// checkpoint. ok is false if the process has ended, or if the budget for such readings is used up.
func (s *Sampler) AtCheckpoint(p *supervise.Process) (h record.Holding, ok bool) {
	h = record.Holding{Header: s.Head(time.Now()), PID: p.PID()}
	s.looks.spend(func() {
		h.Resources = meter.Resources(p.MembersNow())
		_, ok = h.Get(record.Processes)
	})
	return h, ok
}

// A budget limits the processor time of a task to a share of the time that passes.
type budget struct {
	mu    sync.Mutex
	first time.Time
	spent time.Duration
}

const (
	// budgetShare is the part of a core that the task may take in the long run.
	budgetShare = 0.003
	// budgetFirst is the time that it may take at once, so that a short run is read at all its files:
	// 60 files of a pipeline with 12 processes need about 0.8 s.
	budgetFirst = time.Second
)

// spend does the task, unless the budget is used up, and reports whether it did.
func (b *budget) spend(task func()) (done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.first.IsZero() {
		b.first = now
	}
	if float64(b.spent) >= float64(budgetFirst)+budgetShare*float64(now.Sub(b.first)) {
		return false
	}
	runtime.LockOSThread() // the processor time is that of a thread
	defer runtime.UnlockOSThread()
	began := threadTime()
	task()
	b.spent += threadTime() - began
	return true
}

// threadTime returns the processor time that this thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
