package check_test

import (
	"regexp"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// crashOf judges a log, and returns the verdict, the line and the message of the finding on the end
// of the log. The verdict is "" if there is no such finding.
func crashOf(t *testing.T, log string) (verdict check.Verdict, line int, message string) {
	t.Helper()
	b := &parser.Builder{}
	if err := b.Read(strings.NewReader(log), "run.log"); err != nil {
		t.Fatal(err)
	}
	report := check.Of(b.Timeline(), check.DefaultPolicy())
	for _, f := range report.Findings {
		if f.Check == check.Completeness && f.Subject == "end of the log" {
			if report.Verdict == check.Pass {
				t.Error("the report passes although it has the finding:", f.Message)
			}
			return f.Verdict, f.At.Line, f.Message
		}
	}
	return "", 0, ""
}

const (
	frames = "  File \"run.py\", line 7, in <module>\n    work()\n    ^^^^^^\n"
	head   = "Traceback (most recent call last):\n" + frames
	during = "\nDuring handling of the above exception, another exception occurred:\n\n"
)

// twoReadings holds the first two lines of each log.
const twoReadings = "[GPU Memory] Before Whisper Cleanup: Allocated: 2.00GB\n" +
	"[GPU Memory] After Whisper Cleanup: Allocated: 0.10GB\n"

// TestALogEndsInACrash: a log that ends in a crash is undecided, and the finding quotes the crash
// with its line. A log that goes on after the crash has no such finding.
func TestALogEndsInACrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  string
		line int // after the readings
		said string
	}{
		{
			head + "RuntimeError: CUDA error: an illegal memory access was encountered\n", 5,
			"RuntimeError: CUDA error: an illegal",
		},
		{head + "RuntimeError: CUDA error: an illegal memory access was encountered\n" +
			"CUDA kernel errors might be " +
			"asynchronously reported at some other API call.\n" +
			"Compile with `TORCH_USE_CUDA_DSA` to enable it.\n", 5, "RuntimeError: CUDA"},
		{head + "ValueError: x\n" + during + head +
			"subprocess.CalledProcessError: Command 'ffmpeg' died\n", 13, "CalledProcessError: Command"},
		{head + "AssertionError", 5, "AssertionError"},
		{head, 1, "Traceback (most recent call last)"},
		{"[rank3]: " + strings.ReplaceAll(strings.TrimSpace(head), "\n", "\n[rank3]: ") +
			"\n[rank3]: RuntimeError: NCCL\n", 5, "RuntimeError: NCCL"},
		{
			"2026-11-20 02:00:03,123 - ERROR - asr - failed\n" + head + "KeyError: 'text'\n", 6,
			"KeyError: 'text'",
		},
		{"worker-1  | " + strings.ReplaceAll(strings.TrimSpace(head), "\n", "\nworker-1  | ") +
			"\nworker-1  | OSError: disk\n", 5, "OSError: disk"},
		{"\x1b[31m╭─ Traceback (most recent call last) ─╮\x1b[0m\n│ run.py:7 in main │\n╰───────╯\n" +
			"RuntimeError: bad\n", 4, "RuntimeError: bad"},
		{"Segmentation fault (core dumped)\n", 1, "Segmentation fault (core dumped)"},
		{"Segmentation fault", 1, "Segmentation fault"},
		{
			"./run.sh: line 3:  4711 Segmentation fault      (core dumped) python run.py\n", 1,
			"Segmentation fault",
		},
		{"./run.sh: line 3:  4711 Killed                  python run.py\n", 1, "Killed"},
		{"srun: error: gpu1: task 0: Segmentation fault (core dumped)\n", 1, "Segmentation fault"},
		{"make: *** [Makefile:3: run] Killed\n", 1, "Killed"},
		{"worker-1  | Killed\n", 1, "Killed"},
		{"2026-11-20T02:00:03.123Z Killed\n", 1, "Killed"},
		{"Killed\r\n", 1, "Killed"},
		{
			"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n",
			1, "CUBLAS_STATUS_NOT_INITIALIZED",
		},
		{"ERROR: CUDA error: an illegal memory access was encountered\n", 1, "illegal memory access"},
		{"RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at " +
			"\"../c10/cuda/CUDACachingAllocator.cpp\":1090, " +
			"please report a bug to PyTorch.\n", 1, "INTERNAL ASSERT FAILED at"},
		{
			"terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error\n", 1,
			"terminate called after throwing",
		},
		{"Aborted (core dumped)\n", 1, "Aborted (core dumped)"},
		{"Bus error (core dumped)\n", 1, "Bus error"},
		{"Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n" +
			"  File \"run.py\", line 7\n", 1, "Fatal Python error: Segmentation"},
		{"panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\n" +
			"main.main()\n", 1, "panic: runtime error"},
		{
			"[12345.678901] Out of memory: Killed process 123 (python) total-vm:8388608kB\n", 1,
			"Killed process 123 (python)",
		},
		{"GGML_ASSERT: ggml.c:4711: ctx->mem_buffer != NULL\n", 1, "GGML_ASSERT: ggml.c:4711"},
		{
			"thread 'main' panicked at src/main.rs:7:5:\nindex out of bounds\n", 1,
			"panicked at src/main.rs",
		},
		{"double free or corruption (!prev)\n", 1, "double free or corruption"},
		{"zsh: segmentation fault (core dumped)  python run.py\n", 1, "zsh: segmentation fault"},
		{"zsh: killed     python run.py\n", 1, "zsh: killed"},
		{"./run.sh: line 3:  4711 Killed                  python monitor.py\n", 1, "python monitor.py"},
		{
			"E1120 02:00:03.123456 4711 asr.py:12] failed\n" + head + "KeyError: 'text'\n", 6,
			"KeyError: 'text'",
		},
		{"CUDA error: device-side assert triggered\n", 1, "device-side assert"},
		{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch.\n", 1, "oom-kill event(s)"},
		{
			"slurmstepd: error: *** JOB 7 ON gpu1 CANCELLED AT 2026-11-20T02:00:03 DUE TO TIME LIMIT ***\n",
			1, "DUE TO TIME LIMIT",
		},
	} {
		verdict, line, message := crashOf(t, twoReadings+c.end)
		if verdict != check.Undecided || line != 2+c.line || !strings.Contains(message, c.said) {
			t.Errorf("%q: got %q in line %d, %q; want undecided in line %d, %q", c.end, verdict, line,
				message, 2+c.line, c.said)
		}
		for _, after := range []string{
			"[GPU Memory] Init: Allocated: 0.10GB\n",
			"[pipeline] file-start path=b.wav\n",
			"[pipeline] file-end path=b.wav status=ok\n",
			"✅ Progress: 10/125 batches (40 embeddings extracted)\n",
			"Falling back to sequential extraction\n",
			"[vramsoak] exit pid=1 code=0\n",
		} {
			// Where a prefix names the process that crashed, only its own lines show that it went on, and
			// those of the harness.
			prefix, want := processPrefix.FindString(c.end), check.Verdict("")
			if prefix != "" && !strings.HasPrefix(after, "[vramsoak]") {
				if verdict, _, _ := crashOf(t, twoReadings+c.end+"\n"+after); verdict != check.Undecided {
					t.Errorf("%q, then %q: got %q, want undecided", c.end, after, verdict)
				}
				after = prefix + after
			}
			if verdict, _, message := crashOf(t, twoReadings+c.end+"\n"+after); verdict != want {
				t.Errorf("%q, then %q: got %s: %s; want no finding", c.end, after, verdict, message)
			}
		}
	}
}

