package check_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/wrapper"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A fixtureLog is a log of fixtures/.
type fixtureLog struct {
	name string
	text []byte
}

// fixtureLogs returns the text logs of fixtures/, apart from those of the given folders.
func fixtureLogs(t *testing.T) (logs []fixtureLog) {
	t.Helper()
	for _, pattern := range []string{
		"parser/*.txtar", "check/*.txtar", "logs/*/*", "compat/logs/*.log",
	} {
		paths, err := filepath.Glob("../../fixtures/" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			name := strings.TrimPrefix(path, "../../fixtures/")
			switch filepath.Ext(path) {
			case ".txtar":
				archive, err := txtar.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range archive.Files {
					if f.Name == "run.log" {
						logs = append(logs, fixtureLog{name, f.Data})
					}
				}
			case ".log", ".txt", ".out", ".csv", ".md":
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if filepath.Base(path) != "expected.txt" && !bytes.HasPrefix(text, []byte("\xff\xfe")) {
					logs = append(logs, fixtureLog{name, text})
				}
			}
		}
	}
	return logs
}

// screen reports whether a log is a notebook or the recording of a screen, which nobody wraps line
// by line.
func (l *fixtureLog) screen() bool {
	return bytes.HasPrefix(bytes.TrimSpace(l.text), []byte("{\n")) ||
		bytes.HasPrefix(l.text, []byte(`{"cells"`)) || strings.Contains(l.name, "notebook") ||
		moves.Match(l.text)
}

// moves matches control sequences that move the cursor to a place or clear the screen.
var moves = regexp.MustCompile(`\x1b\[(?:\d*;\d*[Hf]|[23]J|\d+d|\?1049)`)

// soak reports whether a log is of a soak. Its harness's lines are not wrapped.
func (l *fixtureLog) soak() bool { return bytes.HasPrefix(l.text, []byte("[vramsoak] ")) }

// cannot returns why a wrapper is not put around a log, or "".
func (l *fixtureLog) cannot(w *wrapper.Wrapper) string {
	switch {
	case l.screen():
		return "a notebook or a screen has no lines to wrap"
	case w.Inside && bytes.Contains(l.text, []byte("[vramsoak] ")):
		return "a soak's log has lines of the harness, which no pipeline wraps"
	case w.Inside && bytes.IndexByte(l.text, 0) >= 0:
		return "a hole in a file is no line"
	case w.Inside && strings.Contains(l.name, "rmm"):
		return "RMM's CSV is a file, and no program logs it"
	case w.Inside && bytes.Contains(l.text, []byte(`{"log":"`)):
		return "a log driver wraps a logger, not the other way round"
	case w.Name == "a tqdm bar glued before" && l.name == "parser/nvidia-smi-dmon.txtar":
		return "a launcher's prefix begins a line, and no progress bar precedes it"
	case isLogger(w) && noLogger[l.name] != "":
		return noLogger[l.name]
	case w.Ranked && l.name == "parser/yolo-without-version.txtar":
		return "its last row is of another process than its header, and the wrapper makes them one " +
			"process"
	}
	return ""
}

// isLogger reports whether a wrapper is a logger of the program. Its other wrappers draw on a
// screen.
func isLogger(w *wrapper.Wrapper) bool {
	return w.Inside && !strings.ContainsAny(w.Line("text", 0, time.Time{}, 0), "\x1b\r█")
}

// noLogger says why the lines of some fixtures cannot be those of a program with one logger. These
// fixtures put the lines of several programs together, to show how each of them is read.
var noLogger = map[string]string{
	"parser/new-year.txtar": "the times of its four loggers are the point, and an outer " +
		"logger's would count",
	"parser/nvidia-smi-csv.txtar": "a row of another task fits the header of a table above, " +
		"once one logger has put its prefix before both",
	"parser/nvidia-smi-dmon.txtar": "a launcher numbers the tasks of some of its lines, and no " +
		"logger precedes such a number",
	"parser/prefixes.txtar": "each of its lines has another prefix, and the processes are told " +
		"apart by them",
	"parser/prints.txtar": "two prints of different seconds are one reading if an outer " +
		"logger's time is that of one moment",
	"parser/spellings.txtar": "most of its lines have no time, and the files of processes are " +
		"one file once an outer logger's times show that they overlap",
}

