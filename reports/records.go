package reports

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser"
	"vramsoak/reports/sink"
)

// RecordFormats are the formats of [Records].
var RecordFormats = []string{"table", "jsonl", "csv"}

// RecordOptions say how records are written.
type RecordOptions struct {
	Format string
	// Names puts the name of each log above its records in a table.
	Names bool
	// Live writes each record out at once, for a log that grows.
	Live bool
}

// Records writes records one a line, as they come: "table" for people, "jsonl" with every field, "csv" with one column a
// quantity. Sizes in jsonl and csv are bytes; jsonl adds "<quantity>_resolution" (half the last printed digit, in bytes)
// where a size is not exact. An error of the stream is returned after what came before it is written.
func Records(w io.Writer, records iter.Seq2[parser.Record, error], opts RecordOptions) (RecordCounts, error) {
	var counts RecordCounts
	buf := bufio.NewWriter(w)
	var write func(record) error
	switch opts.Format {
	case "table":
		last := ""
		write = func(r record) error {
			if path := r.Head().Pos.Path; opts.Names && path != last {
				last = path
				if _, err := fmt.Fprintf(buf, "==> %s <==\n", sink.Line(path)); err != nil {
					return err
				}
			}
			return r.writeRow(buf)
		}
	case "jsonl":
		enc := sink.JSONLines(buf)
		write = func(r record) error { return enc.Encode(r.fields()) }
	case "csv":
		c := csv.NewWriter(buf)
		if err := c.Write(csvHeader()); err != nil {
			return counts, err
		}
		write = func(r record) error {
			err := c.Write(r.row())
			c.Flush()
			return err
		}
	default:
		return counts, fmt.Errorf("expected a format of %s, found %q", strings.Join(RecordFormats, ", "), opts.Format)
	}
	for rec, err := range records {
		if err != nil {
			if flushErr := buf.Flush(); flushErr != nil {
				return counts, fmt.Errorf("write the records: %w", flushErr)
			}
			return counts, err
		}
		counts.add(rec)
		err = write(flatten(rec))
		if err == nil && opts.Live {
			err = buf.Flush()
		}
		if err != nil {
			return counts, fmt.Errorf("write the records: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return counts, fmt.Errorf("write the records: %w", err)
	}
	return counts, nil
}

// RecordCounts says what a log held.
type RecordCounts struct {
	Readings map[string]int // records that give an amount of memory, by dialect
	Events   int            // other records
	Bad      int            // unreadable lines
}

func (c *RecordCounts) add(rec parser.Record) {
	switch _, bad := rec.(parser.SyntaxError); {
	case bad:
		c.Bad++
	case !IsReading(rec):
		c.Events++
	default:
		if c.Readings == nil {
			c.Readings = map[string]int{}
		}
		c.Readings[rec.Head().Dialect]++
	}
}

// IsReading says that a record gives an amount of memory.
func IsReading(rec parser.Record) bool {
	switch r := rec.(type) {
	case parser.Checkpoint, parser.Change, parser.OutOfMemory:
		return true
	case parser.Sample:
		return r.Len() > 0
	case parser.Idle, parser.SegmentMap:
		return true
	}
	return false
}

// String is one line for a person: "1,140 readings (transcription 1,120, out-of-memory 20), 12 events, 3 unreadable lines".
func (c RecordCounts) String() string {
	all := 0
	for _, n := range c.Readings {
		all += n
	}
	s := plural(all, "reading")
	if all > 0 {
		names := slices.SortedFunc(maps.Keys(c.Readings), func(a, b string) int {
			return cmp.Or(c.Readings[b]-c.Readings[a], cmp.Compare(a, b))
		})
		for i, name := range names {
			names[i] = name + " " + number(c.Readings[name])
		}
		s += " (" + strings.Join(names, ", ") + ")"
	}
	s += ", " + plural(c.Events, "event")
	if c.Bad > 0 {
		s += ", " + plural(c.Bad, "unreadable line")
	}
	return s
}

// A record is a parser.Record with its parts in common columns.
type record struct {
	parser.Record
	kind    string
	name    string         // a checkpoint's name, a file's path, a message
	sampled bool           // of a checkpoint
	reading parser.Reading // none for most events
	more    []field        // what has no column of its own
	deep    []field        // what no column can have: in JSON alone
}

type field struct {
	key   string
	value any
}

func flatten(rec parser.Record) record {
	r := record{Record: rec}
	lane := func(l parser.Lane) {
		r.more = append(r.more, field{"device", l.Device})
		if l.Rank != 0 {
			r.more = append(r.more, field{"rank", l.Rank})
		}
	}
	add := func(key string, value any) { r.more = append(r.more, field{key, value}) }
	switch v := rec.(type) {
	case parser.Checkpoint:
		r.kind, r.name, r.reading, r.sampled = "checkpoint", v.Name, v.Reading, v.Sampled
		lane(v.Lane)
		if v.Stream != "" {
			add("stream", v.Stream)
		}
	case parser.Change:
		r.kind, r.name, r.reading = "change", v.Name, v.Reading
		lane(v.Lane)
	case parser.Event:
		r.kind, r.name = "event", v.Text
		add("event", string(v.Kind))
		lane(v.Lane)
	case parser.Warning:
		r.kind, r.name = "warning", v.Text
		add("level", v.Level)
		add("percent", v.Percent)
	case parser.OutOfMemory:
		r.kind, r.name, r.reading = "out-of-memory", v.Text, v.Reading
		lane(v.Lane)
		if v.HasRequested {
			add("requested", v.Requested.Bytes)
		}
	case parser.Crash:
		r.kind, r.name = "crash", v.Text
		lane(v.Lane)
		if v.Traceback > 0 {
			add("traceback", v.Traceback)
		}
	case parser.FileStart:
		r.kind, r.name = "file-start", v.Path
		add("index", v.Index)
		add("audio_seconds", v.AudioSeconds)
		add("by_pipeline", v.Pipeline)
	case parser.FileEnd:
		r.kind, r.name = "file-end", v.Path
		add("index", v.Index)
		add("status", string(v.Status))
		add("seconds", v.Seconds)
		add("error", v.Error)
		add("by_pipeline", v.Pipeline)
	case parser.Sample:
		r.kind, r.reading = "sample", v.Reading
		add("pid", v.PID)
		add("rss", v.RSS)
		lane(v.Lane)
		add("source", v.Source)
		if v.DeviceUsed > 0 {
			add("device_used", v.DeviceUsed)
		}
		if v.Others > 0 {
			add("others", v.Others)
		}
	case parser.Idle:
		r.kind, r.reading = "idle", v.Reading
		lane(v.Lane)
		add("gpu", v.GPU)
		add("phase", string(v.Phase))
		add("settled", v.Settled)
	case parser.Holder:
		r.kind, r.name, r.reading = "holder", v.Command, v.Reading
		lane(v.Lane)
		add("pid", v.PID)
		add("ours", v.Ours)
	case parser.Exit:
		r.kind = "exit"
		add("pid", v.PID)
		add("code", v.Code)
		add("signal", v.Signal)
		if v.Reason != parser.ExitByItself {
			add("reason", string(v.Reason))
		}
		if v.Restarts > 0 {
			add("restarts", v.Restarts)
		}
		if v.Error != "" {
			add("error", v.Error)
		}
	case parser.Orphan:
		r.kind, r.name = "orphan", v.Command
		add("pid", v.PID)
		add("rss", v.RSS)
		add("ended", v.Ended)
	case parser.RunStart:
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
		if v.Workers > 0 {
			add("workers", v.Workers)
			add("gpu", v.GPU)
		}
	case parser.Resume:
		r.kind = "resume"
		add("index", v.Index)
		add("cut", v.Cut)
		add("reason", v.Reason)
	case parser.RunEnd:
		r.kind = "run-end"
		add("files", v.Files)
		add("seconds", v.Seconds)
		add("reason", v.Reason)
		if v.Error != "" {
			add("error", v.Error)
		}
	case parser.Quoted:
		r.kind, r.name = "quoted", "a line in the harness's name that the pipeline printed; it says nothing"
	case parser.SegmentMap:
		r.segments(&v)
		lane(v.Lane)
	case parser.SyntaxError:
		r.kind = "unreadable"
		r.name = fmt.Sprintf("expected %s, found %q; %s", v.Expected, v.Found, v.Advice)
	}
	return r
}

// fields is the record as a JSON object.
func (r record) fields() map[string]any {
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

// csvQuantities are the columns of the quantities.
var csvQuantities = []parser.Quantity{
	parser.Allocated, parser.Reserved, parser.Free, parser.Total, parser.Peak, parser.PeakReserved, parser.Active,
	parser.InactiveSplit, parser.Used, parser.Buffer, parser.Holds,
}

func csvHeader() []string {
	header := []string{"path", "line", "time", "dialect", "kind", "name", "sampled"}
	for _, q := range csvQuantities {
		header = append(header, q.String())
	}
	return append(header, "more")
}

func (r record) row() []string {
	head := r.Head()
	sampled := ""
	if r.sampled {
		sampled = "true"
	}
	row := []string{
		sink.Cell(head.Pos.Path), strconv.Itoa(head.Pos.Line), head.FormatTime(), sink.Cell(head.Dialect), r.kind, sink.Cell(r.name),
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

// extras are the fields without a column, those that say something.
func (r record) extras() string {
	var parts []string
	for _, f := range r.more {
		if f.value != "" && f.value != 0 && f.value != 0.0 && f.value != false && f.value != int64(0) {
			parts = append(parts, fmt.Sprintf("%s=%v", f.key, f.value))
		}
	}
	return strings.Join(parts, " ")
}

// writeRow writes the record for a person. Columns are of fixed width, so that a table of any length streams.
func (r record) writeRow(w io.Writer) error {
	head := r.Head()
	clock := ""
	if !head.Time.IsZero() {
		clock = head.Time.Format(time.TimeOnly + ".000")
	}
	line := fmt.Sprintf("%7d  %-12s  %-14s  %s", head.Pos.Line, clock, head.Dialect, r.describe())
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}

// describe is what the record says, in columns.
func (r record) describe() string {
	text := sink.Name(r.name)
	extras := sink.Line(r.extras())
	switch r.Record.(type) {
	case parser.Checkpoint, parser.Change, parser.Idle, parser.Holder, parser.SegmentMap:
	default:
		if extras != "" {
			text = strings.TrimSpace(text + "  " + extras)
		}
		return fmt.Sprintf("%-13s  %s", r.kind, text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-13s  %s", r.kind, pad(text, 38))
	_, derived := r.reading.Get(parser.Allocated)
	derived = derived && r.reading.Bytes(parser.Total) > 0
	for _, q := range csvQuantities {
		size, ok := r.reading.Get(q)
		if !ok || q == parser.Free && derived {
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
