// Package dialecttest runs dialects on the few lines of a test and shows the records that they
// read.
package dialecttest

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A Case is a log, and what dialects read in it: one line for each record, as [Line] shows it.
type Case = struct{ Name, Log, Want string }

// Run reads the log of each case in the dialects, and fails the test if the records differ from
// Want.
func Run(t *testing.T, dialects []*scan.Dialect, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			Compare(t, c.Want, Show(t, Batches(c.Log, dialects)))
		})
	}
}

// Batches returns the batches of records that the dialects read in a log. The log may begin with
// a line break and end without one, as a raw string in a test does.
func Batches(log string, dialects []*scan.Dialect) iter.Seq2[*scan.Batch, error] {
	log = strings.TrimPrefix(log, "\n")
	return scan.Batches(source.New(strings.NewReader(log)), "run.log", scan.NewDialects(dialects))
}

// Show returns the records of the batches as text, one line for each record.
func Show(t *testing.T, batches iter.Seq2[*scan.Batch, error]) string {
	t.Helper()
	var b strings.Builder
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Entries {
			b.WriteString(Line(batch.Entries[i].Record(batch.Line)))
		}
	}
	return b.String()
}

// Compare fails the test if two texts differ. Line breaks around the texts do not count.
func Compare(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Used is a dialect that reads "used 3 MiB". Tests use it as any program that prints its memory.
var Used = scan.Dialect{
	Name:    "used",
	Needles: []string{"used "},
	Read: func(l *scan.Line, at int) int {
		number, ok := bytes.CutSuffix(l.Text[at+len("used "):], []byte(" MiB"))
		if !ok {
			return 0
		}
		n := int64(0)
		for _, c := range number {
			n = n*10 + int64(c-'0')
		}
		l.Checkpoint(at, "used").Set(record.Used, record.Exact(n*record.MiB))
		return len(l.Text)
	},
}

// Line returns a record as one line of text: the record's line in the log, its kind, and its
// fields. Sizes are exact: in MiB, or in bytes if they are not whole MiB.
//
//	2 checkpoint "nvidia-smi" gpu1 used=841MiB total=8192MiB
func Line(rec record.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ", rec.At().Line)
	switch r := rec.(type) {
	case record.Checkpoint:
		fmt.Fprintf(&b, "checkpoint %q%s%s", r.Name, lane(r.Lane), sizes(&r.Reading))
		if r.PID != 0 {
			fmt.Fprintf(&b, " pid=%d", r.PID)
		}
	case record.Change:
		fmt.Fprintf(&b, "change %q%s%s", r.Name, lane(r.Lane), sizes(&r.Reading))
		more(&b, "percent", r.Percent)
	case record.Event:
		fmt.Fprintf(&b, "event %s%s %q", r.Kind, lane(r.Lane), r.Text)
		more(&b, "done", r.Done)
		more(&b, "of", r.Of)
		more(&b, "items", r.Items)
		more(&b, "seconds", r.Seconds)
		more(&b, "rate", r.Rate)
		more(&b, "freed", r.Freed.Bytes)
		more(&b, "lost", r.Lost)
		more(&b, "file", r.File)
	case record.OutOfMemory:
		fmt.Fprintf(&b, "out-of-memory%s requested=%s", lane(r.Lane), size(r.Requested))
		more(&b, "stage", r.Stage)
		more(&b, "batch", r.Batch)
		if r.Allowed.Bytes > 0 {
			fmt.Fprintf(&b, " allowed=%s", size(r.Allowed))
		}
		b.WriteString(sizes(&r.Reading))
	case record.Crash:
		fmt.Fprintf(&b, "crash%s %q", lane(r.Lane), r.Text)
	case record.FileStart:
		fmt.Fprintf(&b, "file-start pipeline=%t %q", r.Pipeline, r.Path)
	case record.FileEnd:
		fmt.Fprintf(&b, "file-end pipeline=%t %q %s", r.Pipeline, r.Path, r.Status)
	case record.Sample:
		fmt.Fprintf(&b, "sample%s%s pid=%d", lane(r.Lane), sizes(&r.Reading), r.PID)
	case record.Exit:
		fmt.Fprintf(&b, "exit code=%d signal=%q", r.Code, r.Signal)
	case record.SyntaxError:
		fmt.Fprintf(&b, "unreadable: expected %s, found %q", r.Expected, r.Found)
	case record.Warning:
		fmt.Fprintf(&b, "warning %s %q", r.Level, r.Text)
	default:
		b.WriteString(strings.TrimPrefix(fmt.Sprintf("%T", rec), "record."))
	}
	return b.String() + "\n"
}

// more writes a field if it is set.
func more[T comparable](b *strings.Builder, key string, value T) {
	var none T
	if value != none {
		fmt.Fprintf(b, " %s=%v", key, value)
	}
}

func lane(l record.Lane) string {
	s := ""
	if l.Device != 0 {
		s += fmt.Sprintf(" gpu%d", l.Device)
	}
	if l.Rank != 0 {
		s += fmt.Sprintf(" rank%d", l.Rank)
	}
	return s
}

func sizes(r *record.Reading) string {
	var b strings.Builder
	for q, v := range r.All() {
		fmt.Fprintf(&b, " %s=%s", q, size(v))
	}
	return b.String()
}

func size(s record.Size) string {
	if s.Bytes%record.MiB == 0 {
		return fmt.Sprintf("%dMiB", s.Bytes/record.MiB)
	}
	return fmt.Sprintf("%dB", s.Bytes)
}
