package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/queue"

	"github.com/google/go-cmp/cmp"
)

// TestWhatAProcessGets: a process gets its arguments and its environment unchanged, and the log
// keeps the order of what it prints to standard output and standard error.
func TestWhatAProcessGets(t *testing.T) {
	t.Parallel()
	awkward := `a b"; touch owned; $(touch owned) *.wav`
	tests := []struct {
		feed Feed
		args []string
		want string
	}{
		{FeedProcess, []string{"--in={}", "{}{}", "$HOME", "*"}, fmt.Sprintf(
			"args=%q first=2 unbuffered=1 stdin=\"\" leader=true\n",
			[]string{"--in=" + awkward, awkward + awkward, "$HOME", "*"})},
		{FeedStdin, []string{"-"}, fmt.Sprintf(
			"args=[\"-\"] first=1 unbuffered=1 stdin=%q leader=true\n", "first\n"+awkward+"\n")},
		{FeedNone, nil, "args=[] first=1 unbuffered=1 stdin=\"\" leader=true\n"},
	}
	for _, test := range tests {
		t.Run(string(test.feed), func(t *testing.T) {
			t.Parallel()
			cfg := child(t, "print", test.feed, test.args...)
			if test.feed != FeedNone {
				cfg.Files = []queue.Input{{Path: "first"}, {Path: awkward}}
			}
			_, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			got := string(soaklog.Printed(log))
			if test.feed == FeedProcess {
				got = got[strings.Index(got,
					"to stdout\n")+len("to stdout\n"):] // of the second file
			}
			if diff := cmp.Diff(test.want+"to stderr\nto stdout\n", got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := os.Stat("owned"); err == nil {
		t.Error("a shell was involved")
	}
}

func TestListIsInTheRunFolder(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 3, "LINES=both")
	cfg.RestartEvery = 2
	if _, _, err := runOf(t.Context(), t, cfg); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(cfg.Dir, "files.txt"))
	if err != nil || string(text) != "f3\n" {
		t.Errorf("the last list is %q, %v", text, err)
	}
}

// TestLongLine: a line of 24 MiB reaches the log whole, and the harness needs less than 24 MiB of
// memory for it.
func TestLongLine(t *testing.T) { // not parallel: it measures the heap
	cfg := child(t, "long", FeedNone)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > longLine/2 {
		t.Errorf("the run allocated %d MiB", allocated>>20)
	}
	text, err := os.ReadFile(cfg.logPath())
	if err != nil {
		t.Fatal(err)
	}
	want := "[GPU Memory] Before Work: Allocated: 1.00GB\n" +
		strings.Repeat(longPiece, longLine/len(longPiece)) +
		"\n[GPU Memory] After Work: Allocated: 1.00GB\n"
	if string(soaklog.Printed(text)) != want {
		t.Error("the pipeline's bytes are not what it printed")
	}
	soaklog.Expect(t, text, "run 0 none\nstart 1\nend 1 ok\nexit 0\ndone 1 done")
}

// TestLinesInHalves: a line of the harness never interrupts a line of the pipeline, even if the
// pipeline prints the line in two parts.
func TestLinesInHalves(t *testing.T) {
	t.Parallel()
	cfg := child(t, "halves", FeedNone)
	cfg.SampleEvery = 1 // as often as it can
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Repeat("[GPU Memory] Before Work: Allocated: 1.00GB\n", 3),
		string(soaklog.Printed(log))); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	soaklog.Expect(t, log,
		"run 0 none\nstart 1\nend 1 ok\nstart 2\nend 2 ok\nstart 3\nend 3 ok\nexit 0\ndone 3 done")
}

func TestOddBytes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"invalid UTF-8", "a\xff\xfe[GPU Memory]\x80\n\xc3\n", "a\xff\xfe[GPU Memory]\x80\n\xc3\n"},
		{
			"carriage returns", "10%\r20%\r[pipeline] done\r\nx\n",
			"10%\r20%\r[pipeline] done\r\nx\n",
		},
		{"unfinished last line", "one\ntwo", "one\ntwo\n"},
		{"unfinished only line", "[pipeline] file-start path=x", "[pipeline] file-start path=x\n"},
		{"nothing", "", ""},
		{"empty lines", "\n\n\n", "\n\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, log, err := runOf(t.Context(), t, child(t, "say", FeedNone, "0", test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(soaklog.Printed(log)); got != test.want {
				t.Errorf("found %q, expected %q", got, test.want)
			}
			if last := "reason=done\n"; !strings.HasSuffix(string(log), last) {
				t.Errorf("the log ends %q", log[max(0, len(log)-80):])
			}
		})
	}
	t.Run("NUL", func(t *testing.T) {
		t.Parallel()
		_, log, err := runOf(t.Context(), t, child(t, "nul", FeedNone))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(soaklog.Printed(log)); got != "a\x00b\n\x00\n" {
			t.Errorf("found %q", got)
		}
	})
}

// TestUnfinishedLineIsRead: a last line without a newline is parsed like any other line.
func TestUnfinishedLineIsRead(t *testing.T) {
	t.Parallel()
	_, log, err := runOf(t.Context(), t, child(t, "say", FeedNone, "0",
		"[pipeline] file-start path=x\n[pipeline] file-end path=x status=failed error=\"no audio\""))
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log, "run 0 none\nstart 1 x\nend 1 x failed no audio\nexit 0\ndone 1 done")
}

func TestClosedOutput(t *testing.T) {
	t.Parallel()
	cfg := child(t, "closed", FeedProcess, "{}")
	cfg.Files = inputs(1)
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log,
		"run 1 process\nstart 1 f1\nend 1 f1 failed the process exited with code 7: before\nexit 7\n"+
			"done 1 done")
}