var processPrefix = regexp.MustCompile(`^(?:\[rank\d\]: |worker-1  \| )`)

// TestACrashOfSeveralLines: the finding quotes the first line of the crash and, if it differs, the
// last line.
func TestACrashOfSeveralLines(t *testing.T) {
	t.Parallel()
	_, line, message := crashOf(t,
		twoReadings+"terminate called after throwing an instance of 'c10::Error'\n  what(): x\n"+
			"Aborted (core dumped)\n")
	if line != 3 || !strings.Contains(message, "'c10::Error'") ||
		!strings.Contains(message, `"Aborted (core dumped)" in line 5`) {
		t.Errorf("got line %d: %s; want line 3 with the first words and the last", line, message)
	}
}

// TestARankThatCrashed: one of several ranks crashed. Lines that other ranks print after the crash
// do not show that the crashed rank went on.
func TestARankThatCrashed(t *testing.T) {
	t.Parallel()
	reading := func(rank string) string {
		return "[GPU Memory] Step: Allocated: 1.00GB | allocated=1073741824 device=0 rank=" + rank + "\n"
	}
	log := reading("0") + reading("1") +
		"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 1\n" +
		"[rank1]: RuntimeError: CUDA error: unspecified launch failure\n"
	if verdict, line, _ := crashOf(t, log+reading("0")); verdict != check.Undecided || line != 5 {
		t.Errorf("with a line of another rank: got %q in line %d, want undecided in line 5", verdict,
			line)
	}
	if _, _, message := crashOf(t, log+"[rank2]: Segmentation fault\n"); !strings.Contains(message,
		"2 processes crashed") {
		t.Errorf("got %q, want 2 processes crashed", message)
	}
	if verdict, _, _ := crashOf(t, log+reading("1")); verdict != "" {
		t.Errorf("with a line of the same rank: got %q, want no finding", verdict)
	}
}

