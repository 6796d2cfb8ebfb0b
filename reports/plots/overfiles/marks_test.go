package overfiles

import (
	"slices"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// ramp returns n values that begin at a level of 100 MiB. The parameter at returns how many MiB a
// file lies above it.
func ramp(n int, at func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(timelines.MiB(100 + at(i)))
	}
	return out
}

// after returns a step: size at index i and later, else 0.
func after(i, at int, size float64) float64 {
	if i < at {
		return 0
	}
	return size
}

// TestMarks: each break of a series is marked with its file, from 1, and its size.
func TestMarks(t *testing.T) {
	jitter := func(i int) float64 { return 0.3 * float64(i*7%5) }
	for _, c := range []struct {
		name   string
		values []float64
		want   []string
	}{
		{
			"a leak", ramp(40, func(i int) float64 { return 4*float64(i) + jitter(i) }),
			[]string{"1: grows from file 1 on"},
		},
		{
			"a late leak",
			ramp(60, func(i int) float64 { return 9*float64(max(0, i-30)) + jitter(i) }),
			[]string{"32: grows from file 32 on"},
		},
		{
			"a step", ramp(60, func(i int) float64 { return after(i, 35, 300) }),
			[]string{"36: step of 300 MiB at file 36"},
		},
		{
			"two steps",
			ramp(60, func(i int) float64 { return after(i, 20, 200) + after(i, 40, 100) }),
			[]string{"21: step of 200 MiB at file 21", "41: step of 100 MiB at file 41"},
		},
		{
			"a sawtooth", ramp(60, func(i int) float64 { return 30 * float64(i%10) }),
			[]string{"11: falls by 270 MiB at file 11, and every 10 files"},
		},
		{"flat", ramp(60, func(int) float64 { return 0 }), nil},
	} {
		trend := trendOf(false, c.values...)
		p := newPanel(trend, trend.Finding)
		var got []string
		for _, m := range p.marks {
			got = append(got, strings.TrimSpace(plots.CountTicks(m.X, m.X, 1)[0].Label)+": "+m.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got the marks %q, want %q (%+v)", c.name, got, c.want, trend.Result.Shape)
		}
	}
}

// TestMarkOfSlowFiles: a throughput finding names the file from which on files take longer.
func TestMarkOfSlowFiles(t *testing.T) {
	trend := trendOf(false, ramp(20, func(i int) float64 { return after(i, 12, 80) })...)
	trend.Finding.Check, trend.Finding.Verdict = check.Throughput, check.Fail
	trend.Finding.FirstFile = &check.FirstFile{Index: 13}
	p := newPanel(trend, trend.Finding)
	if len(p.marks) != 1 || p.marks[0].Text != "slower from file 13 on" || p.marks[0].X != 13 {
		t.Errorf("got the marks %+v", p.marks)
	}
}

// TestSameSeries: a stage around another one shows the same memory, with the waveform of the file
// added. It has no panel of its own.
func TestSameSeries(t *testing.T) {
	f := &timeline.File{
		Index: 1,
		Stages: []timeline.Stage{
			{Name: "File", Before: 0, After: 9},
			{Name: "Transcription", Before: 1, After: 5},
			{Name: "Diarization", Before: 6, After: 8},
		},
		Cleanups: []timeline.Cleanup{{Name: "Whisper Cleanup", Before: 3, After: 4, Stage: 1}},
	}
	series := func(subject string, values ...float64) *check.Trend {
		t := &check.Trend{Unit: check.Bytes, Values: values}
		t.Finding.Check, t.Finding.Subject = check.Drift, subject
		for range values {
			t.Files = append(t.Files, f)
		}
		return t
	}
	inner := series("memory of Transcription", 7000, 7010, 7030, 7000)
	for _, c := range []struct {
		other *check.Trend
		want  bool
	}{
		{series("memory of File", 7000, 7010, 7030, 7000), true},
		{series("memory of File (device 0)", 7300, 7320, 7330, 7290), true},
		{series("memory of File", 7300, 7320, 7930, 7290), false},
		{series("memory of Diarization", 7300, 7310, 7330, 7300), false},
		{series("memory of Diarization", 2300, 2310, 2330, 2300), false},
		{series("recovery of Whisper Cleanup", 6900, 6910, 6930, 6900), true},
		{series("memory of File", 7000, 7010, 7030), false},
	} {
		if got := sameSeries(inner, c.other); got != c.want {
			t.Errorf("%s, %v: got %v, want %v", c.other.Finding.Subject, c.other.Values, got, c.want)
		}
	}
	rep := &check.Report{Verdict: check.Pass, Trends: []check.Trend{
		*trendOf(false, ramp(20, func(int) float64 { return 0 })...),
		*trendOf(false, ramp(20, func(int) float64 { return 0 })...),
		*trendOf(false, ramp(20, func(int) float64 { return 50 })...),
	}}
	for i, subject := range []string{"memory of File", "memory of Transcription", "memory of Other"} {
		trend := &rep.Trends[i]
		trend.Finding.Check, trend.Finding.Subject, trend.Finding.Verdict = check.Drift, subject,
			check.Pass
		trend.Files = rep.Trends[0].Files
	}
	c := New(rep)
	if len(c.panels) != 2 || c.all != 2 ||
		c.panels[0].title() != "PASS: drift, memory of File; the same: memory of Transcription" {
		t.Errorf("got %d panels of %d series, the first is %q", len(c.panels), c.all,
			c.panels[0].title())
	}
}

// TestOneProcessOfSeveral: the picture says so if a panel shows only some of the files.
func TestOneProcessOfSeveral(t *testing.T) {
	const note = ">Processes are judged one by one"
	for files, want := range map[int]bool{20: false, 60: true} {
		rep := &check.Report{Verdict: check.Pass, Files: files, Trends: []check.Trend{
			*trendOf(false, ramp(20, func(int) float64 { return 0 })...),
		}}
		if got := strings.Contains(overFiles(t, rep, plots.Options{}), note); got != want {
			t.Errorf("20 of %d files: the note is there: %v", files, got)
		}
	}
}

// TestFailingPanelIsTheLargest: a series that fails has the first row to itself, and a row of it is
// 1.4 times as high as the others.
func TestFailingPanelIsTheLargest(t *testing.T) {
	rep := &check.Report{Verdict: check.Fail}
	for i := range 8 {
		trend := trendOf(false, ramp(20, func(k int) float64 { return float64(k * i) })...)
		trend.Finding.Check, trend.Finding.Verdict = check.Leak, check.Pass
		if i == 5 {
			trend.Finding.Verdict, trend.Finding.Gates = check.Fail, true
		}
		trend.Finding.Subject = strings.Repeat("x", i+1)
		rep.Policy.Gate = []string{check.Leak}
		rep.Trends = append(rep.Trends, *trend)
	}
	p := newPicture(New(rep))
	opts := p.arrange(plots.Options{})
	if len(p.rows) != 3 || len(p.rows[0].panels) != 1 || p.rows[0].weight != bigWeight ||
		!p.rows[0].panels[0].fails() || len(p.rows[1].panels) != 2 || len(p.rows[2].panels) != 2 {
		t.Errorf("got the rows %+v", p.rows)
	}
	if want := panelSpare + 986; opts.Height != want { // 290 x (1.4 + 2)
		t.Errorf("the picture is %d pixels high, want %d", opts.Height, want)
	}
	p = newPicture(New(rep))
	p.arrange(plots.Options{Width: 600, Height: plots.MinHeight})
	if len(p.panels) != 1 || !p.panels[0].fails() {
		t.Errorf("the smallest picture has %d panels", len(p.panels))
	}
}

// TestSawtoothFallsWhereTheValuesDo: the first process did 14 files, and those after it 13 each.
// The mark is at file 15, where the values fall, also if the fit falls once before.
func TestSawtoothFallsWhereTheValuesDo(t *testing.T) {
	trend := trendOf(false, ramp(40, func(i int) float64 {
		if i < 14 {
			return 20 * float64(i)
		}
		return 20 * float64((i-14)%13)
	})...)
	p := newPanel(trend, trend.Finding)
	if len(p.marks) != 1 || p.marks[0].X != 15 {
		t.Errorf("got the marks %+v of a %s, want one at file 15", p.marks, trend.Result.Shape)
	}
}
