package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// placesOf reads a log and returns the positions of its checkpoints on the x axis.
func placesOf(t *testing.T, log string) ([]float64, clock) {
	t.Helper()
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	c := makeClock(tl, nil)
	var out []float64
	for i := range tl.Files {
		for _, p := range tl.Files[i].Checkpoints {
			out = append(out, c.at[p.Pos])
		}
	}
	return out, c
}

func TestClock(t *testing.T) {
	const reading = ": Allocated: 1.00GB (4.2%) | Reserved: 1.00GB (4.2%) | Free: 23.00GB | " +
		"Total: 24.00GB\n"
	for _, c := range []struct {
		name  string
		log   string
		timed bool
		want  []float64
	}{
		{
			"a log without times counts checkpoints",
			"[GPU Memory] A" + reading + "[GPU Memory] B" + reading + "[GPU Memory] A" + reading,
			false,
			[]float64{1, 2, 3},
		},
		{
			"a pipeline without times stands where the harness's last line does",
			"[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=1 feed=process version=1 " +
				"command=x\n" +
				"[vramsoak] file-start time=2026-11-20T02:00:00.000Z index=1 path=a.wav\n" +
				"[vramsoak] sample time=2026-11-20T02:00:01.000Z pid=1 rss=1000\n" +
				"[GPU Memory] A" + reading +
				"[vramsoak] sample time=2026-11-20T02:00:02.000Z pid=1 rss=1000\n" +
				"[2026-11-20 04:00:02.050] [INFO] [GPU Memory] B" + reading +
				"[vramsoak] file-end time=2026-11-20T02:00:03.000Z index=1 path=a.wav status=ok " +
				"seconds=3.000\n",
			true,
			[]float64{1, 2},
		},
		{
			"local times alone are taken",
			"[2026-11-20 04:00:01.000] [INFO] [GPU Memory] A" + reading +
				"[2026-11-20 04:00:06.500] [INFO] [GPU Memory] B" + reading,
			true,
			[]float64{0, 5.5},
		},
		{
			"times of the day are counted on past midnight",
			"[23:59:58] [GPU Memory] A" + reading + "[00:00:03] [GPU Memory] B" + reading +
				"[00:00:02] [GPU Memory] C" + reading,
			true,
			[]float64{0, 5, 4},
		},
		{
			"and past New Year",
			"Dec 31 23:59:58 [GPU Memory] A" + reading + "Jan  1 00:00:01 [GPU Memory] B" + reading,
			true,
			[]float64{0, 3},
		},
		{
			"what comes before the first date has no place among dates",
			"[02:00:00] [GPU Memory] A" + reading + "[2026-11-20 02:00:01] [GPU Memory] B" +
				reading + "[02:00:02] [GPU Memory] C" + reading,
			true,
			[]float64{0, 0, 1},
		},
	} {
		got, k := placesOf(t, c.log)
		if k.timed != c.timed {
			t.Errorf("%s: timed is %v", c.name, k.timed)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestClockOfTwoLogs has one log with dates and one without. Their times cannot be compared, so the
// axis counts checkpoints.
func TestClockOfTwoLogs(t *testing.T) {
	const reading = ": Allocated: 1.00GB\n"
	tl, err := parser.Build(func(yield func(record.Record, error) bool) {
		for name, log := range map[string]string{
			"dated.log": "[2026-11-20 02:00:01] [GPU Memory] A" + reading +
				"[2026-11-20 02:00:03] [GPU Memory] B" + reading,
			"dateless.log": "[02:00:01] [GPU Memory] A" + reading + "[02:00:03] [GPU Memory] B" +
				reading,
		} {
			for rec, err := range parser.Read(strings.NewReader(log), name) {
				if !yield(rec, err) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := makeClock(tl, nil); c.timed || c.end != 4 {
		t.Errorf("timed is %v, end %v", c.timed, c.end)
	}
}

// TestClockCutsBetweenRuns resumes a run a day later. The axis leaves out that day.
func TestClockCutsBetweenRuns(t *testing.T) {
	const reading = ": Allocated: 1.00GB (4.2%) | Reserved: 1.00GB (4.2%) | Free: 23.00GB | " +
		"Total: 24.00GB\n"
	got, c := placesOf(t, "[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2 feed=process "+
		"version=1 command=x\n"+
		"[vramsoak] file-start time=2026-11-20T02:00:00.000Z index=1 path=a.wav\n"+
		"2026-11-20T02:00:01.000Z [GPU Memory] A"+reading+
		"[vramsoak] file-end time=2026-11-20T02:00:02.000Z index=1 path=a.wav status=ok "+
		"seconds=2.000\n"+
		"[vramsoak] run-start time=2026-11-21T02:00:02.000Z files=2 feed=process version=1 "+
		"command=x\n"+
		"[vramsoak] file-start time=2026-11-21T02:00:02.000Z index=2 path=b.wav\n"+
		"2026-11-21T02:00:03.000Z [GPU Memory] A"+reading+
		"[vramsoak] file-end time=2026-11-21T02:00:04.000Z index=2 path=b.wav status=ok "+
		"seconds=2.000\n")
	if diff := cmp.Diff([]float64{1, 3}, got); diff != "" {
		t.Error(diff)
	}
	if c.cut != 24*time.Hour || c.end != 4 {
		t.Errorf("cut %v, end %v", c.cut, c.end)
	}
}
