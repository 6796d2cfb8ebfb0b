package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness"
	"vramsoak/parser/record"
)

func TestProgressLineOfWorkers(t *testing.T) {
	t.Parallel()
	worker := func(gpu int, mib int64, path string) harness.Progress {
		p := harness.Progress{GPU: gpu, Current: path}
		p.Reading.Set(record.Allocated, record.Exact(mib<<20))
		p.Reading.Set(record.Reserved, record.Exact(2*mib<<20))
		return p
	}
	p := harness.Progress{
		Done: 23, Files: 60, Failed: 1, Left: 21 * time.Second, HasLeft: true,
		Workers: []harness.Progress{
			worker(0, 130, "audio/0024.wav"),
			worker(1, 131, "audio/0025.wav"),
			{GPU: 3},
		},
	}
	want := "23/60 files, 1 failed  left 0:21  | GPU 0  allocated 130 MiB  0024.wav  | GPU 1 " +
		" allocated 131 MiB  0025.wav  | GPU 3"
	if got := progressLine(p); got != want {
		t.Errorf("found %s", got)
	}
}

func TestFilesDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    harness.Progress
		want string
	}{
		{harness.Progress{Done: 1}, "1 file"},
		{harness.Progress{Done: 2, Failed: 1}, "2 files, 1 failed"},
		{harness.Progress{Done: 0, Files: 1}, "0/1 file"},
		{harness.Progress{Done: 1, Files: 60}, "1/60 files"},
	} {
		if got := filesDone(c.p); got != c.want {
			t.Errorf("found %q, want %q", got, c.want)
		}
	}
}

// TestLinePace: without a terminal a soak says a line after each minute, or when a tenth of the
// batch is done, at least ten seconds apart. Time in a bubble begins at midnight, UTC.
func TestLinePace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files int
		each  time.Duration // for one file
		want  []string      // times of the first lines
	}{
		{"fast files", 1000, time.Second / 2, []string{"0:50", "1:40", "2:30"}},
		{"slow files", 60, 5 * time.Minute, []string{"1:00", "2:00", "3:00"}},
		{"a tenth in between", 10, 45 * time.Second, []string{"0:45", "1:30", "2:15"}},
		{"a short batch", 60, time.Second, []string{"0:10", "0:20", "0:30"}},
		{"over in 9 s", 9, time.Second, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				pace := linePace{last: start}
				var got []string
				for done := 0; done < test.files && len(got) < 3; {
					time.Sleep(time.Second / 2)
					passed := time.Since(start)
					done = int(passed / test.each)
					if pace.due(time.Now(), harness.Progress{Done: done, Files: test.files}) {
						got = append(got, clock(passed))
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestProgressInLog: a line of a log has at most 100 columns. If not everything fits, the time left
// stays.
func TestProgressInLog(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 2, 14, 7, 0, time.UTC)
	p := soaking()
	p.Restarts = 0
	want := "02:14:07Z 23/60 files, 1 failed  level 188 MiB  peak 5.00 GiB (21 %)  left 0:21"
	if got := progressInLog(p, nil, now); got != want {
		t.Errorf("found %q", got)
	}
	// 21 + 2 + 13 + 2 + 20 + 2 + 20 + 2 + 10 + 2 + 9 columns would be 103.
	p.Restarts, p.Failed = 2, 0
	want = "02:14:07Z 23/60 files  level 188 MiB  peak 5.00 GiB (21 %)  " +
		"trend +4.00 MiB/file  left 0:21"
	if got := progressInLog(p, rising, now); got != want {
		t.Errorf("found %q", got)
	}
	p.Files, p.Done = 1_000_000, 123_456
	p.Restarts, p.Failed = 1000, 1000
	got := progressInLog(p, rising, now)
	if n := utf8.RuneCountInString(got); n > lineColumns || !strings.HasSuffix(got, "  left 0:21") {
		t.Errorf("%d columns: %q", n, got)
	}
	p = soaking() // a file hangs
	p.Working, p.Restarts, p.Failed = 62*time.Minute, 0, 0
	want = "02:14:07Z 23/60 files  level 188 MiB  peak 5.00 GiB (21 %)  now 0024.wav 1:02:00  " +
		"left 0:21"
	if got := progressInLog(p, nil, now); got != want {
		t.Errorf("found %q", got)
	}
	p = harness.Progress{Done: 1, Files: 2, Elapsed: time.Minute}
	for gpu := range 2 {
		p.Workers = append(p.Workers, harness.Progress{
			GPU: gpu, Levels: []int64{int64(130+gpu) * mebi},
		})
	}
	want = "02:14:07Z 1/2 files  level 131 MiB (GPU 1)  trend +4.00 MiB/file  1:00"
	if got := progressInLog(p, rising, now); got != want {
		t.Errorf("found %q", got)
	}
}
