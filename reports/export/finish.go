package export

import (
	"cmp"
	"fmt"
	"path"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/metrics"
)

// Finish takes what a timeline has beside its checkpoints, when all logs are read: files, samples,
// and the ends of processes. It returns an error if the logs cannot share a time axis.
func (x *Exporter) Finish(tl *timeline.Timeline) error {
	for _, list := range []func(*timeline.Timeline){
		x.files, x.held, x.samples, x.idles, x.runs, x.processes, x.warnings,
	} {
		x.clocks.rewind()
		list(tl)
	}
	x.clocks.settle()
	return x.clocks.err
}

// files emits the files, and a note for each that did not end well.
func (x *Exporter) files(tl *timeline.Timeline) {
	for _, f := range tl.Files {
		args := []Arg{{"path", f.Path}}
		if f.Index > 0 {
			args = append(args, Arg{"index", int64(f.Index)})
		}
		if f.AudioSeconds > 0 {
			args = append(args, Arg{"audio seconds", f.AudioSeconds})
		}
		name := f.Name()
		if f.Path != "" {
			name = path.Base(f.Path)
		}
		x.clocks.add(moment{f.Pos, f.Start},
			Event{Kind: BeginFile, Writer: f.Writer, Name: name, Args: args})
		args = []Arg{{"status", cmp.Or(string(f.Status), "unknown")}}
		if f.Error != "" {
			args = append(args, Arg{"error", f.Error})
		}
		end := moment{f.EndPos, f.End}
		x.clocks.add(end, Event{
			Kind: EndFile, Writer: f.Writer, Name: name, Status: f.Status, Seconds: f.Seconds,
			Args: args,
		})
		if f.Status != record.StatusOK && f.Status != record.StatusUnknown {
			args = append(args, Arg{"file", f.Name()})
			x.clocks.add(end, Event{
				Kind: Note, Name: "file ended: " + string(f.Status), Args: args,
			})
		}
	}
}

// held emits what the processes held of the machine when a file had ended.
func (x *Exporter) held(tl *timeline.Timeline) {
	for _, f := range tl.Files {
		if f.Held != nil && f.Held.AtEnd != nil {
			h := f.Held.AtEnd
			x.resources(moment{h.Pos, h.Time}, &h.Resources, metrics.AtFileEnd)
		}
	}
}

func (x *Exporter) resources(at moment, r *record.Resources, source string) {
	for kind, amount := range r.All() {
		x.clocks.add(at, Event{
			Kind: Level, Metric: metrics.Resources[kind], Source: source, Value: amount,
		})
	}
}

func (x *Exporter) samples(tl *timeline.Timeline) {
	for i := range tl.Samples {
		s := &tl.Samples[i]
		at := moment{s.Pos, s.Time}
		for ledger, bytes := range metrics.OfSample(s) {
			x.clocks.add(at, Event{
				Kind: Level, Metric: &metrics.Memory, Lane: s.Lane, Ledger: ledger,
				Source: metrics.Sample, Value: bytes,
			})
		}
		x.resources(at, &s.Held, metrics.Sample)
	}
}

// idles emits the memory in use on the devices before the first process of a run and after its
// last.
func (x *Exporter) idles(tl *timeline.Timeline) {
	for i := range tl.Idles {
		r := &tl.Idles[i]
		x.clocks.add(moment{r.Pos, r.Time}, Event{
			Kind: Note, Lane: r.Lane,
			Name: fmt.Sprintf("device %d, %s the run: %s used", r.Lane.Device, r.Phase,
				record.FormatBytes(r.Bytes(record.Used))),
			Args: []Arg{{"used bytes", r.Bytes(record.Used)}},
		})
	}
}

func (x *Exporter) runs(tl *timeline.Timeline) {
	for i := range tl.Runs {
		r := &tl.Runs[i]
		if r.Start.Pos.Line > 0 {
			x.clocks.add(moment{r.Start.Pos, r.Start.Time}, Event{
				Kind: Note, Name: "the run begins", Args: []Arg{{"command", r.Start.Command}},
			})
		}
		for _, again := range r.Resumes {
			x.clocks.add(moment{again.Pos, again.Time}, Event{
				Kind: Note, Name: "the run is resumed", Args: []Arg{{"before", again.Reason}},
			})
		}
		if r.End != nil {
			x.clocks.add(moment{r.End.Pos, r.End.Time}, Event{
				Kind: Note, Name: "the run ends: " + r.End.Reason, Args: said(r.End.Error),
			})
		}
	}
}

// said returns an error message as the arguments of an event.
func said(message string) []Arg {
	if message == "" {
		return nil
	}
	return []Arg{{"error", message}}
}

// processes emits the ends of processes that did not end well, and the processes that were left
// behind.
func (x *Exporter) processes(tl *timeline.Timeline) {
	for i := range tl.Exits {
		e := &tl.Exits[i]
		at := moment{e.Pos, e.Time}
		name := fmt.Sprintf("process exited with code %d", e.Code)
		if e.Signal != "" {
			name = "process ended by " + e.Signal
		}
		if e.Reason != record.ExitByItself {
			name += " (" + string(e.Reason) + ")"
		}
		if e.Code != 0 || e.Signal != "" || e.Reason != record.ExitByItself {
			x.clocks.add(at, Event{Kind: Note, Name: name, Args: said(e.Error)})
		}
		if e.Restarts > 0 {
			x.clocks.add(at, Event{Kind: Restart, Name: fmt.Sprintf("restart %d", e.Restarts)})
		}
	}
	for i := range tl.Orphans {
		o := &tl.Orphans[i]
		x.clocks.add(moment{o.Pos, o.Time}, Event{
			Kind: Note, Name: "process left behind",
			Args: []Arg{{"command", o.Command}, {"pid", int64(o.PID)}},
		})
	}
}

func (x *Exporter) warnings(tl *timeline.Timeline) {
	for i := range tl.Crashes {
		c := &tl.Crashes[i].First
		x.clocks.add(moment{c.Pos, c.Time}, Event{
			Kind: Note, Lane: c.Lane, Name: "crash", Args: []Arg{{"message", c.Text}},
		})
	}
	for i := range tl.Warnings {
		w := &tl.Warnings[i]
		x.clocks.add(moment{w.Pos, w.Time}, Event{
			Kind: Note, Name: "warning", Args: []Arg{{"message", w.Text}},
		})
	}
}
