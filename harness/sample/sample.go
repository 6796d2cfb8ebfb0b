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
	Files int           // number of files that will be fed, or 0 if it is not known
	// Device returns how much memory the processes with these PIDs use on each device, as
	// [meter.View.Use] does; nil if there is no device.
	Device func(pids []int) ([]meter.Use, error)
	// Shared watches /dev/shm; nil if there is no such folder.
	Shared *meter.Shared
	// Head returns the header of a log line that is written at the time now.
	Head   func(now time.Time) record.Header
	Logger *slog.Logger

	// These limit the time for the ends of files, for the driver at the ends of files, for
	// checkpoints, and for new files in /dev/shm.
	holdings, ends spread
	looks, files   budget
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
