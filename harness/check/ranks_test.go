package check_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// rankLines returns the lines of a process that works on 60 files behind a prefix. After each file,
// leak MiB more stay allocated.
func rankLines(prefix string, leak int) (lines []string) {
	for i := range 60 {
		idle := 200 + leak*i
		line := func(name string, mib int) {
			lines = append(lines, fmt.Sprintf("%s[GPU Memory] %s: Allocated: %.2fGB | allocated=%d reserved=%d",
				prefix, name, float64(mib)/1024, mib<<20, (mib+100)<<20))
		}
		line("Pipeline Initialization", idle)
		line("Before Transcription", idle)
		line("Before Whisper Cleanup", idle+3000)
		line("After Whisper Cleanup", idle)
		line("After Transcription", idle)
	}
	return lines
}

// merge returns the lines of two processes as they come into one log: in turns, or in a random
// order.
func merge(a, b []string, random bool) string {
	r := rand.New(rand.NewPCG(1, 2))
	var log strings.Builder
	for len(a)+len(b) > 0 {
		first := len(a) >= len(b)
		if random && len(a) > 0 && len(b) > 0 {
			first = r.IntN(2) == 0
		}
		from := &b
		if first {
			from = &a
		}
		log.WriteString((*from)[0] + "\n")
		*from = (*from)[1:]
	}
	return log.String()
}

// verdictOf returns the report on a log.
func verdictOf(t *testing.T, log string) *check.Report {
	t.Helper()
	b := &parser.Builder{}
	if err := b.Read(strings.NewReader(log), "run.log"); err != nil {
		t.Fatal(err)
	}
	return check.Of(b.Timeline(), check.DefaultPolicy())
}

// TestALeakInOneOfTwoRanks: two processes print into one log, and each line names its process. If
// one of them leaks 4 MiB a file, the log fails, and the finding is of that process alone. If none
// leaks, the log passes.
func TestALeakInOneOfTwoRanks(t *testing.T) {
	t.Parallel()
	for _, p := range [][3]string{
		{"[rank0]: ", "[rank1]: ", "rank 1"},
		{"", "[rank1]: ", "rank 1"},
		{"[default0]:", "[default1]:", "rank 1"},
		{"0: ", "1: ", "rank 1"},
		{"[1,0]<stdout>:", "[1,1]<stdout>:", "rank 1"},
		{"(Worker_TP0 pid=7) ", "(Worker_TP1 pid=8) ", "rank 1"},
		{"(Worker_DP0_TP0 pid=7) ", "(Worker_DP1_TP0 pid=8) ", "DP1 TP0"},
		{"[2026-11-20 02:00:03 DP0 TP0 EP0] ", "[2026-11-20 02:00:03 DP0 TP1 EP1] ", "DP0 TP1"},
		{"(train pid=7) ", "(train pid=8) ", "train pid=8"},
		{"(train pid=7, ip=10.0.0.3) ", "(train pid=7, ip=10.0.0.4) ", "train pid=7 ip=10.0.0.4"},
		{"[pod/asr-0/main] ", "[pod/asr-1/main] ", "pod/asr-1/main"},
		{
			"[pod/asr-0/main] 2026-11-20T02:00:03Z [rank0]: ",
			"[pod/asr-1/main] 2026-11-20T02:00:03Z [rank0]: ", "pod/asr-1/main rank 0",
		},
		{"worker-1  | ", "worker-2  | ", "worker-2"},
		{
			"2026-11-20 02:00:03,123 | rank0 | INFO | ",
			"2026-11-20 02:00:03,123 | rank1 | INFO | ", "rank 1",
		},
		{
			"2026-11-20 02:00:03,123 - ForkPoolWorker-1 - INFO - ",
			"2026-11-20 02:00:03,123 - ForkPoolWorker-2 - INFO - ", "ForkPoolWorker-2",
		},
		{"Nov 20 02:00:03 gpu1 asr[47]: ", "Nov 20 02:00:03 gpu1 asr[48]: ", "gpu1 asr[48]"},
		// Two nodes have the same local ranks.
		{"0: [default0]:", "1: [default0]:", "task 1 rank 0"},
		{"0: [default1]:", "1: [default1]:", "task 1 rank 1"},
		{"1: [default0]:", "1: [default1]:", "task 1 rank 1"},
		{"1: [default0]:[rank2]: ", "1: [default1]:[rank3]: ", "task 1 local 1 rank 3"},
		{"1: [default1]:[rank3]: ", "1: [default0]:[rank2]: ", "task 1 local 0 rank 2"},
		{"node1: [default0]:", "node2: [default0]:", "node2 rank 0"},
		{"node1: 1: ", "node2: 1: ", "node2 rank 1"},
		{"[pod/asr-0/main] [default1]:", "[pod/asr-1/main] [default1]:", "pod/asr-1/main rank 1"},
	} {
		for _, random := range []bool{false, true} {
			for _, leak := range []int{0, 4} {
				report := verdictOf(t, merge(rankLines(p[0], 0), rankLines(p[1], leak), random))
				var failed []string
				for _, f := range report.Findings {
					if f.Verdict == check.Fail {
						failed = append(failed, f.Check+" "+f.Subject)
					}
				}
				want := leak > 0
				found := len(failed) == 1 && strings.Contains(failed[0], "leak idle level ("+p[2]+", ")
				if report.Files != 120 || want != found || !want && report.Verdict != check.Pass {
					t.Errorf("%q and %q, random %v, leak %d: %s over %d files, failed %q", p[0], p[1],
						random, leak, report.Verdict, report.Files, failed)
				}
			}
		}
	}
}

