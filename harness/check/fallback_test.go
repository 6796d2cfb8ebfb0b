package check_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/table"
)

const (
	enrollment = "CUDA OOM during voice enrollment, using fallback fast-path"
	batch      = "Batch processing failed, falling back to sequential: CUDA error: out of memory"
	inWhisper  = "CUDA error: out of memory (in Whisper)"
)

// outOfMemoryOf judges the failed allocations of a log. It returns the verdict and the line that
// the finding names, or 0 if it names none.
func outOfMemoryOf(t *testing.T, log string, own ...dialect.User) (check.Verdict, int) {
	t.Helper()
	set, err := parser.NewSet("", own...)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := parser.Build(set.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check == check.OutOfMemory && f.At != nil {
			return f.Verdict, f.At.Line
		}
	}
	return check.Pass, 0
}

// TestAFallbackPardonsWhatItNames: a log has three failures. For two of them it says how the
// program goes on. The third is fatal, and the report names it, in whichever order the three come.
func TestAFallbackPardonsWhatItNames(t *testing.T) {
	t.Parallel()
	orders := [][3]string{
		{enrollment, batch, inWhisper},
		{enrollment, inWhisper, batch},
		{batch, enrollment, inWhisper},
		{batch, inWhisper, enrollment},
		{inWhisper, enrollment, batch},
		{inWhisper, batch, enrollment},
	}
	heads := map[string]func(i int) string{
		"bare":  func(int) string { return "" },
		"times": func(i int) string { return fmt.Sprintf("2025-10-03 12:00:3%d,000 ", i) },
		"logger": func(i int) string {
			return fmt.Sprintf("2025-10-03 12:00:3%d,000 - ERROR - scripts.common.asr - ❌ ", i)
		},
		"levels":  func(i int) string { return []string{"WARNING: ", "ERROR:root:", "INFO "}[i] },
		"rank":    func(int) string { return "[rank1]: " },
		"colours": func(int) string { return "\x1b[31m" },
		"compose": func(int) string { return "worker-1  | " },
	}
	const checkpoint = "[GPU Memory] Before Transcription: Allocated: 1.00GB\n"
	around := map[string][2]string{
		"alone":       {"", ""},
		"other lines": {"loading\n", "bye\n"},
		"checkpoint":  {checkpoint, ""},
		"file-start":  {"[pipeline] file-start path=a.wav\n", ""},
		"asr": {
			"Starting enhanced ASR transcription: a.wav\n",
			"Starting enhanced ASR transcription: b.wav\n",
		},
		"failed": {
			"[pipeline] file-start path=a.wav\n",
			"[pipeline] file-end path=a.wav status=failed\n",
		},
		"oom": {
			"[pipeline] file-start path=a.wav\n" + checkpoint,
			"[pipeline] file-end path=a.wav status=oom\n",
		},
		"harness": {
			"[vramsoak] run-start files=1\n[vramsoak] file-start index=1 path=a\n",
			"[vramsoak] file-end index=1 path=a status=oom\n",
		},
		"outside": {"[vramsoak] run-start files=1\n", "[vramsoak] exit pid=1 code=1\n"},
		"one ok, then": {"[pipeline] file-start path=a\n" + checkpoint +
			"[pipeline] file-end path=a status=ok\n[pipeline] file-start path=b\n", ""},
	}
	for name, frame := range around {
		for headName, head := range heads {
			for n, order := range orders {
				var log strings.Builder
				log.WriteString(frame[0])
				want := 0
				for i, line := range order {
					if line == inWhisper {
						want = strings.Count(frame[0], "\n") + i + 1
					}
					log.WriteString(head(i) + line + "\n")
				}
				log.WriteString(frame[1])
				if verdict, line := outOfMemoryOf(t, log.String()); verdict != check.Fail || line != want {
					t.Errorf("%s, %s, order %d: %s at line %d, expected fail at line %d of\n%s", name, headName,
						n+1, verdict, line, want, log.String())
				}
			}
		}
	}
}

