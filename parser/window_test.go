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
		checkWindows(t, name, log)
	}
}

// TestWritersInSmallWindows: the records of a log of several processes are the same in windows of
// any size: readings, blocks, tables, and lines that were stored in parts.
func TestWritersInSmallWindows(t *testing.T) {
	checkWindows(t, "writers", writersLog())
	var log bytes.Buffer
	for i := range 200 {
		const head = "2026-11-20T02:00:03.1Z std"
		fmt.Fprintf(&log, "%sout P [G\n", head)
		log.WriteString(strings.Repeat(head+"err F noise\n", 10*(i%30)))
		fmt.Fprintf(&log, "%sout F PU Memory] After File %d: Allocated: %d.25GB\n", head, i, i%7)
	}
	checkWindows(t, "parts without a needle", log.Bytes())
	got := dump(t, source.Stream(bytes.NewReader(log.Bytes()), 1<<20))
	if n := strings.Count(got, "After File"); n != 200 {
		t.Errorf("got %d readings of lines in parts, want 200", n)
	}
}

// writersLog returns a log of four pods, whose lines alternate.
func writersLog() []byte {
	const bar = "==========================================================================="
	pods := make([][]string, 4)
	for i := range 200 {
		for r := range pods {
			add := func(tag, text string, args ...any) {
				head := fmt.Sprintf("[pod/asr-%d/main] 2026-11-20T02:00:%02d.%03dZ stderr %s ",
					r, i%60, len(pods[r])%1000, tag)
				pods[r] = append(pods[r], head+fmt.Sprintf(text, args...))
			}
			switch {
			case r == 3 && i == 0:
				add("F", "index, memory.used [MiB], memory.total [MiB]")
			case r == 3:
				add("F", "0, %d MiB, 8192 MiB", 700+i)
			case i%20 == 7:
				add("F", "|%s|", bar)
				add("F", "|                  PyTorch CUDA memory summary, device ID 0                 |")
				add("F", "|---------------------------------------------------------------------------|")
				add("F", "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |")
				add("F", "|---------------------------------------------------------------------------|")
				add("F", "| Allocated memory      |   %d MiB |   4000 MiB |  22536 MiB |  16911 MiB |", 1000+i)
				add("F", "|%s|", bar)
			case r == 1 && i%5 == 3:
				add("P", " 40%%|####   | 4/10 [00:03<00:05,  1.10it/s]\r[GPU Memory] After Wh")
				add("P", "isper %d: Allo", i)
				if i%10 == 3 { // other processes print much before the line goes on
					for range 300 {
						pods[0] = append(pods[0], strings.Repeat("noise ", 40))
					}
					for range 300 {
						pods[1] = append(pods[1], "")
					}
				}
				add("F", "cated: %d.18GB | Reserved: 50.50GB", i%7)
			default:
				add("F", "[GPU Memory] After File %d: Allocated: %d.25GB", i, i%7)
			}
		}
	}
	var log bytes.Buffer
	for i := range len(pods[0]) {
		for r := range pods {
			if i < len(pods[r]) && pods[r][i] != "" {
				fmt.Fprintln(&log, pods[r][i])
			}
		}
	}
	log.WriteString("[pod/asr-2/main] 2026-11-20T02:00:03.1Z stderr P [GPU Memory] After: " +
		"Allocated: 1.00GB\n[pod/asr-0/main] 2026-11-20T02:00:03.1Z stderr F [GPU Memory] End: " +
		"Allocated: 1.00GB\n")
	return log.Bytes()
}

// checkWindows compares the records of a log in windows of several sizes.
func checkWindows(t *testing.T, name string, log []byte) {
	t.Helper()
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
	line := 0
	for batch, err := range soaklog.ResolveQuotes(scan.Batches(src, "log", allDialects())) {
		for i := range batch.Entries {
			rec := batch.Entries[i].Record(batch.Line)
			if n := rec.At().Line; n < line {
				t.Errorf("line %d comes behind line %d", n, line)
			} else {
				line = n
			}
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
