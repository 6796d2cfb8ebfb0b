// Package export turns logs into events for tools that show things over time. It has no format of
// its own: packages perfetto and openmetrics write the events.
//
//	w := perfetto.NewWriter(file)
//	x := export.New(w.Add)
//	b := &parser.Builder{}
//	b.Done = x.Add // one file after the other, so that their checkpoints need not be kept
//	...
//	err := errors.Join(x.Finish(b.Timeline()), w.Close())
package export

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/metrics"
)

// An Event is one thing that a log says about a moment.
type Event struct {
	Kind Kind
	// Nanos is the time in nanoseconds, as Clock counts it. The times of an event and of the next one
	// in the same log may go back, because clocks do.
	Nanos int64
	Clock Clock
	Log   string // name of the log
	// Writer is the process that worked on a file, if several print into one log.
	Writer string
	Lane   record.Lane // of a level and of a stage

	// Metric, Ledger, Source and Value are those of a level. Ledger is "" for a resource of the
	// machine, which belongs to no lane.
	Metric *metrics.Metric
	Ledger string
	Source string
	Value  int64

	Name   string        // of everything but a level
	Status record.Status // of an EndFile
	// Seconds is the wall time of an EndFile, or 0 if it is not known.
	Seconds float64
	Args    []Arg // of everything but a level
}

// A Kind says what an event is.
type Kind int

// The kinds of events. The stages of one lane are nested: the one that began last ends first. The
// files of one log and one writer do not overlap.
const (
	Level Kind = iota
	BeginStage
	EndStage
	BeginFile
	EndFile
	Note    // something that happened at a moment
	Failure // a note of a failed allocation
	Restart // a note that a process takes the place of one that crashed
)

// An Arg is a further fact about an event. Value is a string, an int64 or a float64.
type Arg struct {
	Key   string
	Value any
}

// An Exporter makes events from a log, while the log is read.
type Exporter struct {
	clocks clocks
	begins map[int]string // names of stages in the current file, by their first checkpoint
	ends   map[int]string // by their last checkpoint
}

// New returns an exporter that calls emit with each event.
func New(emit func(Event)) *Exporter {
	return &Exporter{
		clocks: clocks{emit: emit, logs: map[string]*logClock{}},
		begins: map[int]string{}, ends: map[int]string{},
	}
}

// Clock returns the clock of the events so far.
func (x *Exporter) Clock() Clock { return x.clocks.kind }

// Add takes the next file, or the next part of a log between files, when it has ended. It is meant
// for [timeline.Builder.Done].
func (x *Exporter) Add(f *timeline.File) {
	clear(x.begins)
	clear(x.ends)
	for _, s := range f.Stages {
		x.begins[s.Before], x.ends[s.After] = s.Name, s.Name
	}
	for _, c := range f.Cleanups {
		x.begins[c.Before], x.ends[c.After] = c.Name, c.Name
	}
	for i := range f.Checkpoints {
		x.checkpoint(f, i)
	}
	for i := range f.OOMs {
		x.outOfMemory(f, &f.OOMs[i])
	}
	if !f.Outside {
		x.leftBehind(f)
	}
}

// checkpoint emits the levels at a checkpoint, and the stages that end and begin there.
func (x *Exporter) checkpoint(f *timeline.File, i int) {
	c := &f.Checkpoints[i]
	at := moment{c.Pos, c.Time}
	if name, ok := x.ends[i]; ok {
		x.clocks.add(at, Event{Kind: EndStage, Lane: c.Lane, Name: name})
	}
	x.levels(at, c, &metrics.Memory, metrics.Checkpoint, false)
	if f.Outside {
		x.deviceSize(at, c)
	}
	if name, ok := x.begins[i]; ok {
		x.clocks.add(at, Event{
			Kind: BeginStage, Lane: c.Lane, Name: name, Args: []Arg{{"file", f.Name()}},
		})
	}
}

// deviceSize emits the size of the device, if a checkpoint gives it.
func (x *Exporter) deviceSize(at moment, c *record.Checkpoint) {
	if total := c.Bytes(record.Total); total > 0 {
		x.clocks.add(at, Event{
			Kind: Level, Metric: &metrics.DeviceSize, Lane: c.Lane, Value: total,
		})
	}
}

// levels emits the level of each ledger that a checkpoint gives. If kept is set, it emits only the
// levels of ledgers by which files are judged.
func (x *Exporter) levels(at moment, c *record.Checkpoint, m *metrics.Metric, source string,
	kept bool,
) {
	for i := range metrics.Ledgers {
		l := &metrics.Ledgers[i]
		if kept && !l.Kept {
			continue
		}
		if bytes, ok := l.Of(c); ok {
			x.clocks.add(at, Event{
				Kind: Level, Metric: m, Lane: c.Lane, Ledger: l.Key, Source: source, Value: bytes,
			})
		}
	}
}

// leftBehind emits what a file leaves behind: the levels at the last checkpoint of each lane. A
// file that did not end well shows nothing of that, because its last checkpoint may be any. It also
// emits the sizes of the devices, so that tools which forget old values get them with each file.
func (x *Exporter) leftBehind(f *timeline.File) {
	last := map[record.Lane]*record.Checkpoint{}
	var lanes []record.Lane
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if c.Sampled {
			continue
		}
		if last[c.Lane] == nil {
			lanes = append(lanes, c.Lane)
		}
		last[c.Lane] = c
	}
	well := f.Status == record.StatusOK || f.Status == record.StatusUnknown
	for _, lane := range lanes {
		c := last[lane]
		at := moment{c.Pos, c.Time}
		x.deviceSize(at, c)
		if well {
			x.levels(at, c, &metrics.FileEnd, "", true)
		}
	}
}

func (x *Exporter) outOfMemory(f *timeline.File, o *record.OutOfMemory) {
	args := []Arg{{"message", o.Text}, {"file", f.Name()}, {"device", int64(o.Lane.Device)}}
	if o.HasRequested {
		args = append(args, Arg{"requested bytes", o.Requested.Bytes})
	}
	x.clocks.add(moment{o.Pos, o.Time},
		Event{Kind: Failure, Lane: o.Lane, Name: "out of memory", Args: args})
}
