package records

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A flat is a record with its parts in columns that fit every kind of record.
type flat struct {
	record.Record
	kind    string
	name    string         // a checkpoint's name, a file's path, a message
	sampled bool           // set only for checkpoints
	reading record.Reading // empty for most events
	more    []field        // fields without a column of their own
	deep    []field        // nested values, which only JSON can show
}

type field struct {
	key   string
	value any
}

func flatten(rec record.Record) flat {
	r := flat{Record: rec}
	lane := func(l record.Lane) {
		r.more = append(r.more, field{"device", l.Device}, field{"rank", l.Rank})
	}
	device := func(l record.Lane) { // of the harness, which knows no ranks
		r.more = append(r.more, field{"device", l.Device})
	}
	add := func(key string, value any) { r.more = append(r.more, field{key, value}) }
	if w := rec.Head().Writer; w != "" {
		add("writer", w)
	}
	switch v := rec.(type) {
	case record.Checkpoint:
		r.kind, r.name, r.reading, r.sampled = "checkpoint", v.Name, v.Reading, v.Sampled
		lane(v.Lane)
		if v.Stream != "" {
			add("stream", v.Stream)
		}
	case record.Change:
		r.kind, r.name, r.reading = "change", v.Name, v.Reading
		lane(v.Lane)
		if v.PercentStep > 0 {
			add("percent", v.Percent)
		}
	case record.Event:
		r.kind, r.name = "event", v.Text
		add("event", string(v.Kind))
		lane(v.Lane)
		addFigures(add, &v)
	case record.Warning:
		r.kind, r.name = "warning", v.Text
		add("level", v.Level)
		add("percent", v.Percent)
	case record.OutOfMemory:
		r.kind, r.name, r.reading = "out-of-memory", v.Text, v.Reading
		lane(v.Lane)
		if v.HasRequested {
			add("requested", v.Requested.Bytes)
		}
		if v.Allowed.Bytes > 0 {
			add("allowed", v.Allowed.Bytes)
		}
		addKnown(add, "stage", v.Stage)
		addKnown(add, "batch", v.Batch)
	case record.Crash:
		r.kind, r.name = "crash", v.Text
		lane(v.Lane)
		if v.Traceback > 0 {
			add("traceback", v.Traceback)
		}
	case record.FileStart:
		r.kind, r.name = "file-start", v.Path
		add("index", v.Index)
		add("audio_seconds", v.AudioSeconds)
		add("by_pipeline", v.Pipeline)
	case record.FileEnd:
		r.kind, r.name = "file-end", v.Path
		add("index", v.Index)
		add("status", string(v.Status))
		add("seconds", v.Seconds)
		add("error", v.Error)
		add("by_pipeline", v.Pipeline)
	case record.Sample:
		r.kind, r.reading = "sample", v.Reading
		add("pid", v.PID)
		add("rss", v.RSS)
		device(v.Lane)
		add("source", v.Source)
		if v.DeviceUsed > 0 {
			add("device_used", v.DeviceUsed)
		}
		if v.Others > 0 {
			add("others", v.Others)
		}
		if v.Pool != "" {
			add("pool", v.Pool)
		}
		addResources(add, &v.Held)
	case record.Holding:
		r.kind, r.name = "holding", v.Path
		add("pid", v.PID)
		add("index", v.Index)
		addResources(add, &v.Resources)
		add("most_fds", v.MostFiles)
		add("available", v.Available)
		add("shm_free", v.SharedFree)
	case record.Limits:
		r.kind = "limits"
		add("pid", v.PID)
		add("memory", v.Memory)
		add("group", v.Group)
		add("fds", v.Files)
		add("tasks", v.Tasks)
		add("shm", v.Shared)
	case record.Leftover:
		r.kind, r.name = "leftover", v.Path
		add("bytes", v.Bytes)
	case record.Idle:
		r.kind, r.reading = "idle", v.Reading
		device(v.Lane)
		add("gpu", v.GPU)
		add("phase", string(v.Phase))
		add("settled", v.Settled)
	case record.Holder:
		r.kind, r.name, r.reading = "holder", v.Command, v.Reading
		device(v.Lane)
		add("pid", v.PID)
		add("ours", v.Ours)
	case record.Exit:
		r.kind = "exit"
		add("pid", v.PID)
		add("code", v.Code)
		add("signal", v.Signal)
		if v.Reason != record.ExitByItself {
			add("reason", string(v.Reason))
		}
		if v.Restarts > 0 {
			add("restarts", v.Restarts)
		}
		if v.Error != "" {
			add("error", v.Error)
		}
	case record.Orphan:
		r.kind, r.name = "orphan", v.Command
		add("pid", v.PID)
		add("rss", v.RSS)
		add("ended", v.Ended)
	case record.RunStart:
		r.kind, r.name = "run-start", v.Command
		add("files", v.Files)
		add("feed", v.Feed)
		add("version", v.Version)
		if v.ID != "" {
			add("id", v.ID)
		}
		add("policy", v.Policy)
		if v.Until > 0 {
			add("until", v.Until)
		}
		if v.FailFast {
			add("fail_fast", v.FailFast)
		}
		if v.Workers > 0 {
			add("workers", v.Workers)
			add("gpu", v.GPU)
		}
		if v.Shards > 0 {
			add("shard", v.Shard)
			add("shards", v.Shards)
			add("of", v.Of)
			add("batch", v.Batch)
			add("run", v.Run)
			add("lease", v.Lease)
			add("node", v.Node)
		}
	case record.Resume:
		r.kind = "resume"
		add("index", v.Index)
		add("cut", v.Cut)
		add("reason", v.Reason)
		if v.Lease > 0 {
			add("lease", v.Lease)
			add("node", v.Node)
			add("after", v.After)
		}
	case record.EarlyEnd:
		r.kind, r.name = "early-end", v.Subject+" "+v.Found
		add("look", v.Look)
		add("files", v.Files)
		add("lines", v.Lines)
		add("check", v.Check)
	case record.RunEnd:
		r.kind = "run-end"
		add("files", v.Files)
		add("seconds", v.Seconds)
		add("reason", v.Reason)
		if v.Error != "" {
			add("error", v.Error)
		}
	case record.Quoted:
		r.kind, r.name = "quoted",
			"a line that the pipeline printed in the harness's name; it has no effect"
	case record.SegmentMap:
		r.segments(&v)
		lane(v.Lane)
	case record.SyntaxError:
		r.kind = "unreadable"
		r.name = fmt.Sprintf("expected %s, found %q; %s", v.Expected, v.Found, v.Advice)
	}
	return r
}

