package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// TestPatternShowsRecovery: the pattern shows the shares and verdicts of package check for a
// cleanup.
func TestPatternShowsRecovery(t *testing.T) {
	policy := check.DefaultPolicy()
	strict := policy
	strict.Recovery.Min = 0.98
	for _, c := range []struct {
		name   string
		log    string
		policy check.Policy
		want   string
	}{
		// 7.05 of 7.23, at least 7.04 of 7.225
		{"passes", timelines.Cleanup(7.23, 0.18, ""), policy, "97.5 % freed pass"},
		{
			"fails where the policy asks for more", timelines.Cleanup(7.23, 0.18, ""), strict,
			"97.5 % freed fail",
		},
		// 6.87 of 7.23, at least 6.86 of 7.225 and at most 6.88 of 7.235
		{"undecided in one file", timelines.Cleanup(7.23, 0.18, "") + timelines.Cleanup(7.23, 0.36,
			""), policy, "95.0 % freed undecided"},
		{"fails in one of three", strings.Repeat(timelines.Cleanup(7.23, 0.18, ""),
			2) + timelines.Cleanup(7.23, 5.68, ""), policy, "97.5 % freed, not in 1 file fail"},
		{"no memory held", timelines.Cleanup(0, 0, ""), policy, "nothing freed pass"},
		{"no memory held in most files", strings.Repeat(timelines.Cleanup(0, 0, ""),
			2) + timelines.Cleanup(7.23, 0.18, ""), policy, "97.5 % freed pass"},
		{"the busiest device", timelines.Cleanup(1, 0.01, " | device=0") + timelines.Cleanup(2, 1,
			" | device=1"), policy, "50.0 % freed fail"},
	} {
		tl, rep := timelines.Judge(t, c.log, c.policy)
		for _, s := range Of(tl, rep).Steps {
			got := strings.TrimSpace(s.Freed + " " + string(s.Verdict))
			if want := map[string]string{"After Model Cleanup": c.want}[s.Name]; got != want {
				t.Errorf("%s: %s shows %q, want %q", c.name, s.Name, got, want)
			}
		}
	}
}

// TestPatternShowsUnjudgedCleanups: a first cleanup deletes the waveform, and the model stays in
// memory until a second one. How much the first cleanup should free is then unknown. The pattern
// shows how much it freed, without a verdict.
func TestPatternShowsUnjudgedCleanups(t *testing.T) {
	tl, rep := timelines.Judge(t, `[GPU Memory] Before Diarization: Allocated: 0.10GB
[GPU Memory] Before Waveform Cleanup: Allocated: 5.75GB
[GPU Memory] After Waveform Cleanup: Allocated: 5.50GB
[GPU Memory] Before Model Cleanup: Allocated: 5.50GB
[GPU Memory] After Model Cleanup: Allocated: 0.10GB
[GPU Memory] After Diarization: Allocated: 0.10GB
`, check.DefaultPolicy())
	got := map[string]string{}
	for _, s := range Of(tl, rep).Steps {
		if s.Freed != "" {
			got[s.Name] = s.Freed + " " + string(s.Verdict)
		}
	}
	want := map[string]string{
		"After Waveform Cleanup": "256 MiB freed ",
		"After Model Cleanup":    "100.0 % freed pass",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("freed (-want +got):\n%s", diff)
	}
}

