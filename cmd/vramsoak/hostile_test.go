package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// hostile is what a name may hold: a line of its own, commands of CI systems, escape sequences, C1
// controls, marks that reorder text, a line separator, bytes that are no UTF-8, markup.
const hostile = "=x\nFORGED: 1\n ::error::FORGED\r\x1b[31m\x1b]0;t\x07\u0085\u009b31m\u202e\u2066\u2028" +
	"##[error]x##vso[a.b]" +
	"section_start:1:a\r\x1b[0K\x9b\xff|`*<b>@all\t\x7f"

// hostileText is as hostile, and UTF-8: YAML and JSON can hold it.
var hostileText = strings.ToValidUTF8(hostile, "")

// demandHarmless demands that text of outside origin did nothing in an output.
func demandHarmless(t *testing.T, what string, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		t.Errorf("%s: not UTF-8: %q", what, text)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		bare := strings.TrimSpace(line)
		command := func(c string) bool { return strings.Contains(strings.ToLower(line), c) }
		if strings.HasPrefix(line, "FORGED") || strings.HasPrefix(bare, "::") ||
			slices.ContainsFunc([]string{"##[", "##vso[", "section_start:"}, command) {
			t.Errorf("%s: a line or a command of another: %q", what, line)
		}
		for _, r := range line {
			if unicode.IsControl(r) && r != '\t' || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
				t.Errorf("%s: %+q in %q", what, r, line)
				break
			}
		}
	}
}

// A hostileRun runs vramsoak in a folder, and demands that what it prints is harmless.
type hostileRun struct {
	t   *testing.T
	dir string
	env []string
}

// run returns what a command prints on stdout. code is its exit code, -1 for any.
func (h hostileRun) run(code int, args ...string) []byte {
	h.t.Helper()
	return h.fed("", code, args...)
}

// fed is run with standard input.
func (h hostileRun) fed(in string, code int, args ...string) []byte {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute) // against a hang; nothing is measured by it
	defer cancel()
	cmd := exec.CommandContext(ctx, "vramsoak", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, append(os.Environ(), h.env...), strings.NewReader(in)
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	err := cmd.Run()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		h.t.Fatal(err)
	}
	what := "vramsoak " + strings.Join(args, " ")
	if code >= 0 && got != code {
		h.t.Errorf("%q: exit code %d, want %d: %s", what, got, code, diagnostics.Bytes())
	}
	if got == 2 && diagnostics.Len() == 0 {
		h.t.Errorf("%q: trouble without a word", what)
	}
	demandHarmless(h.t, strconv.Quote(what)+" stdout", out.Bytes())
	demandHarmless(h.t, strconv.Quote(what)+" stderr", diagnostics.Bytes())
	return out.Bytes()
}

func (h hostileRun) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// hostileLog is a log whose every text is hostile.
func hostileLog() string {
	inLine := strings.NewReplacer("\n", " ", "\r", " ").Replace(hostile)
	quoted := strconv.Quote(hostile)
	var b strings.Builder
	for i := range 12 {
		n := strconv.Itoa(i + 1)
		b.WriteString("[pipeline] file-start path=" + strconv.Quote(hostile+n) + "\n")
		for _, c := range []string{"Before Whisper Cleanup", "After Whisper Cleanup"} {
			b.WriteString("[GPU Memory] " + c + inLine + ": Allocated: 1.00GB | Reserved: 2.00GB | Total: 8.00GB\n")
		}
		b.WriteString("[GPU Memory] " + inLine + ": Allocated: " + inLine + "\n" + hostile + "\n")
		status := "ok"
		if i == 0 {
			b.WriteString("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. ")
			b.WriteString(inLine + "\n")
			status = "failed error=" + quoted
		}
		b.WriteString("[pipeline] file-end path=" + strconv.Quote(hostile+n) + " status=" + status + "\n")
	}
	return b.String()
}