// TestFallbacks lists failures and fallbacks. A fallback pardons one failure: the one that it
// names, or the one that it directly follows in the same process, file and stage.
func TestFallbacks(t *testing.T) {
	t.Parallel()
	const (
		slow  = "Falling back to sequential extraction (slow)"
		retry = "Attempting GPU recovery and retry with smaller batch..."
		fast  = "Falling back to the fast path: no diarization for this file"
		path  = "🚀 FALLBACK FAST-PATH: Always assuming one speaker"
		skip  = "Skipping diarization for a.wav: not enough GPU memory"
		cpu   = "GPU loading failed, falling back to CPU: no kernel image"
		trace = "Traceback (most recent call last):\n  File \"a.py\", line 3, in enroll\n" +
			"    x.cuda()\n"
		again    = "RuntimeError: CUDA error: out of memory"
		tried    = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
		chained  = "\nDuring handling of the above exception, another exception occurred:\n\n"
		start    = "[GPU Memory] Pipeline Initialization: Allocated: 1.00GB"
		stage    = "[GPU Memory] Before Diarization: Allocated: 1.00GB"
		poll     = "⚠️  GPU memory: 1.2GB / 16.0GB"
		progress = "✅ Progress: 10/125 batches (40 embeddings extracted)"
		sample   = "[vramsoak] sample time=2026-11-20T02:00:03.223Z pid=1 rss=1"
		run      = "[vramsoak] run-start files=1"
		begun    = "[vramsoak] file-start index=1 path=a"
		failed   = "[vramsoak] file-end index=1 path=a status=failed"
		exit     = "[vramsoak] exit pid=1 code=1"
	)
	many := func(line string, n int) string { return strings.Repeat(line+"\n", n-1) + line }
	type expected struct {
		log  []string
		want check.Verdict
		line int
	}
	pass := func(line int, log ...string) expected { return expected{log, check.Pass, line} }
	fail := func(line int, log ...string) expected { return expected{log, check.Fail, line} }
	for name, c := range map[string]expected{
		"each pardons itself": pass(1, enrollment, batch, enrollment),
		"the next line":       pass(1, inWhisper, slow),
		"a retry":             pass(1, tried, retry),
		"the fast path": pass(1, tried,
			"Cleared GPU cache before the fast path", fast),
		"the fast path in other words": pass(1, tried, "Cleared GPU cache", path),
		"the fast path in two lines":   pass(1, enrollment, "Cleared GPU cache", path),
		"a batch's error, and the fallback of its caller": pass(1,
			"❌ Batch processing failed: CUDA error: out of memory", enrollment, path),
		"two batches' errors, one fallback": fail(1,
			"❌ Batch processing failed: CUDA error: out of memory",
			"❌ Batch processing failed: CUDA error: out of memory", enrollment, path),
		"a batch's error, long before": fail(1,
			"❌ Batch processing failed: CUDA error: out of memory", many("still here", 9), enrollment),
		"a batch's error of another kind":  pass(2, "❌ Batch processing failed: bad index", enrollment),
		"the fast path of another failure": fail(1, inWhisper, enrollment, path),
		"without the stage":                pass(1, tried, skip),
		"without the stage, and no reason": fail(1, tried, "Skipping diarization"),
		"without the stage, by choice":     fail(1, tried, "Skipping diarization: disabled"),
		"after embeddings":                 fail(1, tried, "Extracted 12 embeddings in 3s", path),
		"after a vain try":                 pass(1, tried, "Extracted 0 embeddings from a.wav", path),
		"after the length of the audio": pass(1, tried, "Processing audio with duration 01:40",
			path),
		"after a line on how the path is set": fail(1, tried, "FALLBACK FAST-PATH: disabled"),
		"after a poll and other words": pass(1, tried, "Device: cuda, Batch size: 4", poll,
			retry),
		"two fallbacks":                         pass(1, tried, retry, slow),
		"before the failure":                    fail(2, slow, inWhisper),
		"two failures, one fallback":            fail(1, inWhisper, tried, slow),
		"two alike, one fallback":               fail(1, again, again, slow),
		"a failure that pardons itself between": fail(1, inWhisper, enrollment, slow),
		"a fallback for another reason":         fail(1, inWhisper, cpu),
		"the reason in other words": pass(1, inWhisper,
			"GPU loading failed, falling back to CPU: CUDA OOM"),
		"no reason": pass(1, inWhisper,
			"Batch processing failed, falling back to sequential"),
		"another batch's reason": fail(1, inWhisper,
			"Batch processing failed, falling back to sequential: bad index"),
		"after a checkpoint": {
			[]string{start, inWhisper, stage, slow},
			check.Undecided, 2,
		},
		"after progress": fail(1, inWhisper, progress, slow),
		"a stage that ends with the error": pass(2, start, tried,
			"[GPU Memory] After ASR (failed): Allocated: 1.00GB", slow),
		"after a cleanup": fail(2, start, inWhisper,
			"[GPU Memory] After ASR Cleanup: Allocated: 1.00GB", slow),
		"sixty lines on":                     pass(1, inWhisper, many("still here", 60), slow),
		"long after":                         fail(1, inWhisper, many("still here", 64), slow),
		"the harness's samples do not count": pass(2, run, inWhisper, many(sample, 200), slow),
		"in the next process":                fail(3, run, begun, inWhisper, exit, slow),
		"in the next file": fail(2, "[pipeline] file-start path=a", inWhisper,
			"[pipeline] file-start path=b", slow),
		"in the next recording": fail(2, "Starting enhanced ASR transcription: a",
			inWhisper, "Starting enhanced ASR transcription: b", slow),
		"after the file": fail(2, "[pipeline] file-start path=a", inWhisper,
			"[pipeline] file-end path=a status=failed", slow),
		"the pipeline's own file-end line": fail(3, run, begun, inWhisper,
			"[pipeline] file-end path=a status=oom", slow, failed),
		"after a resume": fail(2, run, inWhisper,
			"[vramsoak] resume index=1 cut=0 reason=killed", slow),
		"another rank": fail(1, "[rank0]: "+inWhisper, "[rank1]: "+slow),
		"the same rank, another between": pass(1, "[rank0]: "+inWhisper, "[rank1]: hello",
			"[rank0]: "+slow),
		"another rank's failure between": fail(2, "[rank0]: "+inWhisper, "[rank1]: "+again,
			"[rank0]: "+slow),
		"a rank's failure, nobody's fallback": fail(1, "[rank0]: "+inWhisper, slow),
		"another process": fail(1, "(W pid=11) ERROR 03-09 09:32:12 "+inWhisper,
			"(W pid=12) INFO 03-09 09:32:12 "+slow),
		"another container": fail(1, "asr-1  | "+inWhisper, "asr-2  | "+slow),
		"another task":      fail(1, "0: "+inWhisper, "1: "+slow),
		"its traceback":     pass(1, batch, trace+again),
		"its traceback, further down": pass(1, batch,
			"CUDA kernel errors might be asynchronously reported", trace+again),
		"its traceback before":            pass(4, trace+again, batch),
		"a traceback repeats the failure": pass(1, "ERROR "+tried, trace+tried, retry),
		"the program repeats the failure": pass(1, batch,
			"⚠️  CUDA error detected: CUDA error: out of memory"),
		"the fallback fails, too":                fail(2, batch, again),
		"the fallback fails later, with a trace": fail(25, batch, many("one by one", 20), trace+again),
		"the fallback fails in the handler": fail(12, batch,
			trace+again+"\n"+chained+trace+again),
		"the fallback fails, with another trace":    fail(5, batch, trace+inWhisper),
		"the fallback's fallback":                   pass(1, batch, inWhisper, fast),
		"two on one line, one overwrites the other": fail(1, inWhisper+"\r"+enrollment),
		"its reason on the line": pass(1,
			"CUDA OOM loading big, falling back to base: "+tried),
		"all pardoned, and the file failed anyway": fail(3, run, begun, batch, failed),
		"a file that ended ok": pass(3, run, begun, inWhisper,
			"[vramsoak] file-end index=1 path=a status=ok"),
	} {
		if verdict, line := outOfMemoryOf(t, strings.Join(c.log, "\n")+"\n"); verdict != c.want ||
			line != c.line {
			t.Errorf("%s: got %s at line %d, want %s at line %d", name, verdict, line, c.want, c.line)
		}
	}
}

