package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A resourceRun makes a timeline of files of a second each, with what the processes held when
// each file had ended and at its two checkpoints.
type resourceRun struct {
	files int
	// held returns the amount of a resource after so many files, and taken is set if the growth of
	// the next file is already there.
	held func(of record.Resource, files int, taken bool) int64
	// known reports whether the harness looked when file i had ended; nil if it always did.
	known func(i int) bool
}

func (r resourceRun) timeline() *timeline.Timeline {
	start := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	tl := &timeline.Timeline{
		Runs:        []timeline.Run{{End: &record.RunEnd{Reason: "done"}}},
		Checkpoints: 2 * r.files,
		Limits: []record.Limits{{
			PID: 7, Memory: 16 << 30, Group: true, Files: 1024, Tasks: 5000, Shared: 64 << 20,
		}},
	}
	resources := func(files int, taken bool) (all record.Resources) {
		for of := range record.ResourceKinds {
			all.Set(of, r.held(of, files, taken))
		}
		all.Set(record.Processes, 1)
		return all
	}
	for i := range r.files {
		at := start.Add(time.Duration(i) * time.Second)
		f := &timeline.File{
			Index: i + 1, Path: "a.wav", Status: record.StatusOK, Supervised: true,
			Held:  &timeline.Held{},
			Start: at, End: at.Add(990 * time.Millisecond),
			Pos: record.Position{Line: 10 * i}, EndPos: record.Position{Line: 10*i + 9},
		}
		for k, name := range []string{"Before Diarization", "After Diarization"} {
			c := record.Checkpoint{Name: name}
			c.Time, c.Pos.Line = at.Add(time.Duration(1+k)*300*time.Millisecond), 10*i+k+1
			c.Set(record.Allocated, record.Exact(1<<30))
			f.Checkpoints = append(f.Checkpoints, c)
			at := timeline.HeldAt{Checkpoint: k, Resources: resources(i, k == 1)}
			f.Held.At = append(f.Held.At, at)
		}
		f.Held.Least, f.Held.Early = f.Held.At[0].Resources, f.Held.At[0].Resources
		f.Stages = []timeline.Stage{{Name: "Diarization", Before: 0, After: 1}}
		if r.known == nil || r.known(i) {
			f.Held.AtEnd = &record.Holding{
				PID: 7, Index: i + 1, Resources: resources(i, true), MostFiles: 101 + i - r.files,
				Available: 1 << 30, SharedFree: 64 << 20,
			}
			f.Held.AtEnd.Time = f.End
		}
		tl.Files = append(tl.Files, f)
	}
	return tl
}

// steady returns the same amount of each resource at any time.
func steady(record.Resource, int, bool) int64 { return 100 << 20 }

// leaking returns a function for [resourceRun].held. Each resource in by grows by that amount with
// each file from the file `from` on.
func leaking(from int, by map[record.Resource]int64) func(record.Resource, int, bool) int64 {
	return func(of record.Resource, files int, taken bool) int64 {
		if taken {
			files++
		}
		return 100<<20 + by[of]*int64(max(0, files-from+1))
	}
}