// TestHostileArguments gives every command hostile text where it takes text. Nothing is there that
// has the name.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	dir := t.TempDir()
	h := hostileRun{t, dir, []string{"CUDA_VISIBLE_DEVICES=" + hostile, "PYTORCH_CUDA_ALLOC_CONF=" + hostile}}
	h.write("run.log", "[GPU Memory] a: Allocated: 1.00GB | Reserved: 2.00GB | Total: 8.00GB\n")
	h.write("empty.log", "")
	h.write("s.yaml", "gpu: 16GiB\nfiles: {count: 2, seconds: 5}\nstages:\n  - name: a\n    allocate: 1GiB\n")
	x := hostile
	for _, args := range [][]string{
		{x},
		{"--" + x},
		{"check", x},
		{"check", "a", "--" + x},
		{"check", "run.log", "--policy", x},
		{"check", "run.log", "--dialect", x},
		{"check", "run.log", "--format", x},
		{"check", "run.log", "--baseline", x},
		{"parse", x},
		{"parse", "run.log", "--format", x},
		{"parse", "run.log", "--dialect-file", x},
		{"parse", "run.log", "--dialect", x},
		{"parse", "--follow", x, x},
		{"plot", x},
		{"plot", "run.log", "-o", x},
		{"plot", "run.log", "-o", x + "/a.png"},
		{"plot", "run.log", "--over", x},
		{"plot", "run.log", "--fragmentation", "-o", x},
		{"compare", x, x},
		{"compare", "run.log", "run.log", "--format", x},
		{"baseline", "save", x},
		{"baseline", "save", "run.log", "-o", x + "/b"},
		{"baseline", "show", x},
		{"baseline", x},
		{"calibrate", x, x},
		{"history", "--db", x, "list"},
		{"history", "add", x, "--suite", x},
		{"history", "add", "run.log", "--suite", x, "--started", x},
		{"history", "trend", "--suite", x, "--metric", x, "--statistic", x},
		{"history", "show", x},
		{"history", "gate", x},
		{"history", x},
		{"profile", x},
		{"profile", "run.log", "-o", x + "/p"},
		{"snapshot", x},
		{"snapshot", "run.log"},
		{"replay", x},
		{"replay", "run.log", "--capacity", x},
		{"replay", "run.log", "--conf", x},
		{"replay", "run.log", "--placement", x, "--events", x},
		{"replay", "run.log"},
		{"simulate", x},
		{"simulate", "s.yaml", "--gpu", x},
		{"simulate", "s.yaml", "--trace", x + "/t"},
		{"validate", x},
		{"validate", "s.yaml", "--gpu", x},
		{"validate", "s.yaml", "--profile", x},
		{"validate", "s.yaml", "--policy", x},
		{"validate", "s.yaml", "--live", "--batch", x, "--", "true"},
		{"fixtures", "audio", "empty.log/" + x},
		{"fixtures", "audio", "b", "--seconds", x},
		{"fixtures", "model", "empty.log/" + x},
		{"doctor", x},
		{"doctor", "--free", "--run", x, "--yes"},
		{"soak", "--files", x, "--files", x + "2", "--", "true"},
		{"soak", "--resume", x},
		{"soak", "--runs", "empty.log/" + x, "--", "true"},
		{"soak", "--feed", x, "--", "true"},
		{"soak", "--on-crash", x, "--", "true"},
		{"soak", "--gpus", x, "--", "true"},
		{"soak", "--timeout", x, "--", "true"},
		{"soak", "--max-device-used", x, "--", "true"},
		{"soak", "--max-idle-used", x, "--", "true"},
		{"soak", "--policy", x, "--", "true"},
		{"soak", "--baseline", x, "--", "true"},
		{"soak", "--format", x, "--", "true"},
		{"soak", "--settle-limit", "0", "--", x},
		{"soak", "--settle-limit", "0", "--", "sh", "-c", "exit 3", x},
	} {
		t.Run(strings.ToValidUTF8(strings.Join(args, " "), "?"), func(t *testing.T) {
			t.Parallel()
			h := h
			h.t = t
			h.run(-1, args...)
		})
	}
}