// TestAFallbackThatFailedPardonsNothing: a failure is not pardoned by a fallback that failed too,
// nor by a line that is no fallback. The message of a pardoned failure may come once more at the
// end of its traceback. At the end of a second traceback it is a new failure.
func TestAFallbackThatFailedPardonsNothing(t *testing.T) {
	t.Parallel()
	const (
		start     = "[GPU Memory] Start: Allocated: 1.00GB | Total: 24.00GB\n"
		traceback = "Traceback (most recent call last):\n  File \"asr.py\", line 3, in run\n    run()\n" +
			"RuntimeError: CUDA error: out of memory\n"
	)
	for _, c := range []struct {
		name, log string
		line      int
	}{
		{
			"failed too",
			"Batch processing failed, falling back to sequential failed: CUDA error: out of memory\n", 2,
		},
		{"no fallback", "CUDA OOM during voice enrollment, no fallback, aborting\n", 2},
		{"fallback failed", "CUDA OOM during voice enrollment, fallback failed\n", 2},
		{"no fallback in the line", "CUDA OOM during voice enrollment\n", 2},
		{
			"no fallback in the line, one in the line before",
			enrollment + "\nCUDA OOM during transcription\n", 3,
		},
		{
			"no fallback in the line, one in the next",
			"CUDA OOM during transcription\n" + enrollment + "\n", 2,
		},
		{"two tracebacks", batch + "\n" + traceback + traceback, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if verdict, line := outOfMemoryOf(t, start+c.log); verdict != check.Fail || line != c.line {
				t.Errorf("%s at line %d, want fail at line %d", verdict, line, c.line)
			}
		})
	}
	const own, back = "CUDA OOM during voice enrollment\n", "Falling back to sequential extraction\n"
	for _, log := range []string{
		batch + "\n" + traceback, own + traceback + back,
		traceback + own + back,
	} {
		if verdict, _ := outOfMemoryOf(t, start+log); verdict != check.Pass {
			t.Errorf("%s, want pass:\n%s", verdict, log)
		}
	}
}

