package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramsoak/parser"
)

// within demands one of some exit codes, and that what was resident is within the bound for so many
// bytes.
func within(t *testing.T, size int64, got ran, codes ...int) {
	t.Helper()
	t.Logf("%s of %s", parser.FormatBytes(got.peak), parser.FormatBytes(readMax(size)))
	if !slices.Contains(codes, got.code) {
		t.Errorf("exit code %d, expected one of %v: %.300s", got.code, codes, got.err)
	}
	if got.peak > readMax(size) {
		t.Errorf("%s were resident, expected at most %s", parser.FormatBytes(got.peak), parser.FormatBytes(readMax(size)))
	}
}

// TestMemoryOfBaselinesAndProfiles reads logs whose files, devices and names multiply if each has a
// place for all others, and logs of many short lines.
func TestMemoryOfBaselinesAndProfiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const short = "[GPU Memory] %s: Allocated: %dGB\n"
	fed := func(b *bytes.Buffer, i int, name, lane string) {
		fmt.Fprintf(b, "[vramsoak] file-start index=%d path=%d.wav\n", i+1, i)
		fmt.Fprintf(b, printed, "Before "+name, 1, 1<<30, lane)
		fmt.Fprintf(b, printed, "After "+name, 0, 0, lane)
		fmt.Fprintf(b, "[vramsoak] file-end index=%d path=%d.wav status=ok seconds=1.000\n", i+1, i)
	}
	const save, learn, hold = "baseline save --force -o OUT LOG", "profile LOG", "compare LOG LOG"
	for _, tt := range []struct {
		name  string
		n     int
		write func(b *bytes.Buffer, i int)
		// runs are command lines and their exit codes.
		runs map[string]int
	}{
		{"a device for each file", 3000, func(b *bytes.Buffer, i int) {
			fed(b, i, "Model Cleanup", fmt.Sprintf("device=%d", i))
		}, map[string]int{save: 0, hold: 0, learn: 2}},
		{"a cleanup for each file", 3000, func(b *bytes.Buffer, i int) {
			fed(b, i, fmt.Sprintf("Model %c%d Cleanup", 'A'+i%26, i), "device=0")
		}, map[string]int{save: 0, hold: 0, learn: 2}},
		{"a stage for each file", 3000, func(b *bytes.Buffer, i int) {
			fed(b, i, fmt.Sprintf("Stage %c%d", 'A'+i%26, i), "device=0")
		}, map[string]int{save: 0, learn: 2}},
		{"one file of many readings", 400_000, func(b *bytes.Buffer, i int) {
			switch i {
			case 0:
				fmt.Fprintf(b, "[pipeline] file-start path=a.wav\n"+short, "Before S", 0)
			case 399_999:
				fmt.Fprintf(b, short+"[pipeline] file-end path=a.wav status=ok\n", "After S", 0)
			default:
				fmt.Fprintf(b, short, "G", 1)
			}
		}, map[string]int{save: 0, learn: 0}},
		{"one reading that recurs", 200_000, func(b *bytes.Buffer, _ int) {
			fmt.Fprintf(b, short, "G", 1)
		}, map[string]int{learn: 2}},
		{"one stage that recurs", 50_000, func(b *bytes.Buffer, _ int) {
			fmt.Fprintf(b, short+short, "Before S", 0, "After S", 0)
		}, map[string]int{save: 0, learn: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path, size := logOf(t, tt.n, tt.write)
			for line, code := range tt.runs {
				args := strings.NewReplacer("LOG", path, "OUT", filepath.Join(t.TempDir(), "b.json")).Replace(line)
				read := size * int64(strings.Count(line, "LOG"))
				t.Log(line)
				within(t, read, measuredRun(t, "", strings.Fields(args)...), code)
			}
		})
	}
}
