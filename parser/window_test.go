//go:build !race

package parser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// TestWindows: reading a log in windows gives the same records for every window size, from a file
// or from a stream.
func TestWindows(t *testing.T) {
	for name, log := range windowLogs(t) {
		whole := dump(t, source.Stream(bytes.NewReader(log), len(log)+1))
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, log, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, chunk := range []int{1, 61, 4096, 70_001} {
			if len(log)/chunk > 2000 {
				continue
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for kind, src := range map[string]source.Source{
				// with this size, a stream never cuts a complete line
				"stream": source.Stream(bytes.NewReader(log), source.Margin+chunk),
				"file":   source.File(file, int64(len(log)), int64(chunk)),
			} {
				if got := dump(t, src); got != whole {
					t.Errorf("%s as a %s in windows of %d bytes: %s", name, kind, chunk,
						firstDifference(got, whole))
				}
			}
			_ = file.Close()
		}
	}
}

// windowLogs returns the logs in fixtures/parser and fixtures/logs, and some that are difficult
// to cut into windows.
func windowLogs(t *testing.T) map[string][]byte {
	const line = "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) | Total: 24.00GB"
	logs := map[string][]byte{
		"carriage returns": []byte(strings.Repeat(line+"\r", 300)),
		"crlf":             []byte(strings.Repeat(line+"\r\n\r\nx\r\n", 300)),
		"one long line":    []byte(strings.Repeat(strings.Repeat("#", 5000)+line, 60)),
		"empty lines":      []byte(strings.Repeat("\n\r\r\n\n", 300) + line),
		"no end":           []byte("x\n" + line),
		"a reading first": []byte(
			"[08/11 12:00:00 d2.utils.events]:  eta: 0:12:34  iter: 19  max_mem: 2847M\n" + line),
	}
	for _, dir := range []string{"../fixtures/parser", "../fixtures/logs"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			logs[path], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return logs
}

func dump(t *testing.T, src source.Source) string {
	t.Helper()
	var b strings.Builder
	for batch, err := range soaklog.ResolveQuotes(scan.Batches(src, "log", allDialects())) {
		for i := range batch.Entries {
			rec := batch.Entries[i].Record(batch.Line)
			var reading record.Reading
			switch r := rec.(type) {
			case record.Checkpoint:
				reading, r.Reading = r.Reading, record.Reading{}
				rec = r
			case record.Change:
				reading, r.Reading = r.Reading, record.Reading{}
				rec = r
			case record.OutOfMemory:
				reading, r.Reading = r.Reading, record.Reading{}
				rec = r
			}
			fmt.Fprintf(&b, "%+v", rec)
			for q, s := range reading.All() {
				fmt.Fprintf(&b, " %s=%+v", q, s)
			}
			b.WriteByte('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	return b.String()
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range as {
		if i >= len(bs) || as[i] != bs[i] {
			return fmt.Sprintf("record %d is %s, want %s", i, as[i], bs[min(i, len(bs)-1)])
		}
	}
	return fmt.Sprintf("%d records are missing", len(bs)-len(as))
}