// TestHostileLog judges and prints a log that is hostile in every text, under a hostile name.
func TestHostileLog(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	h := hostileRun{t: t, dir: t.TempDir()}
	name := hostile + ".log"
	h.write(name, hostileLog())
	h.run(1, "check", name)
	h.run(1, "check", name, "--format", "markdown")
	var report struct {
		Findings []struct {
			At      struct{ Path string }
			Subject string
		}
	}
	if err := json.Unmarshal(h.run(1, "check", name, "--format", "json"), &report); err != nil {
		t.Error(err)
	}
	demandXML(t, h.run(1, "check", name, "--format", "junit"))
	h.run(0, "parse", name)

	// Who reads the formats for programs has what the log has.
	paths := map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(h.run(0, "parse", name, "--format", "jsonl"))); ; {
		var record struct{ Kind, Path, Name string }
		if err := dec.Decode(&record); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if record.Kind == "file-start" {
			paths[record.Name] = true
		}
	}
	replaced := func(s string) string { return string([]rune(s)) } // as JSON has bytes that are no UTF-8
	if !paths[replaced(hostile+"1")] || len(paths) != 12 {
		t.Errorf("paths from JSON: %+q", slices.Collect(maps.Keys(paths)))
	}
	rows, err := csv.NewReader(bytes.NewReader(h.run(0, "parse", name, "--format", "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if strings.ContainsAny(cell, "\n\t") || cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("cell %q", cell)
			}
		}
	}

	h.run(0, "plot", name, "-o", "memory.svg")
	h.run(0, "plot", name, "--over", "files", "-o", "over.svg")
	h.run(0, "baseline", "save", name, "--force", "-o", "b.json")
	h.run(0, "baseline", "show", "b.json")
	h.run(-1, "compare", name, name)
	h.run(-1, "compare", name, "b.json", "--format", "markdown")
	h.run(-1, "compare", name, "b.json", "--format", "json")
	h.run(-1, "calibrate", name, name)
	h.run(-1, "profile", name, "-o", "profile.yaml")
	for range 2 {
		h.run(0, "history", "add", name, "--suite", hostile, "--commit", hostile, "--started", "2026-11-20T02:00:00Z")
	}
	h.run(0, "history", "list", "--suite", hostile)
	h.run(0, "history", "list", "--suite", "")
	h.run(0, "history", "show", "1")
	h.run(0, "history", "trend", "--suite", hostile, "-o", "trend.svg")
	h.run(-1, "history", "trend", "--suite", hostile, "--metric", hostile)
	h.run(-1, "history", "gate", "--suite", hostile)
	h.run(-1, "history", "gate", "--suite", hostile, "--accept", "--note", hostile)
	h.demandFiles(name)
}

// demandXML demands XML that a reader takes.
func demandXML(t *testing.T, text []byte) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
}

// demandFiles demands of every file below the folder that it is harmless, but for logs of
// pipelines, databases and pictures of pixels.
func (h hostileRun) demandFiles(except ...string) {
	h.t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(h.dir, path)
		binary := slices.Contains([]string{".png", ".db", ".wav"}, filepath.Ext(name)) ||
			strings.HasPrefix(d.Name(), "history.")
		if err != nil || d.IsDir() || binary || slices.Contains(except, name) {
			return err
		}
		text, err := os.ReadFile(path)
		if d.Name() == "soak.log" { // the harness's lines alone
			var own []string
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "[vramsoak] ") {
					own = append(own, line)
				}
			}
			text = []byte(strings.Join(own, ""))
		}
		demandHarmless(h.t, strconv.Quote(name), text)
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// TestHostileSoak soaks files with hostile names by a command that prints hostile lines and fails.
func TestHostileSoak(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	h := hostileRun{t: t, dir: t.TempDir()}
	name := "audio/" + strings.ReplaceAll(hostile, "/", "") + ".wav"
	h.write(name, "")
	h.write("audio/-@x.wav", "")
	h.write("log", hostileLog())
	h.write("words", hostile+"\n"+hostile)
	h.write("vramsoak.yaml", "require: [completeness]\n")
	soak := func(code int, args ...string) {
		t.Helper()
		h.run(code, append([]string{"soak", "--settle-limit", "0", "--files", "audio"}, args...)...)
	}
	soak(1, "--", "sh", "-c", "cat words; exit 3", "sh", "{}", hostile)
	soak(2, "--feed", "list", "--", "sh", "-c", "cat words >&2; kill -9 $$", hostile, "{list}")
	for _, format := range []string{"text", "json", "markdown", "junit"} {
		soak(1, "--format", format, "--", "sh", "-c", "cat log words; exit 3", "sh", "{}", hostile)
	}
	soak(1, "--runs", hostile, "--on-crash", "stop", "--",
		"sh", "-c", "cat log words; kill -9 $$", "sh", "{}")
	runs, _ := filepath.Glob(filepath.Join(h.dir, "*", "*", "soak.log"))
	if len(runs) != 6 {
		t.Errorf("%d runs", len(runs))
	}
	for _, log := range runs {
		dir, _ := filepath.Rel(h.dir, filepath.Dir(log))
		h.run(-1, "check", dir)
		h.run(-1, "soak", "--resume", dir)
		h.run(-1, "history", "add", dir, "--suite", hostile)
	}
	h.demandFiles(name, "audio/-@x.wav", "log", "words")

	// What resumes a run gets the names back to the byte.
	var names []string
	batch, err := os.ReadFile(filepath.Join(filepath.Dir(runs[0]), batchName))
	if err != nil {
		t.Fatal(err)
	}
	files, err := readBatch(filepath.Dir(runs[0]))
	if err != nil {
		t.Fatalf("%v: %s", err, batch)
	}
	for _, f := range files {
		names = append(names, f.Path)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"audio/-@x.wav", name}, names); diff != "" {
		t.Error(diff)
	}
}

