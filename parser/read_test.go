package parser_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestGoldens reads the logs of fixtures/parser. Each case holds a log, the records that the
// parser must find in it, and the log's timeline.
func TestGoldens(t *testing.T) {
	golden.Each(t, "../fixtures/parser/*.txtar", func(t *testing.T, c golden.Case) {
		log := c.Part("run.log")
		if log == nil {
			t.Fatal("no run.log")
		}
		c.Compare(
			txtar.File{Name: "records", Data: []byte(renderRecords(t, log))},
			txtar.File{Name: "timeline", Data: []byte(renderTimeline(t, log))},
		)
	})
}

// renderRecords writes one line per record: its line number, its kind and its fields.
func renderRecords(t *testing.T, log []byte) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range parser.Read(bytes.NewReader(log), "run.log") {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d ", rec.At().Line)
		switch r := rec.(type) {
		case record.Checkpoint:
			fmt.Fprintf(&b, "checkpoint %q device=%d rank=%d", r.Name, r.Lane.Device, r.Lane.Rank)
			if r.Sampled {
				b.WriteString(" sampled")
			}
			renderReading(&b, &r.Reading)
		case record.Change:
			fmt.Fprintf(&b, "change %q device=%d rank=%d", r.Name, r.Lane.Device, r.Lane.Rank)
			renderReading(&b, &r.Reading)
			renderMore(&b, "percent", r.Percent)
		case record.Event:
			fmt.Fprintf(&b, "event %s device=%d %q", r.Kind, r.Lane.Device, r.Text)
			renderMore(&b, "done", r.Done)
			renderMore(&b, "of", r.Of)
			renderMore(&b, "items", r.Items)
			renderMore(&b, "seconds", r.Seconds)
			renderMore(&b, "rate", r.Rate)
			renderMore(&b, "freed", r.Freed.Bytes)
			renderMore(&b, "lost", r.Lost)
			renderMore(&b, "file", r.File)
		case record.Warning:
			fmt.Fprintf(&b, "warning %s %.1f%%", r.Level, r.Percent)
		case record.OutOfMemory:
			fmt.Fprintf(&b, "out-of-memory requested=%d device=%d", r.Requested.Bytes, r.Lane.Device)
			renderMore(&b, "stage", r.Stage)
			renderMore(&b, "batch", r.Batch)
			renderReading(&b, &r.Reading)
		case record.SyntaxError:
			fmt.Fprintf(&b, "unreadable: expected %s, found %q", r.Expected, r.Found)
		case record.FileStart:
			fmt.Fprintf(&b, "file-start pipeline=%t index=%d path=%q audio=%g", r.Pipeline, r.Index, r.Path,
				r.AudioSeconds)
		case record.FileEnd:
			fmt.Fprintf(&b, "file-end pipeline=%t index=%d path=%q %s %gs %q", r.Pipeline, r.Index, r.Path,
				r.Status, r.Seconds, r.Error)
		case record.Crash:
			fmt.Fprintf(&b, "crash device=%d rank=%d traceback=%d %q", r.Lane.Device, r.Lane.Rank,
				r.Traceback, r.Text)
		case record.Sample:
			fmt.Fprintf(&b, "sample pid=%d device=%d source=%q rss=%d", r.PID, r.Lane.Device, r.Source,
				r.RSS)
			renderReading(&b, &r.Reading)
			if r.DeviceUsed+r.Others > 0 {
				fmt.Fprintf(&b, " device_used=%d others=%d", r.DeviceUsed, r.Others)
			}
		case record.Idle:
			fmt.Fprintf(&b, "idle device=%d gpu=%d phase=%s settled=%t", r.Lane.Device, r.GPU, r.Phase,
				r.Settled)
			renderReading(&b, &r.Reading)
		case record.Holder:
			fmt.Fprintf(&b, "holder device=%d pid=%d command=%q ours=%t", r.Lane.Device, r.PID, r.Command,
				r.Ours)
			renderReading(&b, &r.Reading)
		case record.Exit:
			fmt.Fprintf(&b, "exit pid=%d code=%d signal=%q", r.PID, r.Code, r.Signal)
			renderMore(&b, "reason", r.Reason)
			renderMore(&b, "restarts", r.Restarts)
		case record.RunStart:
			fmt.Fprintf(&b, "run-start files=%d feed=%s command=%q version=%q policy=%q", r.Files, r.Feed,
				r.Command, r.Version, r.Policy)
			renderMore(&b, "until", r.Until)
			renderMore(&b, "workers", r.Workers)
			renderMore(&b, "gpu", r.GPU)
		case record.Resume:
			fmt.Fprintf(&b, "resume index=%d cut=%d reason=%q", r.Index, r.Cut, r.Reason)
		case record.RunEnd:
			fmt.Fprintf(&b, "run-end files=%d %gs %s", r.Files, r.Seconds, r.Reason)
			renderMore(&b, "error", r.Error)
		case record.SegmentMap:
			fmt.Fprintf(&b, "segments %q device=%d rank=%d", r.Name, r.Lane.Device, r.Lane.Rank)
			renderMore(&b, "requested", r.Requested)
			renderMore(&b, "total", r.Total)
			renderMore(&b, "used", r.Used)
			renderMore(&b, "allowed", r.Allowed)
			for _, s := range r.Segments {
				fmt.Fprintf(&b, " %x+%d small=%t expandable=%t stream=%x %v", s.Address, s.Size, s.Small,
					s.Expandable, s.Stream, s.Blocks)
			}
		default:
			t.Fatalf("unknown record %T", rec)
		}
		switch h := rec.Head(); {
		case h.Dateless || h.Yearless:
			fmt.Fprintf(&b, " @%s", h.FormatTime())
		case !h.Time.IsZero():
			fmt.Fprintf(&b, " @%s", h.Time.Format(record.TimeLayout))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func renderReading(b *strings.Builder, r *record.Reading) {
	for q, s := range r.All() {
		fmt.Fprintf(b, " %s=%d", q, s.Bytes)
		if s.Resolution != 0 {
			fmt.Fprintf(b, "+-%d", s.Resolution)
		}
	}
}

// renderMore writes a field only if it is set, so that goldens from before the field existed stay
// as they are.
func renderMore[T comparable](b *strings.Builder, key string, value T) {
	var none T
	if value != none {
		fmt.Fprintf(b, " %s=%v", key, value)
	}
}

// renderTimeline lists a timeline's files, each with its stages and cleanups.
func renderTimeline(t *testing.T, log []byte) string {
	t.Helper()
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "checkpoints=%d runs=%d samples=%d warnings=%d exits=%d bad=%d\n", tl.Checkpoints,
		len(tl.Runs), len(tl.Samples), len(tl.Warnings), len(tl.Exits), len(tl.Bad))
	for _, i := range tl.Idles {
		fmt.Fprintf(&b, "idle %s run=%d holders=%d\n", i.Phase, i.Run, len(i.Holders))
	}
	for _, f := range slices.Concat(tl.Outside, tl.Files) {
		fmt.Fprintf(&b, "%s index=%d status=%q supervised=%t run=%d process=%d lines=%d-%d",
			f.Name(), f.Index, f.Status, f.Supervised, f.Run, f.Process, f.Pos.Line, f.EndPos.Line)
		fmt.Fprintf(&b, " seconds=%.3f checkpoints=%d ooms=%d", f.Seconds, len(f.Checkpoints),
			len(f.OOMs))
		if f.AudioSeconds != 0 {
			fmt.Fprintf(&b, " audio=%g", f.AudioSeconds)
		}
		b.WriteByte('\n')
		for _, s := range f.Stages {
			fmt.Fprintf(&b, "  stage %s %d-%d\n", s.Name, s.Before, s.After)
		}
		for _, c := range f.Cleanups {
			fmt.Fprintf(&b, "  cleanup %s %d-%d stage=%d last=%t\n", c.Name, c.Before, c.After, c.Stage,
				c.Last)
		}
		if len(f.Unpaired) > 0 {
			fmt.Fprintf(&b, "  unpaired %v\n", f.Unpaired)
		}
	}
	return b.String()
}

func read(t *testing.T, log string) []record.Record {
	t.Helper()
	var all []record.Record
	for rec, err := range parser.Read(strings.NewReader(log), "run.log") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

const line = "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) | Reserved: 1.02GB (4.3%) | Free: 23.82GB | Total: 24.00GB"

// TestReadLongLine: in a line of 100 MB, such as a progress bar writes, two checkpoints are
// found. The lines behind it have the right line numbers.
func TestReadLongLine(t *testing.T) {
	filler := strings.Repeat("#", 50<<20)
	got := read(t, "first\n"+filler+line+filler+line+"\n"+line)
	if len(got) != 3 {
		t.Fatalf("got %d records, want 3", len(got))
	}
	for i, want := range []int{2, 2, 3} {
		if c, ok := got[i].(record.Checkpoint); !ok || got[i].At().Line != want ||
			c.Name != "After Whisper Cleanup" {
			t.Errorf("record %d is %T at line %d, want the checkpoint at line %d", i, got[i],
				got[i].At().Line, want)
		}
	}
}

// TestReadAcrossWindow: a record that crosses the end of a window is read completely, wherever in
// the record the window ends.
func TestReadAcrossWindow(t *testing.T) {
	want := read(t, line)[0].(record.Checkpoint)
	for shift := -200; shift <= 50; shift += 10 {
		got := read(t, strings.Repeat("#", 1<<20+shift)+line+strings.Repeat("#", 1<<20)+"\n")
		if len(got) != 1 {
			t.Fatalf("shift %d: got %d records, want 1: %v", shift, len(got), got)
		}
		if c := got[0].(record.Checkpoint); !c.SameSizes(&want.Reading) || c.Name != want.Name {
			t.Errorf("shift %d: got %+v, want %+v", shift, c, want)
		}
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := io.MultiReader(strings.NewReader(line+"\n"), iotest.ErrReader(broken))
	records, failures := 0, 0
	for rec, err := range parser.Read(r, "run.log") {
		switch {
		case err != nil:
			failures++
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), "run.log after line 1") {
				t.Errorf("got error %q", err)
			}
		case rec != nil:
			records++
		}
	}
	if records != 1 || failures != 1 {
		t.Errorf("got %d records and %d errors, want 1 and 1", records, failures)
	}
}

// TestReadLive: lines in a pipe are read at once, while the program that wrote them waits for an
// answer.
func TestReadLive(t *testing.T) {
	r, w := io.Pipe()
	answered := make(chan struct{})
	go func() {
		_, _ = io.WriteString(w, line+"\n")
		<-answered
		_, _ = io.WriteString(w, line+"\n")
		_ = w.Close()
	}()
	n := 0
	for rec, err := range parser.Read(r, "pipe") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			close(answered)
		}
		if rec.At().Line != n {
			t.Errorf("record %d is at line %d", n, rec.At().Line)
		}
	}
	if n != 2 {
		t.Errorf("got %d records, want 2", n)
	}
}

