package sample

import (
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// lateHolding is how long after the end of a file a holding may be taken. Later, the process holds
// what the next file needs.
const lateHolding = 100 * time.Millisecond

// holding returns what the process and its descendants hold, right after a file has ended. ok is
// false if the process has ended too, if it is too late, or if the budget for holdings leaves this
// file out.
func (s *Sampler) holding(p *supervise.Process, file record.FileEnd) (h record.Holding, ok bool) {
	h = record.Holding{Header: s.Head(time.Now()), PID: p.PID(), Index: file.Index, Path: file.Path}
	if h.Time.Sub(file.Time) > lateHolding {
		s.holdings.skip()
		return h, false
	}
	s.holdings.after(s.Files, func() {
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
