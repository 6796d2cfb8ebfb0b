package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// A causeLog is a log of 40 files on a device of 24 GiB with the stages Whisper and Diarization.
// Sizes are in MiB.
type causeLog struct {
	leak, from int         // Diarization keeps `leak` in each file, from this file on
	work       map[int]int // what Whisper needs in some files; 3000 in the others
	keeps      map[int]int // what Whisper Cleanup keeps in some files, until the file's end
	oom        map[int]int // what an allocation asks for in some files; the file then fails
	crash      int         // the file in which the process crashes
	bare       bool        // only cleanups are logged, and no stages
	unused     int         // the allocator reserves so much more in each file and does not use it
}

// lines returns the log of one device.
func (l causeLog) lines() []string {
	const total = 24 << 10
	var lines []string
	idle := 1000
	if l.bare {
		idle = 100 // so that a cleanup frees 95 % of all memory
	}
	for n := 1; n <= 40; n++ {
		add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		checkpoint := func(name string, mib int) {
			if l.bare && !strings.HasSuffix(name, " Cleanup") {
				return
			}
			add("[GPU Memory] %s: Allocated: %.2fGB | allocated=%d reserved=%d total=%d", name,
				float64(mib)/1024, mib<<20, (mib+100+n*l.unused)<<20, total<<20)
		}
		work := 3000
		if own, ok := l.work[n]; ok {
			work = own
		}
		status := "ok"
		add("[pipeline] file-start path=%d.wav", n)
		checkpoint("Before Whisper", idle)
		checkpoint("Before Whisper Cleanup", idle+work)
		checkpoint("After Whisper Cleanup", idle+l.keeps[n])
		checkpoint("After Whisper", idle+l.keeps[n])
		checkpoint("Before Diarization", idle)
		asked, fails := l.oom[n]
		switch {
		case fails:
			add("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d MiB. GPU 0 has a total "+
				"capacity of 24.00 GiB of which %d MiB is free. Of the allocated memory %d MiB is "+
				"allocated by PyTorch, and %d MiB is reserved by PyTorch but unallocated.", asked,
				total-idle-100-n*l.unused, idle, 100+n*l.unused)
			status = "oom"
		case n == l.crash:
			status = "crashed"
		default:
			checkpoint("Before Diarization Cleanup", idle+2000)
			if n >= l.from {
				idle += l.leak
			}
			checkpoint("After Diarization Cleanup", idle)
			checkpoint("After Diarization", idle)
		}
		add("[pipeline] file-end path=%d.wav status=%s", n, status)
	}
	return lines
}

// causesIn judges a log and returns the cause of each finding that fails: "peak, high-water mark"
// -> "leak, idle level", or "" if it has a cause of its own.
func causesIn(t *testing.T, log string, policy check.Policy) map[string]string {
	t.Helper()
	b := &parser.Builder{}
	if err := b.Read(strings.NewReader(log), "run.log"); err != nil {
		t.Fatal(err)
	}
	causes := map[string]string{}
	for _, f := range check.Of(b.Timeline(), policy).Findings {
		if f.Verdict != check.Fail {
			continue
		}
		causes[f.Check+", "+f.Subject] = ""
		if f.Cause != nil {
			causes[f.Check+", "+f.Subject] = f.Cause.Check + ", " + f.Cause.Subject
		}
	}
	return causes
}