// TestAFallbackInTheUsersWords: a fallback that a user's dialect describes pardons the failure
// directly before it and no other, as a built-in fallback does.
func TestAFallbackInTheUsersWords(t *testing.T) {
	t.Parallel()
	own := dialect.User{
		Name:  "ours",
		Lines: []table.Line{{Pattern: "(?P<fallback>using CPU path instead)"}},
	}
	const (
		failed = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
		words  = "2026-11-20 02:00:03,123 - WARNING - asr - using CPU path instead\n"
		work   = "[GPU Memory] Decode: Allocated: 1.00GB\n"
	)
	for name, c := range map[string]struct {
		log  string
		want check.Verdict
		line int
	}{
		"directly behind": {failed + words, check.Pass, 1},
		"on the same line": {
			"CUDA out of memory. Tried to allocate 2.00 GiB, using CPU path instead\n", check.Fail, 1,
		},
		"before the failure":         {words + failed, check.Fail, 2},
		"behind other work":          {failed + work + words, check.Fail, 1},
		"behind the second":          {failed + failed + words, check.Fail, 1},
		"printed by another process": {"[rank0]: " + failed + "[rank1]: " + words, check.Fail, 1},
	} {
		if verdict, line := outOfMemoryOf(t, c.log, own); verdict != c.want || line != c.line {
			t.Errorf("%s: got %s in line %d, want %s in line %d", name, verdict, line, c.want, c.line)
		}
	}
	if verdict, _ := outOfMemoryOf(t, failed+words); verdict != check.Fail {
		t.Errorf("without the user's dialect: got %s, want fail", verdict)
	}
}