// TestNoCrash lists words at the end of a log that are no crash, because a healthy run may end with
// them.
func TestNoCrash(t *testing.T) {
	t.Parallel()
	for _, end := range []string{
		head + "KeyboardInterrupt\n",
		head + "SystemExit: 0\n",
		head + "SystemExit\n",
		head + "ValueError: x\n" + during + head + "KeyboardInterrupt\n",
		head + "asyncio.exceptions.CancelledError\n",
		"Exception ignored in: <function Pool.__del__ at 0x7f>\n" + head +
			"TypeError: 'NoneType' object is not callable\n",
		"--- Logging error ---\n" + head + "ValueError: I/O operation on closed file.\n",
		"2026-11-20 02:00:03,123 - ERROR - asr - a.wav failed\n" + head + "KeyError: 'text'\n" +
			"2026-11-20 02:00:04,123 - INFO - asr - done: 59 ok, 1 failed\n",
		head + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
		oom + head + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
		head + "ValueError: in a plugin, at the start of a server\n" +
			strings.Repeat("got prompt\n", 300),
		"[00:00:03.400 --> 00:07:42.600]  Killed\n",
		"[00:03.400 --> 00:42.600]  panic: he said\n",
		"12 requests were Killed by the user\n",
		" Killed\n", // heard by Whisper
		"./run.sh: line 12:  4711 Killed                  nvidia-smi dmon -s u > gpu.csv\n",
		"E1120 02:00:03.123456 4711 asr.py:12] upload failed\n" + head + "OSError: refused\n" +
			"I1120 02:00:04.123456 4711 asr.py:99] done\n",
		"2026-11-20 02:00:03 | WARNING  | asr:upload:12 - failed\n" + head + "OSError: refused\n" +
			"2026-11-20 02:00:04 | SUCCESS  | asr:main:99 - all files done\n",
		"[NeMo W 2026-11-20 02:00:03 asr:349] no manifest\n" + head + "OSError: missing\n" +
			"[NeMo I 2026-11-20 02:00:05 asr:350] Finished transcribing 2 files\n",
		"Traceback (most recent call last):\n" +
			"  File \"/usr/lib/python3.10/multiprocessing/resource_tracker.py\", line 209, in main\n" +
			"    cache[rtype].remove(name)\nKeyError: '/psm_8e9e2b6c'\n2 files done\n",
		"=== warnings summary ===\n  " + strings.ReplaceAll(head, "\n", "\n  ") +
			"ValueError: closed\n\n=== 3 passed ===\n",
		"Aborted!\n",
		"files that may end with CUDA error: an illegal memory access was encountered\n",
		"CUDA error during transcription: CUDA error: an illegal memory access was encountered. " +
			"Clearing CUDA cache and continuing.\n",
		"    raise RuntimeError(\"CUDA error: device-side assert triggered\")\n",
		"slurmstepd: error: *** JOB 267039 ON dgx-06 CANCELLED AT 2025-08-21T02:53:05 ***\n",
	} {
		if verdict, _, message := crashOf(t, twoReadings+end); verdict != "" {
			t.Errorf("%q: got %s: %s; want no finding", end, verdict, message)
		}
	}
}