func TestCauses(t *testing.T) {
	t.Parallel()
	const (
		leak  = "leak, idle level"
		oom   = "out-of-memory, allocations"
		files = "completeness, files"
		peak  = "peak, high-water mark"
	)
	for _, tt := range []struct {
		name string
		log  causeLog
		want map[string]string
	}{
		{
			"the cleanup of the stage that leaks frees too little",
			causeLog{leak: 300, from: 21},
			map[string]string{
				leak: "", "recovery, Diarization": leak, "recovery, Diarization Cleanup": leak,
			},
		},
		{
			"no stage is logged, so that the first cleanup held all memory",
			causeLog{leak: 90, from: 20, bare: true},
			map[string]string{leak: "", "recovery, Whisper Cleanup": leak},
		},
		{
			"a leak fills the card",
			causeLog{leak: 520, from: 1, oom: map[int]int{40: 4000}},
			map[string]string{
				leak: "", "recovery, Diarization": leak, "recovery, Diarization Cleanup": leak,
				peak: leak, oom: leak, files: leak,
			},
		},
		{
			"one file is too large",
			causeLog{oom: map[int]int{15: 24000}},
			map[string]string{oom: "", files: oom},
		},
		{
			"one file is too large, and a small leak",
			causeLog{leak: 4, from: 1, oom: map[int]int{30: 24000}},
			map[string]string{leak: "", oom: "", files: oom},
		},
		{
			"a cleanup keeps memory in one file, before the leak begins",
			causeLog{leak: 2, from: 20, keeps: map[int]int{5: 900}},
			map[string]string{
				leak: "", "recovery, Whisper Cleanup": "",
				"recovery, Whisper": "recovery, Whisper Cleanup",
			},
		},
		{
			"a cleanup keeps more than leaks",
			causeLog{leak: 2, from: 20, keeps: map[int]int{30: 900}},
			map[string]string{
				leak: "", "recovery, Whisper Cleanup": "",
				"recovery, Whisper": "recovery, Whisper Cleanup",
			},
		},
		{
			"a large file before the leak begins",
			causeLog{leak: 2, from: 20, work: map[int]int{5: 22000}},
			map[string]string{leak: "", peak: ""},
		},
		{
			"a file that is too large without the leak",
			causeLog{leak: 2, from: 1, work: map[int]int{30: 22000}},
			map[string]string{leak: "", peak: ""},
		},
		{
			"a file that fits without the leak",
			causeLog{leak: 60, from: 1, work: map[int]int{38: 18500}},
			map[string]string{leak: "", peak: leak},
		},
		{
			"an allocator that fragments fills the card",
			causeLog{unused: 400, oom: map[int]int{38: 12000}},
			map[string]string{
				"fragmentation, reserved - allocated": "",
				oom:                                   "fragmentation, reserved - allocated",
				files:                                 "fragmentation, reserved - allocated",
			},
		},
		{
			"a cleanup that stops to free beside a leak in another stage",
			causeLog{leak: 100, from: 1, keeps: map[int]int{25: 3000, 26: 3000, 27: 3000, 39: 3000}},
			map[string]string{
				leak: "", "recovery, Whisper Cleanup": "",
				"recovery, Whisper": "recovery, Whisper Cleanup",
			},
		},
		{
			"a cleanup keeps more than one file leaks",
			causeLog{leak: 10, from: 1, keeps: map[int]int{38: 500}},
			map[string]string{
				leak: "", "recovery, Whisper Cleanup": "",
				"recovery, Whisper": "recovery, Whisper Cleanup",
			},
		},
		{
			"a request that never fits beside one that a leak makes fail",
			causeLog{leak: 520, from: 1, oom: map[int]int{38: 6000, 39: 60000}},
			map[string]string{
				leak: "", "recovery, Diarization": leak, "recovery, Diarization Cleanup": leak,
				peak: leak, oom: "", files: oom,
			},
		},
		{
			"a crash beside a leak",
			causeLog{leak: 2, from: 1, crash: 20},
			map[string]string{leak: "", files: ""},
		},
		{
			"a crash beside a failed allocation",
			causeLog{crash: 20, oom: map[int]int{30: 24000}},
			map[string]string{oom: "", files: ""},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := strings.Join(tt.log.lines(), "\n") + "\n"
			got := causesIn(t, log, check.DefaultPolicy())
			maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, check.Drift) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestCausesThatDoNotDecide: a leak that the policy waives, or that does not gate, hides nothing.
func TestCausesThatDoNotDecide(t *testing.T) {
	t.Parallel()
	log := strings.Join(causeLog{leak: 60, from: 1, work: map[int]int{38: 18500}}.lines(), "\n") + "\n"
	waiving := check.DefaultPolicy()
	waiving.Waive = []check.WaivePolicy{{Check: check.Leak}}
	without := check.DefaultPolicy()
	without.Gate = slices.DeleteFunc(slices.Clone(without.Gate), func(name string) bool {
		return name == check.Leak
	})
	for name, policy := range map[string]check.Policy{"waived": waiving, "not gating": without} {
		got := causesIn(t, log, policy)
		if cause, fails := got["peak, high-water mark"]; !fails || cause != "" {
			t.Errorf("%s: the peak's cause is %q (fails: %v), expected none", name, cause, fails)
		}
	}
}

// TestCausesOfRanks: ranks that leak alike have one cause. A rank that leaks otherwise has its own.
func TestCausesOfRanks(t *testing.T) {
	t.Parallel()
	log := func(second causeLog) string {
		return merge(prefixed("[rank0]: ", causeLog{leak: 8, from: 10}.lines()),
			prefixed("[rank1]: ", second.lines()), false)
	}
	const first, other = "leak, idle level (rank 0, device 0)", "leak, idle level (rank 1, device 0)"
	for name, tt := range map[string]struct {
		second causeLog
		want   map[string]string
	}{
		"alike":             {causeLog{leak: 8, from: 10}, map[string]string{first: "", other: first}},
		"at another rate":   {causeLog{leak: 16, from: 10}, map[string]string{first: "", other: ""}},
		"from another file": {causeLog{leak: 8, from: 20}, map[string]string{first: "", other: ""}},
		"one of them":       {causeLog{}, map[string]string{first: ""}},
	} {
		got := causesIn(t, log(tt.second), check.DefaultPolicy())
		maps.DeleteFunc(got, func(name, _ string) bool { return !strings.HasPrefix(name, check.Leak) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// prefixed returns lines behind a prefix.
func prefixed(prefix string, lines []string) []string {
	for i := range lines {
		lines[i] = prefix + lines[i]
	}
	return lines
}
