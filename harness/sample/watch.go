package sample

import (
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

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
	w := &watch{
		sampler: s, process: p, moments: make(chan Moment), stop: stop, last: map[int]record.Sample{},
	}
	if s.Shared != nil {
		if err := s.Shared.Watch(w.newFile, stop); err != nil {
			s.Logger.Warn("new files in /dev/shm are not watched", "error", err)
		}
	}
	go w.run(ended)
	return w.moments
}

// A watch samples one process.
type watch struct {
	sampler *Sampler
	process *supervise.Process
	moments chan Moment
	stop    <-chan struct{}
	warned  bool                  // that a device gives no samples
	limited bool                  // the limits were sent
	last    map[int]record.Sample // of each device
}

// run samples the process at each tick and after each file that ends.
func (w *watch) run(ended <-chan record.FileEnd) {
	tick := time.NewTicker(w.sampler.Every)
	defer tick.Stop()
	for goOn := w.send(w.sampled()); goOn; {
		select {
		case <-tick.C:
			goOn = w.send(w.sampled())
		case file := <-ended:
			goOn = w.afterFile(file)
		case <-w.stop:
			return
		}
	}
}

// afterFile sends a holding and, if there is a device, a sample: its level between two files.
func (w *watch) afterFile(file record.FileEnd) (goOn bool) {
	if h, ok := w.sampler.holding(w.process, file); ok && !w.send(Moment{Holding: &h}) {
		return false
	}
	if w.sampler.Device == nil {
		return true
	}
	var m Moment
	if !w.sampler.ends.after(w.sampler.Files, func() { m = w.sampled() }) {
		return true
	}
	return w.send(m)
}

// send sends a moment. It reports false if the watch has been stopped instead.
func (w *watch) send(m Moment) (goOn bool) {
	select {
	case w.moments <- m:
		return true
	case <-w.stop:
		return false
	}
}

// sampled returns a moment with samples taken now, and with the limits of the process if it is the
// first one.
func (w *watch) sampled() Moment {
	samples, err := w.sampler.look(w.process)
	if err != nil && !w.warned {
		w.sampler.Logger.Warn("no device samples", "error", err)
		w.warned = true
	}
	w.notePool(samples, func() string { return meter.Pool(w.process.Members()) })
	m := Moment{Samples: samples}
	if len(samples) > 0 && !w.limited {
		limits := meter.LimitsOf(w.process.PID())
		limits.Header = samples[0].Header
		m.Limits, w.limited = &limits, true
	}
	return m
}

// atOnce is the smallest share of a device's memory that counts as taken at once. JAX takes 75 % by
// default, TensorFlow nearly all. A program that loads a model usually takes less between two
// samples.
const atOnce = 0.25

// notePool sets Pool in the samples of devices whose use rose by at least atOnce since the sample
// before. The function pool returns the name of the library that the process has loaded and that
// takes memory in this way, or "".
func (w *watch) notePool(samples []record.Sample, pool func() string) {
	for i := range samples {
		s := &samples[i]
		used, ok := s.Get(record.Used)
		if !ok {
			continue
		}
		last, known := w.last[s.Lane.Device]
		w.last[s.Lane.Device] = *s
		before := last.Bytes(record.Used)
		switch {
		case s.Source == record.SourceProcess && last.Source != record.SourceProcess:
			before = 0 // the driver did not list the process, which held nothing
		case !known || s.Source != last.Source:
			continue // the sample is of all processes, and the one before is not
		}
		if float64(used.Bytes-before) >= atOnce*float64(s.Bytes(record.Total)) {
			s.Pool = pool()
		}
	}
}

// newFile looks for the process that has a new file in /dev/shm open. It looks at the known
// processes first, because the file may soon be closed.
func (w *watch) newFile(by func(pids []int) bool) {
	w.sampler.files.spend(func() {
		if !by(w.process.Members()) {
			by(w.process.MembersNow())
		}
	})
}