func findingOf(t *testing.T, rep *Report, check string) Finding {
	t.Helper()
	i := slices.IndexFunc(rep.Findings, func(f Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("no finding on %s", check)
	}
	return rep.Findings[i]
}

// TestMachineLedgers: a ledger of the machine that grows fails. The message says since which
// file, between which checkpoints, and when the limit is reached.
func TestMachineLedgers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		resource record.Resource
		check    string
		by       int64
		limit    string
	}{
		{
			record.HostMemory, HostGrowth, 2 << 20,
			"the memory limit of the container or control group (16.0 GiB) is used up after about " +
				"512 more files",
		},
		{
			record.SharedMemory, SharedGrowth, 2 << 20,
			"/dev/shm (64.0 MiB) is full after about 32 more files",
		},
		{
			record.FileDescriptors, DescriptorGrowth, 1,
			"the limit of open files (ulimit -n 1024) is reached after about 924 more files",
		},
	} {
		run := resourceRun{files: 60, held: leaking(21, map[record.Resource]int64{c.resource: c.by})}
		rep := Of(run.timeline(), DefaultPolicy())
		f := findingOf(t, rep, c.check)
		if rep.Verdict != Fail || f.Verdict != Fail || f.File != 21 || *f.Measured != float64(c.by) {
			t.Errorf("%s: %s, file %d, measured %v", c.check, f.Verdict, f.File, *f.Measured)
		}
		for _, want := range []string{
			"since file 21 (a.wav)", "it is taken between Before Diarization and After Diarization",
		} {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%s: %q is not in %s", c.check, want, f.Message)
			}
		}
		if !strings.Contains(f.Message, c.limit) {
			t.Errorf("%s: %q is not in %s", c.check, c.limit, f.Message)
		}
		if f.Stage != "Diarization" {
			t.Errorf("%s: stage %q", c.check, f.Stage)
		}
	}
	rep := Of(resourceRun{files: 60, held: steady}.timeline(), DefaultPolicy())
	for _, name := range []string{
		HostGrowth, SharedGrowth, DescriptorGrowth, ThreadGrowth, ProcessGrowth,
	} {
		if f := findingOf(t, rep, name); f.Verdict != Pass {
			t.Errorf("steady: %s is %s: %s", name, f.Verdict, f.Message)
		}
	}
}

// TestExitingProcess: the last holding may be of a process that exits and has closed most of its
// files already. The message still says when the limit is reached, by the holding before it.
func TestExitingProcess(t *testing.T) {
	t.Parallel()
	run := resourceRun{files: 60, held: leaking(21, map[record.Resource]int64{
		record.FileDescriptors: 1,
	})}
	tl := run.timeline()
	tl.Files[59].Held.AtEnd.MostFiles = 5 // the file before has 99 open
	f := findingOf(t, Of(tl, DefaultPolicy()), DescriptorGrowth)
	const want = "the limit of open files (ulimit -n 1024) is reached after about 925 more files"
	if !strings.Contains(f.Message, want) {
		t.Errorf("%q is not in %s", want, f.Message)
	}
}

// TestLedgersGrowTogether: ledgers that begin to grow at the same file have one finding. It is of
// the first one whose check gates, and names the checks of the others.
func TestLedgersGrowTogether(t *testing.T) {
	t.Parallel()
	by := map[record.Resource]int64{
		record.HostMemory: 2 << 20, record.FileDescriptors: 1, record.Threads: 1,
	}
	run := resourceRun{files: 60, held: leaking(21, by)}
	rep := Of(run.timeline(), DefaultPolicy())
	f := findingOf(t, rep, HostGrowth)
	const want = "host memory, file descriptors and threads grow together from file 21 (a.wav) on, " +
		"in Diarization: host memory grows by 2.00 MiB a file"
	if !strings.HasPrefix(f.Message, want) ||
		!slices.Equal(f.Also, []string{DescriptorGrowth, ThreadGrowth}) {
		t.Errorf("%v: %s", f.Also, f.Message)
	}
	if n := len(slices.DeleteFunc(slices.Clone(rep.Findings), func(f Finding) bool {
		return f.Verdict != Fail
	})); n != 1 {
		t.Errorf("%d findings fail", n)
	}
	// Threads do not gate by default. Alone, they are only shown.
	run.held = leaking(21, map[record.Resource]int64{record.Threads: 1})
	if rep := Of(run.timeline(), DefaultPolicy()); rep.Verdict != Pass {
		t.Errorf("a leak of threads alone: %s", rep.Verdict)
	}
	// Ledgers that begin to grow at different files have a finding each.
	late := leaking(41, map[record.Resource]int64{record.FileDescriptors: 1})
	early := leaking(5, map[record.Resource]int64{record.HostMemory: 2 << 20})
	run.held = func(of record.Resource, files int, taken bool) int64 {
		if of == record.FileDescriptors {
			return late(of, files, taken)
		}
		return early(of, files, taken)
	}
	rep = Of(run.timeline(), DefaultPolicy())
	if a, b := findingOf(t, rep, HostGrowth), findingOf(t, rep, DescriptorGrowth); a.Verdict != Fail ||
		b.Verdict != Fail || a.Also != nil {
		t.Errorf("growth from file 5 and from file 41: %v, %s and %s", a.Also, a.Verdict, b.Verdict)
	}
	// A policy that requires a check is content with a finding that is also its own.
	policy := DefaultPolicy()
	policy.Require = []string{DescriptorGrowth}
	run.held = leaking(21, by)
	for _, f := range Of(run.timeline(), policy).Findings {
		if f.Check == DescriptorGrowth {
			t.Errorf("a second finding: %s", f.Message)
		}
	}
}

