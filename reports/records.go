package reports

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser"
)

// RecordFormats are the formats of [Records].
var RecordFormats = []string{"table", "jsonl", "csv"}

// RecordCounts says what a log held.
type RecordCounts struct{ Checkpoints, Events, Bad int }

// String is one line for a person: "1140 checkpoints, 130 other records, 0 unreadable lines".
func (c RecordCounts) String() string {
	return fmt.Sprintf("%s, %s, %s", plural(c.Checkpoints, "checkpoint"), plural(c.Events, "other record"), plural(c.Bad, "unreadable line"))
}

// Records writes records one a line, as they come: "table" for people, "jsonl" with every field, "csv" with one column a
// quantity. Sizes in jsonl and csv are bytes; jsonl adds "<quantity>_resolution" (half the last printed digit, in bytes)
// where a size is not exact. An error of the stream is returned after what came before it is written.
func Records(w io.Writer, records iter.Seq2[parser.Record, error], format string) (RecordCounts, error) {
	var counts RecordCounts
	buf := bufio.NewWriter(w)
	var write func(record) error
	switch format {
	case "table":
		write = func(r record) error { return r.writeRow(buf) }
	case "jsonl":
		enc := json.NewEncoder(buf)
		enc.SetEscapeHTML(false)
		write = func(r record) error { return enc.Encode(r.fields()) }
	case "csv":
		c := csv.NewWriter(buf)
		if err := c.Write(csvHeader); err != nil {
			return counts, err
		}
		write = func(r record) error {
			err := c.Write(r.row())
			c.Flush()
			return err
		}
	default:
		return counts, fmt.Errorf("expected a format of %s, found %q", strings.Join(RecordFormats, ", "), format)
	}
	for rec, err := range records {
		if err != nil {
			if flushErr := buf.Flush(); flushErr != nil {
				return counts, fmt.Errorf("write the records: %w", flushErr)
			}
			return counts, err
		}
		r := flatten(rec)
		switch rec.(type) {
		case parser.Checkpoint:
			counts.Checkpoints++
		case parser.SyntaxError:
			counts.Bad++
		default:
			counts.Events++
		}
		if err := write(r); err != nil {
			return counts, fmt.Errorf("write the records: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return counts, fmt.Errorf("write the records: %w", err)
	}
	return counts, nil
}

// A record is a parser.Record with its parts in common columns.
type record struct {
	parser.Record
	kind    string
	name    string         // a checkpoint's name, a file's path, a message
	reading parser.Reading // none for most events
	more    []field        // what has no column of its own
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
		r.kind, r.name, r.reading = "checkpoint", v.Name, v.Reading
		lane(v.Lane)
		if v.Stream != "" {
			add("stream", v.Stream)
		}
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
	case parser.Exit:
		r.kind = "exit"
		add("pid", v.PID)
		add("code", v.Code)
		add("signal", v.Signal)
	case parser.RunStart:
		r.kind, r.name = "run-start", v.Command
		add("files", v.Files)
		add("feed", v.Feed)
		add("version", v.Version)
		add("policy", v.Policy)
	case parser.Resume:
		r.kind = "resume"
		add("index", v.Index)
	case parser.RunEnd:
		r.kind = "run-end"
		add("files", v.Files)
		add("seconds", v.Seconds)
		add("reason", v.Reason)
	case parser.SyntaxError:
		r.kind = "unreadable"
		r.name = fmt.Sprintf("expected %s, found %q; %s", v.Expected, v.Found, v.Advice)
	}
	return r
}

// time is the record's time as RFC 3339, without a zone where the log gave none.
func (r record) time() string {
	t := r.When()
	switch {
	case t.IsZero():
		return ""
	case r.local():
		return t.Format("2006-01-02T15:04:05.000")
	}
	return t.Format(parser.TimeLayout)
}

func (r record) local() bool {
	switch v := r.Record.(type) {
	case parser.Checkpoint:
		return v.Local
	case parser.Warning:
		return v.Local
	case parser.OutOfMemory:
		return v.Local
	}
	return false
}

// fields is the record as a JSON object.
func (r record) fields() map[string]any {
	m := map[string]any{"path": r.At().Path, "line": r.At().Line, "kind": r.kind}
	if t := r.time(); t != "" {
		m["time"] = t
	}
	if r.name != "" {
		m["name"] = r.name
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
	return m
}

var csvHeader = []string{
	"path", "line", "time", "kind", "name", "allocated", "reserved", "free", "total", "peak", "active", "inactive_split",
	"used", "holds", "more",
}

// csvQuantities are the columns from "allocated" to "holds".
var csvQuantities = []parser.Quantity{
	parser.Allocated, parser.Reserved, parser.Free, parser.Total, parser.Peak, parser.Active, parser.InactiveSplit,
	parser.Used, parser.Holds,
}

func (r record) row() []string {
	row := []string{r.At().Path, strconv.Itoa(r.At().Line), r.time(), r.kind, r.name}
	for _, q := range csvQuantities {
		cell := ""
		if s, ok := r.reading.Get(q); ok {
			cell = strconv.FormatInt(s.Bytes, 10)
		}
		row = append(row, cell)
	}
	return append(row, r.extras())
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
	clock := ""
	if t := r.When(); !t.IsZero() {
		clock = t.Format(time.TimeOnly + ".000")
	}
	text := r.name
	if extras := r.extras(); r.kind != "checkpoint" && extras != "" {
		text = strings.TrimSpace(text + "  " + extras)
	}
	line := fmt.Sprintf("%7d  %-12s  %-13s  %s", r.At().Line, clock, r.kind, text)
	if r.kind == "checkpoint" {
		line = fmt.Sprintf("%-76s", line)
		for _, q := range []parser.Quantity{parser.Allocated, parser.Reserved, parser.Used, parser.Total, parser.Holds} {
			if s, ok := r.reading.Get(q); ok {
				line += fmt.Sprintf("  %s %s", q, s)
			}
		}
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}