// addFigures adds a field for each number that an event gives, and for what its file goes on
// without.
func addFigures(add func(key string, value any), e *record.Event) {
	addKnown(add, "done", e.Done)
	addKnown(add, "of", e.Of)
	addKnown(add, "items", e.Items)
	addKnown(add, "seconds", e.Seconds)
	addKnown(add, "rate", e.Rate)
	addKnown(add, "freed", e.Freed.Bytes)
	addKnown(add, "lost", e.Lost)
	addKnown(add, "file", e.File)
}

// addKnown adds a field unless its value is zero, which means that the line does not give it.
func addKnown[T comparable](add func(key string, value any), key string, value T) {
	var zero T
	if value != zero {
		add(key, value)
	}
}

// addResources adds a field for each resource that is known.
func addResources(add func(key string, value any), r *record.Resources) {
	for kind, amount := range r.All() {
		add(kind.String(), amount)
	}
}

// fields returns the record as a JSON object.
func (r flat) fields() map[string]any {
	head := r.Head()
	m := map[string]any{"path": head.Pos.Path, "line": head.Pos.Line, "kind": r.kind}
	if t := head.FormatTime(); t != "" {
		m["time"] = t
	}
	if head.Dialect != "" {
		m["dialect"] = head.Dialect
	}
	if r.name != "" {
		m["name"] = r.name
	}
	if r.sampled {
		m["sampled"] = true
	}
	for q, s := range r.reading.All() {
		m[q.String()] = s.Bytes
		if s.Resolution != 0 {
			m[q.String()+"_resolution"] = s.Resolution
		}
	}
	for _, f := range r.more {
		if f.value != "" {
			m[f.key] = f.value
		}
	}
	for _, f := range r.deep {
		m[f.key] = f.value
	}
	return m
}

