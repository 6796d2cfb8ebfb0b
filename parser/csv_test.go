package parser_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
)

// FuzzCSV: rows of CSV with random content give no size below 0. The header is random, or that of
// a real program such as nvidia-smi.
func FuzzCSV(f *testing.F) {
	for _, header := range []string{
		"timestamp, index, memory.used [MiB], memory.total [MiB]",
		"memory.used, memory.free", "uuid, name, memory.used [MiB]",
		"pid, process_name, used_gpu_memory [MiB]",
		"timestamp,gpu_util(%),memory_used(MB),memory_total(MB)",
		"# gpu   pwr    fb  bar1\n# Idx    W    MB    MB",
	} {
		f.Add(
			[]byte(header),
			[]byte(
				"2024/01/02 03:04:05.678, 0, 1234 MiB, 24564 MiB\n"+
					"2024/01/02 03:04:05.678, 1, [N/A], 24564 MiB\n",
			),
		)
		f.Add([]byte(header), []byte("GPU-1, \"A, B\", 12\n    0    80  1234     5\n1,python,7 MiB"))
	}
	f.Fuzz(func(t *testing.T, header, rows []byte) {
		log := append(append(bytes.Clone(header), '\n'), rows...)
		if bad, ok := dialect.FindHeadless(log, "fuzz"); ok && bad.Pos.Line < 1 {
			t.Fatalf("got %v, want a line of the log", bad)
		}
		for rec := range fuzzed(t, log, "fuzz") {
			if c, ok := rec.(record.Checkpoint); ok &&
				(c.Bytes(record.Used) < 0 || c.Bytes(record.Total) < 0) {
				t.Fatalf("got %+v, want sizes of 0 or more", c)
			}
		}
	})
}

// TestRowsAboveTheirHeader: the error for rows without a header has the number of the row, and
// comes before the records of the lines between the row and the header.
func TestRowsAboveTheirHeader(t *testing.T) {
	t.Parallel()
	const header = "timestamp, index, memory.used [MiB], memory.total [MiB]\n"
	for _, c := range []struct{ log, want string }{
		{
			"2026/11/20 02:00:01.123, 0, 1024, 24576\n[GPU Memory] After A: Allocated: 1.00GB\n" + header,
			"1 unreadable, 2 After A",
		},
		{
			"[rank0]: 2026/11/20 02:00:01.123, 0, 1024, 24576\n" +
				strings.Repeat("[rank1]: [GPU Memory] After A: Allocated: 1.00GB\n", 3) +
				"[rank0]: " + header,
			"1 unreadable, 2 After A, 3 After A, 4 After A",
		},
	} {
		var got []string
		for rec := range records(t, c.log) {
			name := "unreadable"
			if checkpoint, ok := rec.(record.Checkpoint); ok {
				name = checkpoint.Name
			}
			got = append(got, fmt.Sprintf("%d %s", rec.At().Line, name))
		}
		if found := strings.Join(got, ", "); found != c.want {
			t.Errorf("got %s, want %s", found, c.want)
		}
	}
}
