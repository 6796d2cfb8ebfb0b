package parser_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestBlocksOfTwoRanks: two ranks print a block of lines at the same time, line by line. Each block
// is read for its rank, however the lines are marked.
func TestBlocksOfTwoRanks(t *testing.T) {
	t.Parallel()
	block := func(mib int) []string {
		return []string{
			"|===========================================================================|",
			"|                  PyTorch CUDA memory summary, device ID 0                 |",
			"|---------------------------------------------------------------------------|",
			"|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |",
			"|---------------------------------------------------------------------------|",
			fmt.Sprintf("| Allocated memory      |   %d MiB |   %d MiB |  22536 MiB |  16911 MiB |",
				mib, mib),
			"|===========================================================================|",
		}
	}
	for _, prefix := range []string{
		"[rank%d]: ", "%d: ", "[1,%d]<stdout>:", "worker-%d  | ", "[pod/a-%d/b] ",
	} {
		var log strings.Builder
		for i, line := range block(1000) {
			fmt.Fprintf(&log, prefix+"%s\n"+prefix+"%s\n", 0, line, 1, block(2000)[i])
		}
		got := map[int64]string{}
		for rec := range records(t, log.String()) {
			if c, ok := rec.(record.Checkpoint); ok {
				got[c.Bytes(record.Allocated)>>20] = c.Writer
			}
		}
		if len(got) != 2 || got[1000] == "" || got[2000] == "" || got[1000] == got[2000] {
			t.Errorf("%q: got %v", prefix, got)
		}
	}
}

// records yields the records of a log.
func records(t *testing.T, log string) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		for rec, err := range parser.Read(strings.NewReader(log), "run.log") {
			if err != nil {
				t.Error(err)
			} else if !yield(rec) {
				return
			}
		}
	}
}

// TestPartsOfALine: a log driver stored a line in several parts, and lines of the other stream
// between them. The line has the number of its last part.
func TestPartsOfALine(t *testing.T) {
	t.Parallel()
	const log = `2026-11-20T02:00:03.1Z stdout P [GPU Memory] After Whi
2026-11-20T02:00:03.2Z stderr F Segmentation fault (core dumped)
2026-11-20T02:00:03.3Z stdout P sper Cleanup: Alloca
2026-11-20T02:00:03.4Z stdout F ted: 0.18GB
2026-11-20T02:00:03.5Z stdout P [GPU Memory] After File: Allocated: 0.20GB
`
	var got []string
	for rec := range records(t, log) {
		switch r := rec.(type) {
		case record.Checkpoint:
			got = append(got, fmt.Sprintf("%d %s", r.Pos.Line, r.Name))
		case record.Crash:
			got = append(got, fmt.Sprintf("%d %s", r.Pos.Line, r.Text))
		}
	}
	want := "2 Segmentation fault (core dumped), 4 After Whisper Cleanup, 5 After File"
	if found := strings.Join(got, ", "); found != want {
		t.Errorf("got %s, want %s", found, want)
	}
}

// TestPartsInJSON: Docker stored a long line of stdout in two parts, and a line of stderr between
// them. Blanks behind the colons do not matter.
func TestPartsInJSON(t *testing.T) {
	t.Parallel()
	const end = "[GPU Memory] After Whisper Cleanup: Allo"
	log := `{"log":"` + strings.Repeat(".", 16<<10-len(end)-2) + `\r\n` + end +
		`","stream":"stdout","time":"2026-11-20T02:00:03.1Z"}
{"log":"[GPU Memory] After F: Allocated: 0.20GB\n","stream":"stderr","time":"2026-11-20T02:00:04Z"}
{"log":"cated: 0.18GB\n","stream":"stdout","time":"2026-11-20T02:00:05Z"}
`
	const want = "2 After F 02:00:04, 3 After Whisper Cleanup 02:00:05"
	blanks := strings.NewReplacer(`":"`, `": "`, `","`, `", "`)
	for _, text := range []string{log, blanks.Replace(log)} {
		var got []string
		for rec := range records(t, text) {
			if c, ok := rec.(record.Checkpoint); ok {
				got = append(got, fmt.Sprintf("%d %s %s", c.Pos.Line, c.Name, c.Time.Format("15:04:05")))
			}
		}
		if found := strings.Join(got, ", "); found != want {
			t.Errorf("got %s, want %s", found, want)
		}
	}
}

// TestBarsInParts: a log driver stored a line with several states of a bar in two parts. Only the
// last state goes on in the second part.
func TestBarsInParts(t *testing.T) {
	t.Parallel()
	const log = "2026-11-20T02:00:03.1Z stderr F hello\n" +
		"2026-11-20T02:00:03.1Z stderr P  0%|  | 0/10 [00:00<?, ?it/s]\r 10%|# | 1/10 " +
		"[00:01<00:05,  1.1it/s]\r[GPU Memory] After A: Allo\n" +
		"2026-11-20T02:00:03.1Z stderr F cated: 0.18GB | Reserved: 0.50GB\r[GPU Memory] After B: " +
		"Allocated: 0.20GB\n"
	var got []string
	for rec := range records(t, log) {
		if c, ok := rec.(record.Checkpoint); ok {
			got = append(got, fmt.Sprintf("%d %s", c.Pos.Line, c.Name))
		} else {
			got = append(got, fmt.Sprintf("%+v", rec))
		}
	}
	if found := strings.Join(got, ", "); found != "3 After A, 3 After B" {
		t.Errorf("got %s", found)
	}
}

// TestTableOfManyWriters: more processes have a table than are kept from window to window. The
// process that still prints rows keeps its header.
func TestTableOfManyWriters(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	const header = "index, memory.used [MiB], memory.total [MiB]"
	rows := 0
	for i := range 300 {
		fmt.Fprintf(&log, "[pod/a-%d/b] %s\n[pod/a-%[1]d/b] 0, 7 MiB, 8192 MiB\n", i, header)
	}
	for rows = 300; log.Len() < 1200_000; rows++ {
		fmt.Fprintf(&log, "[pod/a-0/b] 0, %d MiB, 8192 MiB\n%s", rows, strings.Repeat("noise\n", 300))
	}
	got := 0
	for rec := range records(t, log.String()) {
		if _, ok := rec.(record.Checkpoint); ok {
			got++
		}
	}
	if got != rows {
		t.Errorf("got %d readings, want %d", got, rows)
	}
}

// TestWrappedLineBehindATable: a wrapped line in the middle of a window changes no reading of the
// rows before it.
func TestWrappedLineBehindATable(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	log.WriteString("timestamp, memory.used [MiB], memory.total [MiB]\n")
	for i := 0; log.Len() < 800_000; i++ {
		if log.Len() > 700_000 && log.Len() < 700_100 {
			log.WriteString("1: [GPU Memory] After A: Allocated: 0.18GB\n")
		}
		for d := range 2 {
			fmt.Fprintf(&log, "2026/11/20 02:%02d:%02d.%d, %d MiB, 24000 MiB\n", i/60%60, i%60, 100+2*d,
				1000+8000*d)
		}
	}
	for rec := range records(t, log.String()) {
		c, ok := rec.(record.Checkpoint)
		if ok && c.Lane.Rank == 0 && c.Bytes(record.Used)>>20 != int64(1000+8000*c.Lane.Device) {
			t.Fatalf("line %d: device %d has %d MiB", c.Pos.Line, c.Lane.Device,
				c.Bytes(record.Used)>>20)
		}
	}
}
