package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// A cards describes a log of a process that works on several devices, or of one rank for each.
// Device d takes d+1 GiB for each file.
type cards struct {
	devices, files int
	ranks          bool
	leaks          int // the device on which each file leaves 64 MiB; -1: none
	runsOut        int // the device on which memory runs out in file 4; -1: none
}

func (of cards) log() string {
	var log strings.Builder
	lane := func(d int) string {
		if of.ranks {
			return fmt.Sprintf(" | device=%d rank=%d", d%8, d)
		}
		return fmt.Sprintf(" | device=%d", d)
	}
	marks := func(what string, file int) {
		ranks := 1
		if of.ranks {
			ranks = of.devices
		}
		for r := range ranks {
			name := fmt.Sprintf("%02d-%02d.wav", file, r)
			if of.ranks {
				fmt.Fprintf(&log, "[pipeline] %s path=%s rank=%d\n", what, name, r)
			} else {
				fmt.Fprintf(&log, "[pipeline] %s path=%s\n", what, name)
			}
		}
	}
	for i := 1; i <= of.files; i++ {
		marks("file-start", i)
		readings := func(name string, add func(d int) float64) {
			for d := range of.devices {
				kept := 0.0
				if d == of.leaks {
					kept = float64(i-1) / 16
				}
				fmt.Fprintf(&log, "[GPU Memory] %s: Allocated: %.4fGB%s\n", name, kept+add(d), lane(d))
			}
		}
		readings("Before Work", func(int) float64 { return 0.5 })
		if i == 4 && of.runsOut >= 0 {
			fmt.Fprintf(&log, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate "+
				"2.00 GiB (GPU %d; 24.00 GiB total capacity; 22.90 GiB already allocated; 1.10 GiB "+
				"free; 22.95 GiB reserved in total by PyTorch)\n", of.runsOut)
			marks("file-end status=oom", i)
			continue
		}
		readings("Before Work Cleanup", func(d int) float64 { return 1.5 + float64(d) })
		readings("After Work Cleanup", func(d int) float64 {
			if d == of.leaks {
				return 0.5 + 1.0/16
			}
			return 0.5
		})
		marks("file-end status=ok", i)
	}
	return log.String()
}

// judged returns the timeline and the report of the log.
func (of cards) judged(t *testing.T) (*timeline.Timeline, *check.Report) {
	t.Helper()
	return timelines.Judge(t, of.log(), check.DefaultPolicy())
}

// TestSides: the large plot shows the device that fails, or else the busiest. A small plot shows
// each of the others. If there are too many, a note says how many are left out, and how high they
// are.
func TestSides(t *testing.T) {
	for _, c := range []struct {
		of    cards
		large string
		small []string // the first and the last one
		note  string
	}{
		{
			cards{2, 8, false, 0, -1},
			"device 0",
			[]string{"device 1", "device 1"},
			"The large plot shows device 0, the failing one of 2 devices. The small plot shows the " +
				"other over the same time, with a scale of its own.",
		},
		{
			cards{8, 8, false, -1, -1},
			"device 7",
			[]string{"device 0", "device 6"},
			"The large plot shows device 7, the busiest of 8 devices. The small plots show others " +
				"over the same time, with a scale of their own.",
		},
		{
			cards{8, 8, false, -1, 3},
			"device 3",
			[]string{"device 0", "device 7"},
			"The large plot shows device 3, the failing one of 8 devices. The small plots show " +
				"others over the same time, with a scale of their own.",
		},
		{
			cards{16, 8, true, 11, -1},
			"rank 11, device 3",
			[]string{"rank 0, device 0", "rank 15, device 7"},
			"The large plot shows rank 11, device 3, the failing one of 16 " +
				"devices. The small plots show others over the same time, with a scale of their own.",
		},
		{
			cards{8, 8, true, -1, 3},
			"rank 3, device 3",
			[]string{"rank 0, device 0", "rank 7, device 7"},
			"The large plot shows rank 3, device 3, the failing one of 8 " +
				"devices. The small plots show others over the same time, with a scale of their own.",
		},
		// The highest of those left out is device 47.
		{
			cards{64, 8, false, 5, -1},
			"device 5",
			[]string{"device 48", "device 63"},
			"The large plot shows device 5, the failing one of 64 devices. The small plots show " +
				"others over the same time, with a scale of their own. Not drawn: 47 devices, all " +
				"at most 48.5 GiB.",
		},
	} {
		tl, rep := c.of.judged(t)
		got := words(t, tl, rep, plots.Options{})
		if !slices.Contains(got, c.note) {
			t.Errorf("%+v: the plot lacks the note %q:\n%s", c.of, c.note, strings.Join(got, "\n"))
		}
		for _, name := range c.small {
			if !slices.Contains(got, name) {
				t.Errorf("%+v: no small plot has the name %q", c.of, name)
			}
		}
		if slices.Contains(got, c.large) {
			t.Errorf("%+v: %s has a small plot too", c.of, c.large)
		}
	}
}

