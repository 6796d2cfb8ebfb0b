package export_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
)

// A processor is Perfetto's own trace processor, in the folder where ci/perfetto/fetch.sh put it.
type processor struct{ dir string }

// newProcessor returns the trace processor, or skips the test if TRACE_PROCESSOR does not name its
// folder.
func newProcessor(t *testing.T) processor {
	t.Helper()
	dir := os.Getenv("TRACE_PROCESSOR")
	if dir == "" {
		t.Skip("make test-perfetto runs this test")
	}
	return processor{dir}
}

// query returns the rows of each query, on each trace.
func (p processor) query(t *testing.T, traces [][]byte, sql ...string) [][]map[string]any {
	t.Helper()
	args := []string{"../../ci/perfetto/query.mjs", p.dir}
	dir := t.TempDir()
	for i, trace := range traces {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(path, trace, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Stdin = strings.NewReader(strings.Join(sql, ";\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]map[string]any
	for line := range strings.Lines(string(out)) {
		var rows []map[string]any
		if err := json.Unmarshal([]byte(line), &rows); err != nil {
			t.Fatal(err)
		}
		all = append(all, rows)
	}
	if len(all) != len(traces)*len(sql) {
		t.Fatalf("%d answers to %d queries on %d traces", len(all), len(sql), len(traces))
	}
	return all
}

// faults asks what the trace processor could not read, or had to leave out.
const faults = `select name, value from stats
	where severity in ('error', 'data_loss') and value > 0`

// TestTraceProcessor: Perfetto reads a trace without a fault, and finds its slices, counters,
// events and arguments.
func TestTraceProcessor(t *testing.T) {
	p := newProcessor(t)
	const second = "2026-11-20T02:00:0"
	trace, _ := both(t, log{"run.log", `[pipeline] file-start path=audio/a.wav
` + second + `0.000Z [GPU Memory] Before Transcription: Allocated: 1.00GB | Reserved: 2.00GB
` + second + `3.500Z [GPU Memory] Before Whisper Cleanup: Allocated: 7.00GB | Reserved: 8.00GB
` + second + `4.000Z [GPU Memory] After Whisper Cleanup: Allocated: 1.00GB | Reserved: 2.00GB
` + second + `4.000Z [GPU Memory] After Transcription: Allocated: 1.00GB | Reserved: 2.00GB
[pipeline] file-end path=audio/a.wav status=ok
` + second + `5.000Z torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.
`})
	got := p.query(t, [][]byte{trace}, faults, `
		select (s.ts - (select start_ts from trace_bounds)) / 1000000 as ms, s.dur / 1000000 as dur,
			s.depth, s.category, s.name, t.name as track, extract_arg(s.arg_set_id, 'debug.file') as file
		from slice s join track t on s.track_id = t.id order by s.ts, s.depth, s.name`, `
		select t.name, ct.unit, count(*) as n, max(c.value) as most
		from counter c join counter_track ct on c.track_id = ct.id join track t on t.id = ct.id
		join track g on t.parent_id = g.id where g.name = 'device 0' group by t.id order by t.name`, `
		select cast(to_realtime(start_ts) as text) as began from trace_bounds`)
	row := func(fields ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			m[fields[i].(string)] = fields[i+1]
		}
		return m
	}
	slice := func(ms, dur, depth float64, category any, name, track string, file any) map[string]any {
		return row("ms", ms, "dur", dur, "depth", depth, "category", category, "name", name,
			"track", track, "file", file)
	}
	counter := func(name string, most float64) map[string]any {
		return row("name", name, "unit", "bytes", "n", 4.0, "most", most)
	}
	const gib = 1 << 30
	want := [][]map[string]any{
		{},
		{
			slice(0, 4000, 0, "stage", "Transcription", "stages", "audio/a.wav"),
			slice(0, 4000, 0, "file", "a.wav", "files", nil),
			slice(3500, 500, 1, "stage", "Whisper Cleanup", "stages", "audio/a.wav"),
			slice(5000, 0, 0, "out-of-memory", "out of memory", "events", "outside of files"),
		},
		{
			counter("allocated", 7*gib), counter("reserved", 8*gib),
			counter("reserved - allocated", gib),
		},
		{row("began", "1795140000000000000")}, // date -ud 2026-11-20T02:00:00Z +%s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTraceProcessorReadsAll: Perfetto reads the trace of each log in testdata without a fault, and
// finds as many values as were written.
func TestTraceProcessorReadsAll(t *testing.T) {
	p := newProcessor(t)
	goldens, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(goldens) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	var traces [][]byte
	for _, path := range goldens {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		trace, _ := both(t, logsOf(golden.Case{Archive: archive})...)
		traces = append(traces, trace)
	}
	got := p.query(t, traces, faults, `select count(*) as n from slice where name is not null`,
		`select count(*) as n from counter`)
	for i, path := range goldens {
		faults, slices, counters := got[3*i], got[3*i+1][0]["n"], got[3*i+2][0]["n"]
		text := decode(t, traces[i])
		begun := strings.Count(text, ": begin ") + strings.Count(text, " > events: ")
		values := strings.Count(text, "\n") - strings.Count(text, "track ") - begun -
			strings.Count(text, ": end ")
		if len(faults) > 0 || slices != float64(begun) || counters != float64(values) {
			t.Errorf("%s: %v slices, %v values, want %d, %d; faults: %v", path, slices, counters, begun,
				values, faults)
		}
	}
}
