package failure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A wording is the text of a log, and what vramsoak must read in it, as [summary] shows it.
type wording struct{ text, want string }

// wordings returns the texts of a file in the folder testdata. The file's first lines describe its
// format.
func wordings(t *testing.T, name string) (list []wording) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		want, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok {
			list = append(list, wording{strings.ReplaceAll(text, "⏎", "\n"), want})
		}
	}
	if len(list) < 60 {
		t.Fatalf("%s has only %d texts", name, len(list))
	}
	return list
}

// TestFailures: each true failure gives exactly one record, of the right kind and size.
func TestFailures(t *testing.T) { checkWordings(t, wordings(t, "failures.txt")) }

// TestHealthy: lines that only mention failures give no failed allocation and no crash.
func TestHealthy(t *testing.T) { checkWordings(t, wordings(t, "healthy.txt")) }

// checkWordings fails the test for each text in which the built-in dialects do not read what they
// must.
func checkWordings(t *testing.T, list []wording) {
	t.Helper()
	right := 0
	for _, w := range list {
		if got := summary(t, w.text); got != w.want {
			t.Errorf("got %q, want %q: %s", got, w.want, w.text)
			continue
		}
		right++
	}
	t.Logf("%d of %d texts are read rightly", right, len(list))
}

// TestPrefixes: a failure counts behind the prefix of a container, a launcher or a logger, behind a
// progress bar without a line break between them, and in colours.
func TestPrefixes(t *testing.T) {
	failures := wordings(t, "failures.txt")
	for _, prefix := range []string{
		"", "[rank3]: ", "[default1]:", "3: ", "[1,0]<stderr>:", "worker-1  | ", "(train pid=4711) ",
		"2026-11-20T02:00:03.123456789Z ", "2026-11-20T02:00:03.123456789Z stderr F ",
		"Nov 20 02:00:03 n1 run.sh[4711]: ", "Nov 20 02:00:03 n1 run.sh: ", "[pod/trainer-0/trainer] ",
		" 45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]",
		"  1/100  8.12G  1.234  312  640:  45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]",
		"Epoch 3:  45%|████▌     | 105/233 [00:34<00:41,  3.10it/s, loss=1.2, lr=1e-5]",
		"Map:   0%|          | 0/1000 [00:00<?, ? examples/s]",
		"105it [00:34,  3.10it/s]",
		" 45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]\r" +
			" 46%|████▌     | 106/233 [00:34<00:41,  3.10it/s]\r",
		"105/233 [=====>.......................] - ETA: 41s - loss: 1.2000 ",
		" 12/233 ━━━━━━━━━━━━━━━━━━━━ 41s 320ms/step - loss: 1.2000 ",
		"Training ━━━━━━━━━━╸━━━━━━━━━━ 105/233  45% 0:00:41 ",
		"Training \x1b[38;5;197m━━━━━━━━━╸\x1b[0m\x1b[38;5;237m━━━━━\x1b[0m " +
			"\x1b[32m105/233\x1b[0m \x1b[35m 45%\x1b[0m \x1b[36m0:00:41\x1b[0m ",
		"\x1b[31m", "\x1b[1;31m\x1b[0m\x1b[36m[rank0]:\x1b[0m ",
	} {
		for _, f := range failures {
			text := prefix + f.text
			if !strings.ContainsAny(prefix, "%|") || strings.HasPrefix(prefix, "worker") {
				text = prefix + strings.ReplaceAll(f.text, "\n", "\n"+prefix)
			}
			if got := summary(t, text); got != f.want {
				t.Errorf("got %q, want %q: %q", got, f.want, text)
			}
		}
	}
	for _, prefix := range []string{
		"2026-11-20 02:00:03,123 - asr.worker - ERROR - ", "ERROR:root:", "ERROR: ",
		"2026-11-20 02:00:03.123 | ERROR    | asr.run:main:41 - ",
		"(EngineCore_DP0 pid=964370) ERROR 03-09 09:32:24 [core.py:708] ",
		"\x1b[1;31mERROR\x1b[0m \x1b[36m[rank0]:\x1b[0m ",
	} {
		for _, f := range failures {
			if f.want == "crash" || hasLogger.MatchString(f.text) {
				continue
			}
			text := prefix + f.text
			if strings.HasPrefix(prefix, "(") {
				text = prefix + strings.ReplaceAll(f.text, "\n", "\n"+prefix)
			}
			if got := summary(t, text); got != f.want {
				t.Errorf("got %q, want %q: %q", got, f.want, text)
			}
		}
	}
}

// TestHealthyBehindLoggers: a logger's prefix makes no mention of a failure a failure.
func TestHealthyBehindLoggers(t *testing.T) {
	for _, prefix := range []string{
		"2026-11-20 02:00:03,123 - asr.worker - INFO - ", "INFO:asr.run:", "INFO: ",
		"2026-11-20 02:00:03.123 | INFO     | asr.run:main:41 - ", "[2026-11-20 02:00:03] [INFO] ",
		"I1120 02:00:03.123456    4711 run.cc:41] ", "INFO 2026-11-20 02:00:03.123 run.py:41] ",
		"11/20/2026 02:00:03 - INFO - __main__ -   ",
		"(EngineCore pid=7) INFO 11-20 02:00:03 [core.py:8] ",
	} {
		for _, w := range wordings(t, "healthy.txt") {
			if hasLogger.MatchString(w.text) || strings.HasPrefix(w.text, "- ") {
				continue // "[INFO] - " is a prefix
			}
			text := prefix + strings.ReplaceAll(w.text, "\n", "\n"+prefix)
			if got := summary(t, text); got != w.want {
				t.Errorf("got %q, want %q: %q", got, w.want, text)
			}
		}
	}
}

// hasLogger matches the lines of failures that have a logger's prefix of their own.
var hasLogger = regexp.MustCompile(
	`^(?:WARN|ERROR|W\d|time=|\S+ \S+ \| |\| |\[\d|\[E|\(|\d{4}-|.{0,9}:\d)`)

var builtIn = sync.OnceValue(func() *scan.Dialects { return scan.NewDialects(dialect.BuiltIn()) })

// summary returns what the built-in dialects read in a log: "oom" for each failed allocation, with
// the requested bytes if the log gives them, "crash" for each death of a process, and "fallback" if
// a failed allocation names one.
func summary(t *testing.T, log string) string {
	t.Helper()
	var words []string
	fallback := false
	src := source.New(strings.NewReader(log + "\n"))
	for batch, err := range scan.Batches(src, "run.log", builtIn()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Entries {
			switch r := batch.Entries[i].Record(batch.Line).(type) {
			case record.OutOfMemory:
				words = append(words, "oom")
				if r.HasRequested {
					words = append(words, fmt.Sprint(r.Requested.Bytes))
				}
				fallback = fallback || r.NamesFallback
			case record.Crash:
				words = append(words, "crash")
			}
		}
	}
	if fallback {
		words = append(words, "fallback")
	}
	return strings.Join(words, " ")
}
