package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestFilesOfWorkers: if several workers share a batch, the finding on files says which files no
// worker began, and why.
func TestFilesOfWorkers(t *testing.T) {
	t.Parallel()
	log := func(gpu int, lines ...string) string {
		start := record.RunStart{
			Files: 3, Feed: "list", Command: "x", Version: "v1",
			ID: record.WorkerID("a", gpu), Workers: 3, GPU: gpu,
		}
		return string(start.AppendLine(nil)) + "\n" + strings.Join(lines, "\n") + "\n"
	}
	done := func(indices ...int) string {
		var b strings.Builder
		for _, i := range indices {
			fmt.Fprintf(&b,
				"[vramsoak] file-start index=%d path=f%d\n[GPU Memory] After Work: Allocated: 1.00GB\n"+
					"[vramsoak] file-end index=%d path=f%d status=ok\n", i, i, i, i)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	end := func(reason string) string {
		return "[vramsoak] run-end files=1 seconds=1 reason=" + reason
	}
	resume := "[vramsoak] resume index=1 cut=3 reason=killed"
	for _, test := range []struct {
		name, subject string
		logs          []string
		verdict       check.Verdict
		message       string
	}{
		{
			"all done", "files",
			[]string{
				log(0, done(1), end("done")), log(1, done(3), end("done")),
				log(2, done(2), end("done")),
			},
			check.Pass, "all 3 files ended ok",
		},
		{
			"one did nothing", "files",
			[]string{log(0, done(1, 2, 3), end("done")), log(1, end("done")), log(2, end("done"))},
			check.Pass, "all 3 files ended ok",
		},
		{
			"nobody did one", "files",
			[]string{
				log(0, done(1), end("done")), log(1, done(3), end("done")),
				log(2, end(`stopped error="it died"`)),
			},
			check.Fail,
			"1 file never started, the worker of GPU 2 was stopped: it died; 2 of 3 files ended ok",
		},
		{
			"all were interrupted", "files",
			[]string{
				log(0, end("interrupted")), log(1, done(3), end("interrupted")),
				log(2, end("interrupted")),
			},
			check.Fail, "2 files never started, the run was interrupted; 1 of 3 files ended ok",
		},
		{
			"one log of three", "files",
			[]string{log(1, done(3), end("done"))},
			check.Fail,
			"2 files never started, or started by 2 workers whose logs are missing; 1 of 3 files ended ok",
		},
		{
			"resumed together", "interruptions",
			[]string{
				log(0, done(1), resume, end("done")), log(1, resume, done(3), end("done")),
				log(2, done(2), end("done")),
			},
			check.Pass, "the run was killed, and taken up again; 6 B were cut off the torn end of the log",
		},
	} {
		b := &parser.Builder{}
		for i, text := range test.logs {
			if err := b.Read(strings.NewReader(text), fmt.Sprintf("%d.log", i)); err != nil {
				t.Fatal(err)
			}
		}
		r := check.Of(b.Timeline(), check.DefaultPolicy())
		i := slices.IndexFunc(r.Findings,
			func(f check.Finding) bool { return f.Check == check.Completeness && f.Subject == test.subject })
		if i < 0 {
			t.Errorf("%s: no completeness finding for %q", test.name, test.subject)
		} else if f := r.Findings[i]; f.Verdict != test.verdict || f.Message != test.message {
			t.Errorf("%s: got %s: %s\nwant %s: %s", test.name, f.Verdict, f.Message, test.verdict,
				test.message)
		}
	}
}