// TestCheckpointRoundTrip: reading a line that Checkpoint.AppendLine wrote gives the same
// checkpoint.
func TestCheckpointRoundTrip(t *testing.T) {
	want := record.Checkpoint{
		Header: record.Header{
			Pos:  record.Position{Path: "run.log", Line: 1},
			Time: time.Date(2026, 11, 20, 2, 0, 3, 123e6, time.UTC),
		},
		Name: "Before Whisper Cleanup", Lane: record.Lane{Device: 1, Rank: 3}, Stream: "side stream",
	}
	want.Set(record.Allocated, record.Exact(7763421184))
	want.Set(record.Reserved, record.Exact(8053063680))
	want.Set(record.Total, record.Exact(25769803776))
	want.Set(record.Holds, record.Exact(7549747200))
	text := string(want.AppendLine(nil))
	// Computed by hand: 7763421184/2^30 = 7.230, which is 30.1 % of 24 GiB; 8053063680/2^30 =
	// 7.5, which is 31.25 %; free 24 - 7.23.
	const human = "2026-11-20T02:00:03.123Z [GPU Memory] Before Whisper Cleanup: Allocated: 7.23GB (30.1%) | " +
		"Reserved: 7.50GB (31.2%) | Free: 16.77GB | Total: 24.00GB | "
	if !strings.HasPrefix(text, human) {
		t.Errorf("wrote %s\nwant  %s...", text, human)
	}
	got := read(t, text)
	if len(got) != 1 {
		t.Fatalf("got %d records of %q", len(got), text)
	}
	c := got[0].(record.Checkpoint)
	free, ok := c.Get(record.Free)
	if !ok || free.Bytes != 18006650388 { // 16.77 * 2^30, as the line gives no exact value of free
		t.Errorf("got free %d, want 18006650388", free.Bytes)
	}
	for q, s := range want.All() {
		if g, _ := c.Get(q); g != s {
			t.Errorf("%s: got %+v, want %+v", q, g, s)
		}
	}
	want.Dialect, want.Outer = "transcription", true
	if c.Header != want.Header || c.Name != want.Name || c.Lane != want.Lane ||
		c.Stream != want.Stream {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

// TestOwnLinesRoundTrip: reading a harness line gives the record that was written, whatever its
// strings contain.
func TestOwnLinesRoundTrip(t *testing.T) {
	head := record.Header{
		Pos:  record.Position{Path: "run.log", Line: 1},
		Time: time.Date(2026, 11, 20, 2, 0, 3, 0, time.UTC),
	}
	const nasty = "a b=\"c\"\\ \n\x00é\x1b[0m\u202e###[error]x\\##vso[a]section_start:1:a.wav"
	sample := record.Sample{
		Header: head,
		PID:    4711,
		Lane:   record.Lane{Device: 2},
		Source: "process",
		RSS:    1 << 30,
	}
	sample.Set(record.Used, record.Exact(5))
	sample.Set(record.Total, record.Exact(7))
	shared := sample
	shared.DeviceUsed, shared.Others = 6, 1
	idle := record.Idle{
		Header:  head,
		Lane:    record.Lane{Device: 1},
		GPU:     3,
		Settled: true,
		Phase:   record.PhaseAfter,
	}
	idle.Set(record.Used, record.Exact(0))
	idle.Set(record.Total, record.Exact(7))
	holder := record.Holder{
		Header:  head,
		Lane:    record.Lane{Device: 1},
		PID:     4711,
		Command: nasty,
		Ours:    true,
	}
	holder.Set(record.Used, record.Exact(6))
	for _, want := range []interface {
		record.Record
		AppendLine([]byte) []byte
	}{
		record.RunStart{
			Header: head, Files: 60, Feed: "list", Command: nasty, Version: "v1",
			Policy: "peak:\n  max: 85%\n", ID: "4711-9f3a",
		},
		record.FileStart{Header: head, Index: 12, Path: nasty, AudioSeconds: 1.25},
		record.FileStart{Header: head, Pipeline: true, Path: "a.wav"},
		record.FileStart{Header: head, Path: "##[error]a.wav"},
		record.FileStart{Header: head, Path: "section_end:1:a"},
		record.FileEnd{
			Header: head, Index: 12, Path: nasty, Status: record.StatusOOM, Seconds: 2.5,
			Error: nasty,
		},
		record.FileEnd{Header: head, Pipeline: true, Path: "", Status: record.StatusOK},
		sample, shared, idle, holder,
		record.Sample{Header: head, PID: 1, RSS: 5},
		record.Holder{Header: head, PID: 1},
		record.Exit{Header: head, PID: 1, Code: -1, Signal: "SIGKILL"},
		record.Exit{Header: head, PID: 1, Code: 255},
		record.Exit{Header: head, PID: 1, Code: 1, Error: `ValueError: "bad" header`},
		record.Exit{Header: head, PID: 1, Code: -1, Signal: "SIGTERM", Reason: record.ExitInterrupted},
		record.Exit{Header: head, PID: 1, Code: -1, Signal: "SIGKILL", Restarts: 3},
		record.Resume{Header: head, Index: 7, Cut: 117, Reason: "killed"},
		record.Exit{Header: head, PID: 1, Code: -1, Signal: "SIGTERM", Reason: "overuse"},
		record.Orphan{Header: head, PID: 4712, Command: nasty, RSS: 1 << 20, Ended: true},
		record.Orphan{Header: head, PID: 4712, Command: "python -m workers"},
		record.RunEnd{Header: head, Files: 60, Seconds: 1.5, Reason: "done"},
		record.RunEnd{Header: head, Files: 60, Seconds: 1.5, Reason: "stopped", Error: nasty},
		record.RunStart{Header: head, Feed: "stdin", Command: "x", Version: "v1", Until: 28800},
		record.RunStart{
			Header: head, Files: 60, Feed: "list", Command: "x", Version: "v1",
			ID: "9f3a-gpu1", Workers: 2, GPU: 1,
		},
		record.RunStart{
			Header: head, Files: 8, Feed: "list", Command: "x", Version: "v1", ID: "9f3a",
			Share: record.Share{
				Shard: 3, Shards: 8, Of: 60, Batch: "0123456789abcdef", Run: nasty,
				Owner: record.Owner{Lease: 1, Node: nasty},
			},
		},
		record.Resume{
			Header: head, Index: 7, Reason: "killed",
			Owner: record.Owner{Lease: 2, Node: "n2"}, After: 4711,
		},
	} {
		text := want.AppendLine(nil)
		if bytes.ContainsAny(text, "\n\r") {
			t.Errorf("%T wrote more than one line: %q", want, text)
		}
		for _, command := range []string{
			"\x1b", "\u202e", "##[", "##vso[", "section_start:",
			"section_end:",
		} {
			if bytes.Contains(text, []byte(command)) {
				t.Errorf("%T wrote %q: %q", want, command, text)
			}
		}
		got := read(t, string(text))
		if len(got) != 1 {
			t.Fatalf("%q gave %d records", text, len(got))
		}
		sameDialect := cmpopts.IgnoreFields(record.Header{}, "Dialect")
		if diff := cmp.Diff(
			record.Record(want),
			got[0],
			cmp.AllowUnexported(record.Reading{}, record.Resources{}),
			sameDialect,
		); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// fuzzed yields the records of arbitrary bytes. It fails the test if reading returns an error or
// if line numbers go back.
func fuzzed(t *testing.T, log []byte, name string) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		last := 1
		for rec, err := range parser.Read(bytes.NewReader(log), name) {
			if err != nil {
				t.Fatalf("an error from memory: %v", err)
			}
			if n := rec.At().Line; n < last || n > bytes.Count(log, []byte("\n"))+1 {
				t.Fatalf("line %d after line %d", n, last)
			}
			last = rec.At().Line
			if !yield(rec) {
				return
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	cases, err := filepath.Glob("../fixtures/parser/*.txtar")
	if err != nil || len(cases) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for range fuzzed(t, log, "fuzz") {
		}
		tl, err := parser.Build(parser.Read(bytes.NewReader(log), "fuzz"))
		if err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, tl)
	})
}

// checkInvariants fails the test if a timeline lacks one of the properties that every timeline
// has.
func checkInvariants(t *testing.T, tl *timeline.Timeline) {
	t.Helper()
	total := 0
	for _, f := range slices.Concat(tl.Outside, tl.Files) {
		total += len(f.Checkpoints)
		pair := func(before, after int) {
			if before >= after || after >= len(f.Checkpoints) ||
				f.Checkpoints[before].Lane != f.Checkpoints[after].Lane {
				t.Fatalf("%s: pair %d-%d of %d checkpoints", f.Name(), before, after, len(f.Checkpoints))
			}
		}
		for _, s := range f.Stages {
			pair(s.Before, s.After)
		}
		for _, c := range f.Cleanups {
			pair(c.Before, c.After)
			if c.Stage >= 0 {
				if s := f.Stages[c.Stage]; s.Before > c.Before || s.After < c.After {
					t.Fatalf("%s: cleanup %d-%d outside of its stage %d-%d", f.Name(), c.Before, c.After, s.Before,
						s.After)
				}
			} else if c.Last {
				t.Fatalf("%s: a last cleanup without a stage", f.Name())
			}
		}
	}
	if total != tl.Checkpoints {
		t.Fatalf("%d checkpoints in files and outside, %d counted", total, tl.Checkpoints)
	}
}