// TestUnknownHoldings: files without a holding leave gaps. A gap is no step.
func TestUnknownHoldings(t *testing.T) {
	t.Parallel()
	run := resourceRun{
		files: 60, held: leaking(1, map[record.Resource]int64{record.SharedMemory: 2 << 20}),
		known: func(i int) bool { return i < 20 || i > 40 },
	}
	f := findingOf(t, Of(run.timeline(), DefaultPolicy()), SharedGrowth)
	if f.Verdict != Fail || *f.Measured != 2<<20 || strings.Contains(f.Message, "step") {
		t.Errorf("%s, %v: %s", f.Verdict, *f.Measured, f.Message)
	}
	run.known = func(i int) bool { return i < 5 }
	f = findingOf(t, Of(run.timeline(), DefaultPolicy()), SharedGrowth)
	if f.Verdict != Undecided || !strings.Contains(f.Message, "here 5 of 60 have one") {
		t.Errorf("5 holdings: %s: %s", f.Verdict, f.Message)
	}
}

// TestTransientHoldings: when the harness looks, the next file may already hold memory of its
// own. Later it holds less, and that is the level.
func TestTransientHoldings(t *testing.T) {
	t.Parallel()
	run := resourceRun{files: 60, held: steady}
	tl := run.timeline()
	for i, f := range tl.Files {
		f.Held.AtEnd.Set(record.HostMemory, 100<<20+int64(i*i)<<14) // late, and more so with each file
	}
	if f := findingOf(t, Of(tl, DefaultPolicy()), HostGrowth); f.Verdict != Pass {
		t.Errorf("%s: %s", f.Verdict, f.Message)
	}
}

// TestLeftovers: what stays in /dev/shm fails if it is more than the policy allows.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	tl := resourceRun{files: 60, held: steady}.timeline()
	tl.Leftovers = []record.Leftover{
		{Path: "/dev/shm/a", Bytes: 1 << 20}, {Path: "/dev/shm/b", Bytes: 2 << 20, Seen: true},
	}
	rep := Of(tl, DefaultPolicy())
	i := slices.IndexFunc(rep.Findings, func(f Finding) bool {
		return f.Subject == "left in /dev/shm"
	})
	if rep.Verdict != Fail || i < 0 ||
		!strings.Contains(rep.Findings[i].Message, "2 files with 3.00 MiB stayed in /dev/shm") ||
		!strings.Contains(rep.Findings[i].Message, "the largest /dev/shm/b (2.00 MiB)") {
		t.Errorf("%s: %+v", rep.Verdict, rep.Findings)
	}
	tl.Leftovers[0].Seen, tl.Leftovers[1].Seen = true, false
	if rep := Of(tl, DefaultPolicy()); rep.Verdict != Undecided ||
		!strings.Contains(rep.Findings[i].Message, "no process of the run was seen with 1 of them") {
		t.Errorf("1 MiB is the run's, and 2 MiB may be another program's: %s", rep.Verdict)
	}
	tl.Leftovers[0].Seen = false
	if rep := Of(tl, DefaultPolicy()); rep.Verdict != Pass ||
		!strings.Contains(rep.Findings[i].Message, "no process of the run was seen with 2 of them") {
		t.Errorf("of files that may be another program's: %s", rep.Verdict)
	}
	policy, err := ParsePolicy([]byte("shared_memory: {max_left: 4MiB}"), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if rep := Of(tl, policy); rep.Verdict != Pass {
		t.Errorf("with 4 MiB allowed: %s", rep.Verdict)
	}
}

