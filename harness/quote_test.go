package harness

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// forged returns lines that look like lines of the harness: one of each kind, and file-end lines
// that say that n files ended ok.
func forged(n int) []string {
	lines := []string{
		"[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=1 feed=list version=v9 command=x",
		"[vramsoak] sample time=2026-11-20T02:00:00.000Z pid=1 device=7 used=1 total=2 source=process rss=9",
		"[vramsoak] orphan time=2026-11-20T02:00:00.000Z pid=1 command=x rss=1 ended=false",
		"[vramsoak] idle time=2026-11-20T02:00:00.000Z device=0 used=1 total=2 settled=true phase=before",
		"[vramsoak] holder time=2026-11-20T02:00:00.000Z device=0 pid=1 command=x used=1",
		"[vramsoak] resume time=2026-11-20T02:00:00.000Z index=1 cut=0 reason=killed",
		"[vramsoak] quote", "[vramsoak] quote", "[vramsoak] nonsense", "[vramsoak]",
		"  [vramsoak] quote",
	}
	for i := range n {
		lines = append(lines,
			fmt.Sprintf("[vramsoak] file-start time=2026-11-20T02:00:00.000Z index=%d path=f%[1]d",
				i+1),
			fmt.Sprintf(
				"[vramsoak] file-end time=2026-11-20T02:00:00.000Z index=%d path=f%[1]d status=ok seconds=1.000", i+1))
	}
	return append(lines, "[vramsoak] quote",
		"[vramsoak] exit time=2026-11-20T02:00:00.000Z pid=1 code=0",
		fmt.Sprintf("[vramsoak] run-end time=2026-11-20T02:00:00.000Z files=%d seconds=1.000 reason=done",
			n))
}

// forger is a pipeline that fails at every file, and prints lines of the harness which say that
// every file ended ok. It prints them in several ways: unchanged, after a carriage return, in
// colours, after NULs, in two halves, on standard error, and without a newline.
func forger(args []string) {
	paths := args
	switch text, err := os.ReadFile(args[0]); {
	case args[0] == "-":
		input, _ := io.ReadAll(os.Stdin)
		paths = strings.Fields(string(input))
	case err == nil: // a list
		paths = strings.Fields(string(text))
	}
	for _, path := range paths {
		fmt.Println("[pipeline] file-start path=" + path)
		fmt.Println("[GPU Memory] Before Work: Allocated: 1.00GB | Total: 24.00GB")
		for _, line := range forged(4) {
			fmt.Println(line)
			fmt.Fprintln(os.Stderr, line)
			fmt.Println(" 50%\r" + line)
			fmt.Println("\x1b[32m" + line + "\x1b[0m")
			fmt.Println("\x00\x00" + line)
			fmt.Println("2026-11-20 02:00:00,000 - INFO - " + line)
		}
		last := forged(4)[len(forged(4))-1]
		fmt.Print(last[:5])
		time.Sleep(10 * time.Millisecond)
		fmt.Println(last[5:])
		fmt.Print(strings.Repeat("#", 3<<20) + "\r" + last + "\n")
		fmt.Println("[pipeline] file-end path=" + path + " status=failed")
		if path == "f2" {
			fmt.Print(last)
			os.Exit(1)
		}
	}
}

func forgerConfig(t *testing.T, feed Feed) Config {
	t.Helper()
	args := map[Feed]string{FeedProcess: pathMark, FeedList: listMark, FeedStdin: "-"}[feed]
	cfg := child(t, "forger", feed, args)
	cfg.Files = inputs(4)
	return cfg
}

// expectForged fails the test unless a reader of the logs finds four failed files, and none of the
// records that the pipeline forged.
func expectForged(t *testing.T, logs ...string) {
	t.Helper()
	b := &parser.Builder{}
	for i, log := range logs {
		if err := b.Read(strings.NewReader(log), fmt.Sprintf("log%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	tl := b.Timeline()
	said := map[int]record.Status{}
	for _, f := range tl.LastAttempts() {
		said[f.Index] = f.Status
	}
	failed := record.StatusFailed
	if diff := cmp.Diff(map[int]record.Status{1: failed, 2: failed, 3: failed, 4: failed},
		said); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	device7 := func(s record.Sample) bool { return s.Lane.Device == 7 }
	if len(tl.Runs) != len(logs) || slices.ContainsFunc(tl.Samples, device7) ||
		len(tl.Orphans)+len(tl.Idles)+len(tl.Bad) > 0 {
		t.Errorf("%d runs, samples %v, orphans %v, idles %v, bad %v", len(tl.Runs), tl.Samples,
			tl.Orphans, tl.Idles, tl.Bad)
	}
	report := check.Of(tl, check.DefaultPolicy())
	note := func(s string) bool {
		return strings.Contains(s,
			"printed by the pipeline and ignored")
	}
	if report.Verdict != check.Fail || !slices.ContainsFunc(report.Notes, note) {
		t.Errorf("%s, notes %q", report.Verdict, report.Notes)
	}
}

// TestForgedLines: lines of the pipeline that look like the harness's have no effect, with any
// feed.
func TestForgedLines(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedProcess, FeedList, FeedStdin} {
		t.Run(string(feed), func(t *testing.T) {
			t.Parallel()
			cfg := forgerConfig(t, feed)
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if o.Counts[record.StatusFailed] != 4 || o.Reason != ReasonDone {
				t.Errorf("outcome %+v", o)
			}
			expectForged(t, string(log))
		})
	}
}

// TestForgedLinesOfWorkers: lines of the pipeline that look like the harness's have no effect in a
// run on several GPUs, either.
func TestForgedLinesOfWorkers(t *testing.T) {
	t.Parallel()
	cfg := forgerConfig(t, FeedStdin)
	if _, err := RunAll(t.Context(), cfg, twoGPUs); err != nil {
		t.Fatal(err)
	}
	var logs []string
	for _, w := range twoGPUs {
		text, err := os.ReadFile(filepath.Join(WorkerDir(cfg.Dir, w.GPU), LogName))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, string(text))
	}
	expectForged(t, logs...)
}

// TestResumeAfterForgedLines: a run was killed after the pipeline printed forged lines which say
// that all files are done. When the run is resumed, it does the files that are not done.
func TestResumeAfterForgedLines(t *testing.T) {
	t.Parallel()
	cfg := forgerConfig(t, FeedList)
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Counts[record.StatusFailed] != 4 {
		t.Fatal(o, err)
	}
	end := bytes.Index(log, []byte("[vramsoak] file-start time="))
	end += bytes.Index(log[end:], []byte("[pipeline] file-end"))
	if err := os.WriteFile(cfg.logPath(), log[:end], 0o644); err != nil {
		t.Fatal(err)
	}
	cfg.Resume = true
	o, log, err = runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.Ended || o.Counts[record.StatusFailed] != 4 {
		t.Errorf("outcome %+v", o)
	}
	expectForged(t, string(log))
}

// TestFailureInTheHarnessName: a failed allocation counts even if the pipeline prints it in a line
// that begins like a line of the harness.
func TestFailureInTheHarnessName(t *testing.T) {
	t.Parallel()
	cfg := child(t, "say", FeedProcess, "0",
		"[vramsoak] RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", pathMark)
	cfg.Files = inputs(1)
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.Counts[record.StatusOOM] != 1 {
		t.Errorf("outcome %+v of\n%s", o, log)
	}
}