// TestRanksWithoutAPrefix: two processes print into one log and nothing tells them apart. The log
// is undecided, and the report says why.
func TestRanksWithoutAPrefix(t *testing.T) {
	t.Parallel()
	for _, random := range []bool{false, true} {
		for _, leak := range []int{0, 4} {
			report := verdictOf(t, merge(rankLines("", 0), rankLines("", leak), random))
			said := false
			for _, f := range report.Findings {
				said = said || f.Subject == "one process" &&
					strings.Contains(f.Message, "nothing tells them apart")
			}
			if report.Verdict != check.Undecided || !said {
				t.Errorf("random %v, leak %d: %s, and the reason is given: %v", random, leak,
					report.Verdict, said)
			}
		}
	}
}

// TestATotalOfAnotherRank: rank 1 prints no total of its device. It counts by the total that rank 0
// prints for the device of the same number, unless the ranks print different totals.
func TestATotalOfAnotherRank(t *testing.T) {
	t.Parallel()
	const full = "[rank1]: [GPU Memory] Load: Allocated: 23.50GB\n"
	for name, c := range map[string]struct {
		log  string
		want check.Verdict
		says string
	}{
		"one total": {
			"[rank0]: [GPU Memory] Load: Allocated: 1.00GB | Total: 24.00GB\n" + full, check.Fail, "97.9 %",
		},
		"two totals": {
			"[rank0]: [GPU Memory] Load: Allocated: 1.00GB | Total: 24.00GB\n" +
				"[rank2]: [GPU Memory] Load: Allocated: 1.00GB | Total: 80.00GB\n" + full,
			check.Undecided, "those of other ranks differ (24.0 GiB in line 1, 80.0 GiB in line 2)",
		},
		"no total": {
			"[rank0]: [GPU Memory] Load: Allocated: 1.00GB\n" + full,
			check.Skipped, "the log gives no total of the device",
		},
	} {
		found := 0
		for _, f := range verdictOf(t, c.log).Findings {
			if f.Check != check.Peak || !strings.Contains(f.Subject, "rank 1") && name != "no total" {
				continue
			}
			found++
			if f.Verdict != c.want || !strings.Contains(f.Message, c.says) {
				t.Errorf("%s: expected %s and %q, found %s: %s", name, c.want, c.says, f.Verdict, f.Message)
			}
		}
		if found != 1 {
			t.Errorf("%s: expected 1 finding on the peak, found %d", name, found)
		}
	}
}