// TestHostileFiles reads files of ours that somebody else wrote, with hostile text for each string
// in them.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	h := hostileRun{t: t, dir: t.TempDir()}
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) } // YAML takes it too
	x := q(hostileText)
	h.write("run.log", "[GPU Memory] a: Allocated: 1.00GB | Reserved: 2.00GB | Total: 8.00GB\nours 5\n")
	for i, policy := range []string{
		x + ": 1\n",
		"require: [" + x + "]\n",
		"gate: [" + x + "]\n",
		"peak: " + x + "\n",
		"peak: {" + x + ": 1}\n",
		"expect: [" + x + "]\n",
		"dialects: [{name: " + x + ", pattern: " + x + "}]\n",
		"dialects: [{name: ours, pattern: " + q("(?P<"+hostileText+">a)") + "}]\n",
		"dialects: [{name: ours, pattern: 'ours (?P<allocated>\\d+)', unit: " + x + "}]\n",
		"dialects: [{name: ours, pattern: " + q("ours "+hostileText+"(?P<allocated>\\d+)") + ", unit: GiB}]\n",
		hostile,
		"a: [\x1b\n",
		"a: \"\u202e##[error]\n::error::x\n",
	} {
		name := "policy" + strconv.Itoa(i) + ".yaml"
		h.write(name, policy)
		h.run(-1, "check", "run.log", "--policy", name)
		h.run(-1, "parse", "run.log", "--dialect-file", name)
	}
	// A name of a scenario has one line.
	line := q(strings.NewReplacer("\n", " ", "\r", " ", "\u0085", " ", "\u2028", " ").Replace(hostileText))
	scenario := func(stage string) string {
		return "name: " + line + "\ngpu: 16GiB\nfiles: {count: 2, seconds: 5}\nstages:\n  - " + stage + "\n"
	}
	for i, text := range []string{
		scenario("{name: " + line + ", tensors: [{name: " + line + ", size: 20GiB}]}"),
		scenario("{name: " + line + ", tensors: [{name: " + line + ", size: 1GiB}]}"),
		"name: " + x + "\ngpu: " + x + "\n",
		scenario("name: " + x),
		scenario("{name: " + x + ", " + x + ": 1}"),
		"env: {" + x + ": " + x + "}\ngpu: 16GiB\nstages: [" + x + "]\n",
		hostile,
	} {
		name := "scenario" + strconv.Itoa(i) + ".yaml"
		h.write(name, text)
		simulated, valid := 2, -1
		if i < 2 {
			simulated, valid = 0, 1-i // the first does not fit
		}
		h.run(simulated, "simulate", name)
		h.run(simulated, "simulate", name, "--trace", name+".trace")
		h.run(valid, "validate", name)
		h.run(-1, "validate", name, "--format", "json")
		h.run(-1, "validate", name, "--table")
	}
	for i, text := range []string{
		`{"schema":` + x + `}`, `{` + x + `:1}`, hostile, `{"schema":"vramsoak.manifest/1","files":[{"path":` + x + `}]}`,
		`{"files":[{"path":` + x + `}]}`,
	} {
		name := "file" + strconv.Itoa(i) + ".json"
		h.write(name, text)
		h.run(-1, "baseline", "show", name)
		h.run(-1, "check", "run.log", "--baseline", name)
		h.run(-1, "compare", "run.log", name)
		h.run(-1, "soak", "--files", name, "--", "true")
		h.run(-1, "validate", "scenario0.yaml", "--profile", name)
		h.run(-1, "snapshot", name)
		h.run(-1, "replay", name)
	}
	h.write("list.txt", hostile+"\n")
	h.run(2, "soak", "--files", "list.txt", "--", "true")
	for _, line := range []string{"a " + hostile, "# " + hostile, "c " + hostile, "q " + hostile} {
		h.fed(line+"\n", -1, "replay", "-")
	}
	h.fed(hostileLog(), 1, "check", "-")
}
