package sample

import (
	"log/slog"
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A Sampler reads what processes hold: of the devices, and of the machine.
type Sampler struct {
	Every time.Duration // between two samples
	// Device returns how much memory the processes with these PIDs use on each device, as
	// [meter.View.Use] does; nil if there is no device.
	Device func(pids []int) ([]meter.Use, error)
	// Shared watches /dev/shm; nil if there is no such folder.
	Shared *meter.Shared
	// Head returns the header of a log line that is written at the time now.
	Head   func(now time.Time) record.Header
	Logger *slog.Logger

	// These limit the time for the ends of files, for checkpoints, for the driver at the ends of
	// files, and for new files in /dev/shm.
	holdings, looks, ends, files budget
}

// A Moment holds what was read of a process at one time. It has samples, or a holding, and with
// the first samples the limits of the process.
type Moment struct {
	Samples []record.Sample
	Limits  *record.Limits
	Holding *record.Holding
}

// Watch samples a process until stop is closed, and takes a holding after each file that it
// receives from ended. It sends what it reads to the channel that it returns. It reads in a
// goroutine of its own, so that a driver that answers late does not delay the caller.
func (s *Sampler) Watch(
	p *supervise.Process, ended <-chan record.FileEnd, stop <-chan struct{},
) <-chan Moment {
	moments := make(chan Moment)
	if s.Shared != nil {
		look := func(by func(pids []int) bool) {
			s.files.spend(func() { // the file may be closed soon
				if !by(p.Members()) {
					by(p.MembersNow())
				}
			})
		}
		if err := s.Shared.Watch(look, stop); err != nil {
			s.Logger.Warn("new files in /dev/shm are not watched", "error", err)
		}
	}
	go func() {
		tick := time.NewTicker(s.Every)
		defer tick.Stop()
		send := func(m Moment) (goOn bool) {
			select {
			case moments <- m:
				return true
			case <-stop:
				return false
			}
		}
		warned, limited := false, false
		sampled := func() Moment {
			now, err := s.look(p)
			if err != nil && !warned {
				s.Logger.Warn("no device samples", "error", err)
				warned = true
			}
			m := Moment{Samples: now}
			if len(now) > 0 && !limited {
				limits := meter.LimitsOf(p.PID())
				limits.Header = now[0].Header
				m.Limits, limited = &limits, true
			}
			return m
		}
		for goOn := send(sampled()); goOn; {
			select {
			case <-tick.C:
				goOn = send(sampled())
			case file := <-ended:
				if h, ok := s.holding(p, file); ok {
					goOn = send(Moment{Holding: &h})
				}
				if s.Device != nil && goOn { // a level of the device between two files
					var m Moment
					if s.ends.spend(func() { m = sampled() }) {
						goOn = send(m)
					}
				}
			case <-stop:
				return
			}
		}
	}()
	return moments
}

// look returns samples taken now for the process and its descendants together: one sample for
// each device that they use, or one sample without a device if they use none. If the process has
// ended, look returns no samples.
func (s *Sampler) look(p *supervise.Process) ([]record.Sample, error) {
	pids := p.Members()
	var rss int64
	for _, pid := range pids {
		bytes, _ := meter.RSS(pid) // 0 if it has ended since
		rss += bytes
	}
	if rss == 0 {
		return nil, nil
	}
	var uses []meter.Use
	var err error
	if s.Device != nil {
		uses, err = s.Device(pids)
	}
	plain := record.Sample{
		Header: s.Head(time.Now()), PID: p.PID(), RSS: rss, Held: meter.Resources(pids),
	}
	var samples []record.Sample
	for _, use := range uses {
		if use.Source == record.SourceProcess && use.Used == 0 {
			continue // the process does not use this device
		}
		s := plain
		if len(samples) > 0 { // the log need not repeat it for each device
			s.Held = record.Resources{}
		}
		s.Lane.Device, s.Source = use.Device, use.Source
		s.Set(record.Used, record.Exact(use.Used))
		s.Set(record.Total, record.Exact(use.Total))
		if use.Source == record.SourceProcess {
			s.DeviceUsed, s.Others = use.DeviceUsed, use.Others
		}
		samples = append(samples, s)
	}
	if len(samples) == 0 {
		samples = append(samples, plain)
	}
	return samples, err
}