// TestARankThatFailsItsFile: a file that one rank says to have failed fails the log, behind any
// prefix.
func TestARankThatFailsItsFile(t *testing.T) {
	t.Parallel()
	for prefix, process := range map[string]string{
		"[rank1]: ": " of rank 1", "worker-2  | INFO:root:": " of worker-2", "2026-11-20T02:00:03Z ": "",
		"(train pid=7) ": " of train pid=7", "2026-11-20 02:00:03,123 INFO asr: ": "",
	} {
		log := "[rank0]: [pipeline] file-start path=a.wav\n[rank0]: [GPU Memory] After A: Allocated: 1.00GB\n" +
			"[rank0]: [pipeline] file-end path=a.wav status=ok\n" +
			prefix + "[pipeline] file-start path=b.wav\n" + prefix + "[pipeline] file-end path=b.wav status=failed\n"
		report, want := verdictOf(t, log), "(b.wav)"+process+" failed"
		if !slices.ContainsFunc(report.Findings, func(f check.Finding) bool {
			return f.Verdict == check.Fail && strings.Contains(f.Message, want)
		}) {
			t.Errorf("%q: got %s without %q", prefix, report.Verdict, want)
		}
	}
}

// TestANumberBeforeEachLine: the text before a line counts files, readings or lines, and is no
// process. Growth from one to the next does not pass, and line numbers change nothing.
func TestANumberBeforeEachLine(t *testing.T) {
	t.Parallel()
	for prefix, leaks := range map[string]check.Verdict{
		"task%d: ": check.Undecided, "worker-%d  | ": check.Undecided, "(asr pid=%d) ": check.Undecided,
		"%d: ": check.Undecided,
	} {
		for leak, want := range map[int]check.Verdict{0: check.Pass, 4: leaks} {
			var log strings.Builder
			for i, line := range rankLines("", leak) {
				log.WriteString(fmt.Sprintf(prefix, i/5) + line + "\n") // five lines a file
			}
			if report := verdictOf(t, log.String()); report.Verdict != want {
				t.Errorf("%q, leak %d: got %s, want %s", prefix, leak, report.Verdict, want)
			}
		}
	}
	for leak, want := range map[int]check.Verdict{0: check.Pass, 4: check.Fail} {
		var log strings.Builder
		for i, line := range rankLines("", leak) {
			fmt.Fprintf(&log, "%6d: %s\n", i+1, line)
			if i%7 == 0 {
				log.WriteString("\n") // nl does not number blank lines
			}
		}
		if report := verdictOf(t, log.String()); report.Verdict != want || report.Files != 60 {
			t.Errorf("line numbers, leak %d: got %s over %d files, want %s over 60", leak, report.Verdict,
				report.Files, want)
		}
	}
}

// TestRanksInOrder checks that ranks which print one after another are not taken for line numbers.
func TestRanksInOrder(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for file := range 60 {
		for rank := range 40 {
			mib := 1024
			if rank == 20 {
				mib += 8 * file
			}
			fmt.Fprintf(&log, "%d: [GPU Memory] After File: Allocated: %.2fGB | allocated=%d\n", rank,
				float64(mib)/1024, mib<<20)
		}
	}
	for _, f := range verdictOf(t, log.String()).Findings {
		if f.Verdict == check.Fail && f.Check == check.Leak && strings.Contains(f.Subject, "rank 20") {
			return
		}
	}
	t.Error("the leak of rank 20 is not found")
}

// TestAFailureOfARankWithoutReadings: another rank's files ended ok. That says nothing about the
// rank whose allocation failed, or that crashed.
func TestAFailureOfARankWithoutReadings(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]check.Verdict{
		"[rank1]: CUDA error: out of memory\n": check.Fail,
		"[rank1]: Segmentation fault\n":        check.Undecided,
		"worker-1  | Killed\n":                 check.Undecided,
	} {
		var log strings.Builder
		for i := range 300 {
			fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n[GPU Memory] Init: Allocated: 1.00GB | "+
				"Total: 24.00GB\n[pipeline] file-end path=%d.wav status=ok\n", i, i)
			if i == 10 {
				log.WriteString(end)
			}
		}
		if report := verdictOf(t, log.String()); report.Verdict != want {
			t.Errorf("%q: got %s, want %s", end, report.Verdict, want)
		}
	}
}

