package harness

import (
	"time"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// sample looks at a process every now and then until stop is closed. It does so beside the pump, because a driver may
// take its time to answer, above all when something is wrong with the device.
func (r *run) sample(p *process, stop <-chan struct{}) <-chan []parser.Sample {
	samples := make(chan []parser.Sample)
	go func() {
		tick := time.NewTicker(r.cfg.SampleEvery)
		defer tick.Stop()
		silent := false // the device's error has been told
		for {
			s, err := r.look(p.pid, p.family)
			if err != nil && !silent {
				r.cfg.Logger.Warn("no device samples", "error", err)
				silent = true
			}
			select {
			case samples <- s:
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

// look takes the samples of one moment, of the process and its family together: one for each device that they use,
// or one without a device. There is none of a process that has ended.
func (r *run) look(pid int, f *family) ([]parser.Sample, error) {
	pids := f.members(pid)
	var rss int64
	for _, p := range pids {
		pages, _ := meter.RSS(p) // 0 where it has ended since
		rss += pages
	}
	if rss == 0 {
		return nil, nil
	}
	var uses []meter.Use
	var err error
	if r.cfg.Device != nil {
		uses, err = r.cfg.Device(pids)
	}
	plain := parser.Sample{Header: r.log.head(time.Now()), PID: pid, RSS: rss}
	var samples []parser.Sample
	for _, use := range uses {
		if use.Source == parser.SourceProcess && use.Used == 0 {
			continue // a device that the process has nothing to do with
		}
		s := plain
		s.Lane.Device, s.Source = use.Device, use.Source
		s.Set(parser.Used, parser.Exact(use.Used))
		s.Set(parser.Total, parser.Exact(use.Total))
		if use.Source == parser.SourceProcess {
			s.DeviceUsed, s.Others = use.DeviceUsed, use.Others
		}
		samples = append(samples, s)
	}
	if len(samples) == 0 {
		samples = append(samples, plain)
	}
	return samples, err
}