// TestSidesFail: a small plot says which checks fail on its device. The devices that fail come
// first, however many others are left out.
func TestSidesFail(t *testing.T) {
	tl, rep := timelines.Judge(t, cards{64, 8, false, 40, -1}.log()+
		"[GPU Memory] Before Work Cleanup: Allocated: 3.00GB | device=2\n"+
		"[GPU Memory] After Work Cleanup: Allocated: 2.00GB | device=2\n", check.DefaultPolicy())
	got := words(t, tl, rep, plots.Options{})
	at := slices.Index(got, "FAIL: leak")
	if at < 0 || got[at-1] != "device 40" {
		t.Fatalf("no small plot has the leak:\n%s", strings.Join(got, "\n"))
	}
	if at > slices.Index(got, "device 49") || slices.Contains(got, "device 48") {
		t.Errorf("device 40 is not the first of 16 small plots:\n%s", strings.Join(got, "\n"))
	}
}

// TestSideLines: the lines of a small plot go through the readings of its device, at the times of
// the large plot.
func TestSideLines(t *testing.T) {
	tl, rep := cards{8, 3, false, -1, -1}.judged(t)
	c := makeChart(tl, rep, nil)
	for _, s := range c.others {
		var want []plots.Point
		d := s.lane.Device
		for file := range 3 {
			for i, level := range []float64{0.5, 1.5 + float64(d), 0.5} {
				want = append(want, plots.Point{
					X: float64(1 + file*24 + i*8 + d), Y: float64(timelines.GiB(level)),
				})
			}
		}
		if got := s.series[0].pieces[0]; !slices.Equal(got, want) {
			t.Errorf("device %d: got %v, want %v", d, got, want)
		}
	}
}

// TestFilesOfOtherRanks: the large plot has the files of its own rank alone.
func TestFilesOfOtherRanks(t *testing.T) {
	tl, rep := cards{16, 20, true, 11, -1}.judged(t)
	c := makeChart(tl, rep, nil)
	if len(c.files) != 20 || c.lane != (record.Lane{Rank: 11, Device: 3}) {
		t.Errorf("%v has %d files, want 20 of rank 11", c.lane, len(c.files))
	}
	for i, f := range c.files {
		if f.index != i+1 {
			t.Errorf("file %d has the number %d", i+1, f.index)
		}
	}
}

// TestSidesHaveRoom: the small plots make a picture higher, unless its height is given. The large
// plot keeps half of what they leave.
func TestSidesHaveRoom(t *testing.T) {
	tl, rep := cards{16, 8, false, 3, -1}.judged(t)
	c := sketchOf(tl, rep, plots.Options{}).Chart(tl, rep)
	if got, want := c.heightWithSides(plots.Options{}), 900+2*sideHeight*96/72; got != want {
		t.Errorf("%d pixels high, want %d", got, want)
	}
	low := words(t, tl, rep, plots.Options{Width: 800, Height: 450})
	if slices.Contains(low, "device 1") || !slices.Contains(low, "The plot shows device 3, the "+
		"failing one of 16 devices.") {
		t.Errorf("a low picture:\n%s", strings.Join(low, "\n"))
	}
}

// TestDetailsAreASentence: the line below the title says what it is about, and does not begin
// within a sentence. It does not advise to draw this picture.
func TestDetailsAreASentence(t *testing.T) {
	for _, c := range []struct {
		of   cards
		want string
	}{
		{cards{2, 8, false, 0, -1}, "leak, idle level (device 0): grows by 64.0 MiB a file"},
		{cards{2, 8, false, -1, 1}, "out-of-memory, allocations: file 4 (04-00.wav) failed"},
	} {
		tl, rep := c.of.judged(t)
		got := makeChart(tl, rep, nil).details
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "memory.png") {
			t.Errorf("got %q, want it to begin with %q", got, c.want)
		}
	}
}
