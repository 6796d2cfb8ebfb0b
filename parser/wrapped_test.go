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
// between them.
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
	want := "1 After Whisper Cleanup, 2 Segmentation fault (core dumped), 5 After File"
	if found := strings.Join(got, ", "); found != want {
		t.Errorf("got %s, want %s", found, want)
	}
}

// TestWritersInSmallWindows: the records of a log of several processes are the same if it is read
// in windows of any size.
func TestWritersInSmallWindows(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&log, "[rank%d]: [GPU Memory] After File: Allocated: %d.25GB\n%s", i%3, i%7,
			strings.Repeat("noise without a prefix\n", i%5))
	}
	want := 0
	for range 4 {
		n := 0
		for rec := range records(t, log.String()) {
			if c, ok := rec.(record.Checkpoint); ok {
				if n++; c.Lane.Rank != (n-1)%3 {
					t.Fatalf("reading %d is of rank %d", n, c.Lane.Rank)
				}
			}
		}
		if want == 0 {
			want = n
		}
		if n != 3000 || n != want {
			t.Errorf("got %d readings, want 3000", n)
		}
		log.WriteString(strings.Repeat("more noise\n", 20_000))
	}
}