// TestMoreProcessesThanAreKept: a log of more processes than are judged does not pass.
func TestMoreProcessesThanAreKept(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 33_000 {
		fmt.Fprintf(&log, "(asr pid=%d) [GPU Memory] Init: Allocated: 1.00GB | Total: 24.00GB\n", 7*i)
	}
	report := verdictOf(t, log.String())
	said := false
	for _, f := range report.Findings {
		said = said || strings.Contains(f.Message, "at most 32769 processes in one log")
	}
	if report.Verdict != check.Undecided || !said {
		t.Errorf("got %s, and the reason is given: %v", report.Verdict, said)
	}
}

// TestARankOnlyBeforeATraceback checks a process whose lines have no rank, or the number that a
// launcher gives, while torch.distributed puts its global rank before the lines of an exception.
func TestARankOnlyBeforeATraceback(t *testing.T) {
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has " +
		"a total capacity of 23.69 GiB of which 1.00 GiB is free."
	for _, c := range []struct {
		name, lines, traceback string
	}{
		{"one process", "", "[rank2]: "},
		{"one pod", "[pod/whisper-3/main] ", "[pod/whisper-3/main] [rank2]: "},
		{"torchrun --tee", "[default1]:", "[default1]:[rank9]: "},
		{"rank 0 of torchrun --tee", "[default0]:", "[default0]:[rank8]: "},
		{"srun --label torchrun --tee", "1: [default0]:", "1: [default0]:[rank2]: "},
		{"the second of a node", "1: [default1]:", "1: [default1]:[rank3]: "},
		{"the first node", "0: [default1]:", "0: [default1]:[rank1]: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := rankLines(c.lines, 0)
			log := strings.Join(append(lines[:len(lines)-2],
				c.traceback+"Traceback (most recent call last):", c.traceback+oom), "\n") + "\n"
			report := verdictOf(t, log)
			found := false
			for _, f := range report.Findings {
				if f.Check != check.OutOfMemory || f.Verdict != check.Fail {
					continue
				}
				found = true
				if f.File != 60 || strings.Contains(f.Message, "rank 2") {
					t.Errorf("got %+v, want the file in which the process failed", f)
				}
			}
			if !found {
				t.Errorf("got %s without the failed allocation", report.Verdict)
			}
		})
	}
}

// TestTheLocalRankOfAnotherNode: two nodes have a process of the same local rank, and one of them
// fails. The failure is of the process on its own node, whatever the numbers of node and process.
func TestTheLocalRankOfAnotherNode(t *testing.T) {
	t.Parallel()
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has " +
		"a total capacity of 23.69 GiB of which 1.00 GiB is free."
	for node := range 2 {
		for local := range 2 {
			var log strings.Builder
			var all [][]string
			for n := range 2 {
				for l := range 2 {
					lines := rankLines(fmt.Sprintf("%d: [default%d]:", n, l), 0)
					if n == node && l == local { // it fails in its last file
						rank := fmt.Sprintf("%d: [default%d]:[rank%d]: ", n, l, 2*n+l)
						lines = append(lines[:len(lines)-2], rank+"Traceback (most recent call last):",
							rank+oom)
					}
					all = append(all, lines)
				}
			}
			for i := range all[0] {
				for _, lines := range all {
					if i < len(lines) {
						log.WriteString(lines[i] + "\n")
					}
				}
			}
			of := fmt.Sprintf("file 60 of task %d rank %d, ", node, local)
			report := verdictOf(t, log.String())
			var failed []string
			for _, f := range report.Findings {
				if f.Check == check.OutOfMemory && f.Verdict == check.Fail {
					failed = append(failed, f.Message)
				}
			}
			if report.Files != 240 || len(failed) != 1 || !strings.Contains(failed[0], of) {
				t.Errorf("got %d files and failed allocations %q, want 240 files and one of %s",
					report.Files, failed, of)
			}
		}
	}
}