// TestPatternLeavesOutFailedFiles: most files fail at once, with memory full. The pattern is that
// of the files that ended. If none of them has a reading, it is that of all.
func TestPatternLeavesOutFailedFiles(t *testing.T) {
	const (
		start = "[pipeline] file-start path=a.wav\n"
		end   = "[pipeline] file-end path=a.wav status="
		low   = "[GPU Memory] Before ASR: Allocated: 1.00GB\n"
		full  = "[GPU Memory] Before ASR: Allocated: 15.00GB\n"
		good  = start + low + end + "ok\n"
		bad   = start + full + end + "oom\n"
		oom   = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 16.00 GiB total capacity)\n"
	)
	for name, c := range map[string]struct{ log, want string }{
		"one ended":           {good + bad + bad, "1.00 GiB, median over the 1 file that did not fail"},
		"none ended":          {bad + bad, "15.0 GiB, median over 2 files"},
		"one ended, silently": {start + end + "ok\n" + bad + bad, "15.0 GiB, median over 2 files"},
		"silent failures": {
			good + good + start + end + "failed\n",
			"1.00 GiB, median over 2 files",
		},
		"the log does not say how files ended": {
			start + low + start + full + oom + start + full + oom,
			"1.00 GiB, median over the 1 file that did not fail",
		},
	} {
		tl, rep := timelines.Judge(t, c.log, check.DefaultPolicy())
		p := Of(tl, rep)
		if len(p.Steps) != 1 {
			t.Errorf("%s: got %d steps", name, len(p.Steps))
			continue
		}
		_, title, _ := strings.Cut(p.Title(), ", ")
		title, _, _ = strings.Cut(title, ";")
		if got := record.FormatBytes(p.Steps[0].Level) + ", " + title; got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestPatternLeavesOutTheRare: checkpoints that fewer than half of the files have are counted, but
// not rows of a typical file. Checkpoints outside of files are rows, and so are those of a log that
// numbers its checkpoints.
func TestPatternLeavesOutTheRare(t *testing.T) {
	file := func(n int, more string) string {
		return fmt.Sprintf("[pipeline] file-start path=%d.wav\n%s%s[pipeline] file-end "+
			"path=%d.wav status=ok\n", n, timelines.Cleanup(7.23, 0.18, ""), more, n)
	}
	failed := "[GPU Memory] After Transcription (failed): Allocated: 9.00GB\n"
	for _, c := range []struct {
		name, log   string
		steps, rare int
		title       string
	}{
		{
			"one of three", file(1, "") + file(2, failed) + file(3, ""), 2, 1,
			"a full bar is the highest checkpoint, 9.00 GiB; left out: 1 checkpoint that fewer " +
				"than half of the files have",
		},
		{
			"one of two", file(1, "") + file(2, failed), 3, 0,
			"a full bar is the highest checkpoint, 9.00 GiB",
		},
		{
			"before the first file", failed + file(1, "") + file(2, "") + file(3, ""), 3, 0,
			"a full bar is the highest checkpoint, 9.00 GiB",
		},
	} {
		tl, rep := timelines.Judge(t, c.log, check.DefaultPolicy())
		p := Of(tl, rep)
		if len(p.Steps) != c.steps || p.rare != c.rare || !strings.HasSuffix(p.Title(), c.title) {
			t.Errorf("%s: %d steps, %d left out, title %q", c.name, len(p.Steps), p.rare, p.Title())
		}
	}
	numbered := ""
	for n := range 9 {
		numbered += fmt.Sprintf("[pipeline] file-start path=%d.wav\n[GPU Memory] Step %d: "+
			"Allocated: 1.00GB\n", n, n)
	}
	tl, rep := timelines.Judge(t, numbered, check.DefaultPolicy())
	if p := Of(tl, rep); len(p.Steps) != 9 || p.rare != 0 {
		t.Errorf("numbered: %d steps, %d left out", len(p.Steps), p.rare)
	}
}

// TestFailingLane: the pattern is that of the device that fails, not of the busiest.
func TestFailingLane(t *testing.T) {
	log := timelines.Cleanup(2, 1, " | device=0") + timelines.Cleanup(9, 0.01, " | device=1")
	tl, rep := timelines.Judge(t, log, check.DefaultPolicy())
	want := ", device 0 (the failing one of 2)"
	if got := Of(tl, rep).Title(); !strings.Contains(got, want) {
		t.Errorf("the pattern %q lacks %q", got, want)
	}
}