// csvQuantities are the quantities that have a column in CSV.
var csvQuantities = []record.Quantity{
	record.Allocated, record.Reserved, record.Free, record.Total, record.Peak, record.PeakReserved,
	record.Active,
	record.InactiveSplit, record.Used, record.Buffer, record.Holds, record.Pinned,
}

func csvHeader() []string {
	header := []string{"path", "line", "time", "dialect", "kind", "name", "sampled"}
	for _, q := range csvQuantities {
		header = append(header, q.String())
	}
	return append(header, "more")
}

func (r flat) row() []string {
	head := r.Head()
	sampled := ""
	if r.sampled {
		sampled = "true"
	}
	row := []string{
		sink.Cell(head.Pos.Path), strconv.Itoa(head.Pos.Line), head.FormatTime(),
		sink.Cell(head.Dialect), r.kind, sink.Cell(r.name),
		sampled,
	}
	for _, q := range csvQuantities {
		cell := ""
		if s, ok := r.reading.Get(q); ok {
			cell = strconv.FormatInt(s.Bytes, 10)
		}
		row = append(row, cell)
	}
	return append(row, sink.Cell(r.extras()))
}

// extras returns the fields that have no column, except for empty fields and zeros.
func (r flat) extras() string {
	var parts []string
	for _, f := range r.more {
		if f.value != "" && f.value != 0 && f.value != 0.0 && f.value != false &&
			f.value != int64(0) {
			parts = append(parts, fmt.Sprintf("%s=%v", f.key, f.value))
		}
	}
	return strings.Join(parts, " ")
}

// writeRow writes the record as a row for people. Columns have a fixed width, so that rows can be
// written before the whole log is read.
func (r flat) writeRow(w io.Writer) error {
	head := r.Head()
	clock := ""
	if !head.Time.IsZero() {
		clock = head.Time.Format(time.TimeOnly + ".000")
	}
	line := fmt.Sprintf("%7d  %-12s  %-14s  %s", head.Pos.Line, clock, head.Dialect, r.describe())
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}

// describe returns the record's parts as columns of text.
func (r flat) describe() string {
	text := sink.Name(r.name)
	extras := sink.Line(r.extras())
	switch r.Record.(type) {
	case record.Checkpoint, record.Change, record.Idle, record.Holder, record.SegmentMap:
	default:
		if extras != "" {
			text = strings.TrimSpace(text + "  " + extras)
		}
		return fmt.Sprintf("%-13s  %s", r.kind, text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-13s  %s", r.kind, wording.Pad(text, 38))
	_, derived := r.reading.Get(record.Allocated)
	derived = derived && r.reading.Bytes(record.Total) > 0
	for _, q := range csvQuantities {
		size, ok := r.reading.Get(q)
		if !ok || q == record.Free && derived {
			continue
		}
		sign := ""
		if r.kind == "change" && size.Bytes > 0 {
			sign = "+"
		}
		fmt.Fprintf(&b, "  %s %s%s", strings.ReplaceAll(q.String(), "_", " "), sign, size)
	}
	if extras != "" {
		b.WriteString("  " + extras)
	}
	if r.sampled {
		b.WriteString("  sampled")
	}
	return b.String()
}

// Describe returns a record as a row of the table shows it.
func Describe(rec record.Record) string { return flatten(rec).describe() }
