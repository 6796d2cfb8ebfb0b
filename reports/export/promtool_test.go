package export_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
)

// TestHostileNames: whatever a log, a file or a stage is called, the outputs stay valid: a label
// has no line break, and every text is UTF-8.
func TestHostileNames(t *testing.T) {
	name := "a\"b\\c\nd\xff\x1b[31m\u202e.log"
	trace, text := both(t, log{name, `[pipeline] file-start path="\"\n\\"
2026-11-20T02:00:00Z [GPU Memory] Before "Wörk" ` + "\xfe" + `: Allocated: 1.00GB
2026-11-20T02:00:01Z [GPU Memory] After "Wörk" ` + "\xfe" + `: Allocated: 1.00GB
`})
	for _, out := range []string{string(text), decode(t, trace)} {
		if !utf8.ValidString(out) || strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("not safe: %q", out)
		}
	}
	// \ and " are escaped; the other characters are spelled out, and their \ is escaped.
	const want = `vramsoak_memory_bytes{log="a\"b\\c\\nd\\xff\\x1b[31m\\u202e.log",` +
		`source="checkpoint",ledger="allocated",device="0",rank="0"} 1073741824 1795140000.000`
	if !strings.Contains(string(text), want+"\n") {
		t.Errorf("want %s in\n%s", want, text)
	}
	if !strings.Contains(decode(t, trace), `begin "Wörk" �`) {
		t.Errorf("no stage in\n%s", decode(t, trace))
	}
	promtoolReads(t, text)
}

// promtoolReads reads a text with times into a database of Prometheus, and returns the dump of the
// database. It skips the rest of the test where promtool is missing.
func promtoolReads(t *testing.T, text []byte) string {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not here")
	}
	dir := t.TempDir()
	file, blocks := filepath.Join(dir, "run.om"), filepath.Join(dir, "blocks")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// dump expects the log of a database that is in use.
	if err := os.MkdirAll(filepath.Join(blocks, "wal"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"tsdb", "create-blocks-from", "openmetrics", file, blocks}, {"tsdb", "dump", blocks},
	} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		text = out
	}
	return string(text)
}

// TestPromtool: Prometheus's tool puts an export into a database, with every point and its time.
func TestPromtool(t *testing.T) {
	_, text := both(t, log{"run.log", `[pipeline] file-start path=a.wav
2026-11-20T02:00:00.250Z [GPU Memory] Before Work: Allocated: 1.00GB
2026-11-20T02:00:01Z [GPU Memory] After Work: Allocated: 3.00GB
[pipeline] file-end path=a.wav status=ok
`})
	dump := promtoolReads(t, text)
	// date -ud 2026-11-20T02:00:00Z +%s prints 1795140000.
	for _, want := range []string{
		`source="checkpoint"} 1.073741824e+09 1795140000250`, // 1 GiB
		`source="checkpoint"} 3.221225472e+09 1795140001000`,
		`{__name__="vramsoak_files_total", log="run.log", status="ok"} 1 1795140001000`,
		`{__name__="vramsoak_file_seconds", log="run.log"} 0.75 1795140001000`,
		`{__name__="vramsoak_log_info", log="run.log", times="dated"} 1 1795140000250`,
	} {
		if !strings.Contains(dump, want+"\n") {
			t.Errorf("want %s in\n%s", want, dump)
		}
	}
}

// TestPrometheusParser: Prometheus's parser reads the text of each log in testdata.
func TestPrometheusParser(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" {
		t.Skip("make test-prometheus runs this test")
	}
	goldens, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(goldens) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	dir := t.TempDir()
	args := []string{"run", "-C", "../../ci/prometheus", "."}
	for _, path := range goldens {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, text := both(t, logsOf(golden.Case{Archive: archive})...)
		file := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