// TestCacheThatFills: host memory that grows until a cache is full is no leak for certain, and a
// leak in every fifth file is one.
func TestCacheThatFills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		holds   func(files int) int64
		verdict Verdict
	}{
		{
			"a cache that is full after 42 files",
			func(files int) int64 { return 2 * int64(min(files, 42)) }, Undecided,
		},
		{"a leak in every fifth file", func(files int) int64 { return 10 * int64(files/5) }, Fail},
		{"a leak", func(files int) int64 { return 2 * int64(files) }, Fail},
	} {
		run := resourceRun{files: 60, held: func(of record.Resource, files int, taken bool) int64 {
			if taken {
				files++
			}
			if of != record.HostMemory {
				files = 0
			}
			return (100 + c.holds(files)) << 20
		}}
		if f := findingOf(t, Of(run.timeline(), DefaultPolicy()), HostGrowth); f.Verdict != c.verdict {
			t.Errorf("%s: %s, want %s: %s", c.name, f.Verdict, c.verdict, f.Message)
		}
	}
}

// TestShortFiles: while files take milliseconds, the harness reads the ends of few of them, and how
// many differs from run to run. That is not judged, as if it had read none.
func TestShortFiles(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]func(i int) bool{
		"none": func(int) bool { return false },
		"one":  func(i int) bool { return i == 30 },
		"some": func(i int) bool { return i%4 == 0 },
	} {
		run := resourceRun{files: 60, held: steady, known: known}
		tl := run.timeline()
		for i, f := range tl.Files {
			f.Seconds = 0.02
			if i > 0 && !known(i-1) { // nor at the checkpoints
				f.Held.Least, f.Held.Early, f.Held.At = record.Resources{}, record.Resources{}, nil
			}
		}
		rep := Of(tl, DefaultPolicy())
		f := findingOf(t, rep, HostGrowth)
		if f.Verdict != Skipped || rep.Verdict != Pass {
			t.Errorf("%s: %s, and the run %s: %s", name, f.Verdict, rep.Verdict, f.Message)
		}
	}
	// Growth that the readings show fails a run of short files too.
	run := resourceRun{
		files: 60, held: leaking(1, map[record.Resource]int64{record.HostMemory: 8 << 20}),
		known: func(i int) bool { return i%4 == 0 },
	}
	tl := run.timeline()
	for _, f := range tl.Files {
		f.Seconds = 0.02
	}
	if f := findingOf(t, Of(tl, DefaultPolicy()), HostGrowth); f.Verdict != Fail {
		t.Errorf("a leak: %s: %s", f.Verdict, f.Message)
	}
}

// TestFilesThatWereNotRead: if the harness could not look at the ends of many files, growth in
// them does not show, so the ledger does not pass.
func TestFilesThatWereNotRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		known func(i int) bool
		want  Verdict
		says  string
	}{
		{"all", func(int) bool { return true }, Pass, ""},
		{"two of three", func(i int) bool { return i%3 > 0 }, Pass, "; 39 of 59 files could be read"},
		{
			"one of three", func(i int) bool { return i%3 == 0 }, Pass,
			"; 20 of 58 files could be read",
		},
		{
			"one of four", func(i int) bool { return i%4 == 0 }, Undecided,
			"; 15 of 58 files could be read",
		},
		{"all but a few", func(i int) bool { return i%9 > 0 }, Pass, "; 52 of 59 files could be read"},
		{"six", func(i int) bool { return i < 6 }, Undecided, "here 6 of 60 have one"},
		{"the first 30", func(i int) bool { return i < 30 }, Undecided, "; 30 of 58 files could be read"},
	} {
		run := resourceRun{files: 60, held: steady, known: c.known}
		tl := run.timeline()
		for i, f := range tl.Files {
			if i > 0 && !c.known(i-1) { // nor at the checkpoints
				f.Held.Least, f.Held.Early, f.Held.At = record.Resources{}, record.Resources{}, nil
			}
		}
		f := findingOf(t, Of(tl, DefaultPolicy()), HostGrowth)
		if f.Verdict != c.want || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %s, want %s: %s", c.name, f.Verdict, c.want, f.Message)
		}
	}
}