// write writes a log into the file at path, which may exist.
func write(t testing.TB, path string, log []byte) {
	t.Helper()
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
}

// opened returns a reader of the log at path, which may be compressed.
func opened(t testing.TB, path string) io.Reader {
	t.Helper()
	file, err := parser.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // only read
	return file
}

// judged returns the timeline and the report of a log, which may be compressed.
func judged(t testing.TB, log []byte) (*timeline.Timeline, *check.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.log")
	write(t, path, log)
	return judgedFile(t, path)
}

// judgedFile returns the timeline and the report of the log at path, which may be compressed.
func judgedFile(t testing.TB, path string) (*timeline.Timeline, *check.Report) {
	t.Helper()
	b := &parser.Builder{}
	if err := b.Read(opened(t, path), "run.log"); err != nil {
		t.Fatal(err)
	}
	tl := b.Timeline()
	return tl, check.Of(tl, check.DefaultPolicy())
}

// longLog is the size from which only some wrappers are tried without -mutate.all, in bytes.
const longLog = 50_000

// TestWrappersChangeNothing: no wrapper changes a log's verdict, or the name, the device or a size
// of a reading. Only wrappers that name a process change the rank and the writer of a reading. A
// logger's prefix may hide a writer whose name is no rank.
func TestWrappersChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, log := range fixtureLogs(t) {
		t.Run(log.name, func(t *testing.T) {
			t.Parallel()
			// One file for all wrapped logs: to create a file takes longer than to judge it.
			path := filepath.Join(t.TempDir(), "run.log")
			write(t, path, log.text)
			tl, report := judgedFile(t, path)
			want := fmt.Sprintf("%s: %d readings, %d failures, %d files", report.Verdict, tl.Checkpoints,
				tl.Failures, len(tl.Files))
			readings := map[naming][]string{}
			for _, n := range []naming{rankAndWriter, rankOnly, neither} {
				readings[n] = named(t, path, 0, n)
			}
			try := func(name string, w *wrapper.Wrapper, wrapped []byte) {
				write(t, path, wrapped)
				tl, report := judgedFile(t, path)
				got := fmt.Sprintf("%s: %d readings, %d failures, %d files", report.Verdict, tl.Checkpoints,
					tl.Failures, len(tl.Files))
				if got != want {
					t.Errorf("%s: expected %s, found %s", name, want, got)
				}
				n, before := namingOf(w), 0
				if w.Name == "nohup" { // it prints a line of its own
					before = 1
				}
				diff := cmp.Diff(readings[n], named(t, path, before, n))
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			for i := range wrapper.All {
				w := &wrapper.All[i]
				if len(log.text) > longLog && !chosen(log.name, w.Name) {
					continue
				}
				if log.cannot(w) == "" {
					try(w.Name, w, w.Wrap(log.text))
				}
				if w.Line != nil && log.soak() && !log.screen() {
					try(w.Name+" around the pipeline", w, w.WrapPipeline(log.text))
				}
			}
		})
	}
}

// A naming says whether the rank and the writer of a reading are compared.
type naming int

const (
	rankAndWriter naming = iota
	rankOnly
	neither
)

// namingOf returns what a wrapper does not change.
func namingOf(w *wrapper.Wrapper) naming {
	switch {
	case w.Ranked, w.Name == "gh run view --log": // which names the job
		return neither
	case isLogger(w): // a launcher's prefix behind that of a logger only gives the rank
		return rankOnly
	}
	return rankAndWriter
}

// named returns a line for each reading of the log at path: the number of its line,
// its name, its device, its sizes, and its process. A wrapper may have put lines before the log.
func named(t *testing.T, path string, before int, n naming) (list []string) {
	t.Helper()
	for rec, err := range parser.Read(opened(t, path), "run.log") {
		if err != nil {
			t.Fatal(err)
		}
		c, ok := rec.(record.Checkpoint)
		if !ok {
			continue
		}
		text := fmt.Sprintf("%d %q device %d", c.Pos.Line-before, c.Name, c.Lane.Device)
		for q, size := range c.All() {
			text += fmt.Sprintf(" %s=%d", q, size.Bytes)
		}
		if n != neither {
			text += fmt.Sprintf(" rank %d", c.Lane.Rank)
		}
		if n == rankAndWriter {
			text += fmt.Sprintf(" %q", c.Writer)
		}
		list = append(list, text)
	}
	return list
}
