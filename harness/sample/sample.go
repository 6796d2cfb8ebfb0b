package sample

import (
	"log/slog"
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A Sampler samples the memory of processes.
type Sampler struct {
	Every time.Duration // between two samples
	// Device returns how much memory the processes with these PIDs use on each device, as
	// [meter.View.Use] does; nil if there is no device.
	Device func(pids []int) ([]meter.Use, error)
	// Head returns the header of a log line that is written at the time now.
	Head   func(now time.Time) record.Header
	Logger *slog.Logger
}

// Watch samples a process until stop is closed. It sends the samples of each moment to the channel
// that it returns. It samples in a goroutine of its own, so that a driver that answers late does
// not delay the caller.
func (s *Sampler) Watch(p *supervise.Process, stop <-chan struct{}) <-chan []record.Sample {
	samples := make(chan []record.Sample)
	go func() {
		tick := time.NewTicker(s.Every)
		defer tick.Stop()
		warned := false
		for {
			now, err := s.look(p)
			if err != nil && !warned {
				s.Logger.Warn("no device samples", "error", err)
				warned = true
			}
			select {
			case samples <- now:
			case <-stop:
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return samples
}

// look returns samples taken now for the process and its descendants together: one sample for each
// device that they use, or one sample without a device if they use none. If the process has ended,
// look returns no samples.
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
	plain := record.Sample{Header: s.Head(time.Now()), PID: p.PID(), RSS: rss}
	var samples []record.Sample
	for _, use := range uses {
		if use.Source == record.SourceProcess && use.Used == 0 {
			continue // the process does not use this device
		}
		s := plain
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
