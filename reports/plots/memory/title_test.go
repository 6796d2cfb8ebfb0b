package memory

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// words returns the texts of a picture, in the order in which they were drawn.
func words(t *testing.T, tl *timeline.Timeline, rep *check.Report, opts plots.Options) []string {
	t.Helper()
	var out bytes.Buffer
	if err := plotOf(&out, "svg", tl, rep, opts); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`>([^<>]+)</text>`).FindAllStringSubmatch(out.String(), -1) {
		all = append(all, html.UnescapeString(m[1]))
	}
	return all
}

// TestTitleKeepsItsAnswer: at every size, the title has the verdict, the cause and its size.
func TestTitleKeepsItsAnswer(t *testing.T) {
	long := strings.Repeat("A very long name of a cleanup ", 12)
	for _, c := range []struct {
		sample timelines.Batch
		rename string // the new name of Whisper Cleanup
		want   string
	}{
		{
			timelines.Batch{Files: 60, Leak: timelines.MiB(4)},
			"", "FAIL: leak 4.00 MiB/file since file 1",
		},
		{
			timelines.Batch{Files: 8, KeepFrom: 3},
			"", "FAIL: Whisper Cleanup frees 25.0 % in file 3",
		},
		{
			timelines.Batch{Files: 8, KeepFrom: 3},
			long, "FAIL: A very long name of a cleanup A very long name of a clean... frees 25.0 % in " +
				"file 3",
		},
		{
			timelines.Batch{Files: 60, Leak: timelines.MiB(200), Diarize: true},
			"", "FAIL: leak 200 MiB/file (and reserved - allocated) since file 1",
		},
		{timelines.Batch{Files: 60}, "", "PASS: 60 files, no growth, every cleanup freed all memory"},
	} {
		tl, rep := c.sample.Judged()
		for i := range rep.Findings {
			if f := &rep.Findings[i]; c.rename != "" && f.Subject == "Whisper Cleanup" {
				f.Subject = c.rename
			}
		}
		for _, size := range []plots.Options{{Width: 600, Height: 360}, {Width: 800, Height: 450}, {}} {
			got := words(t, tl, rep, size)
			if all := strings.Join(got, " "); !strings.Contains(all, c.want) {
				t.Errorf("%+v: the plot lacks the title %q:\n%s", size, c.want,
					strings.Join(got[:3], "\n"))
			}
		}
	}
}

// TestTitleWithoutData: if nothing could be judged, the title says so.
func TestTitleWithoutData(t *testing.T) {
	tl, rep := timelines.Judge(t, "[GPU Memory] A: Allocated: 1.00GB\n", check.DefaultPolicy())
	if got, want := words(t, tl, rep, plots.Options{})[0],
		"UNDECIDED: no check has the data that it needs"; got != want {
		t.Errorf("got the title %q, want %q", got, want)
	}
}

// TestPlotHasRoom: in the lowest picture, half of the height is for the data.
func TestPlotHasRoom(t *testing.T) {
	tl, rep := timelines.Batch{
		Files: 8, KeepFrom: 3, CrashAt: 6, Device: true, Diarize: true,
	}.Judged()
	got := words(t, tl, rep, plots.Options{Width: 600, Height: 360})
	for _, w := range got {
		if strings.HasPrefix(w, "under 95.0 %") {
			t.Errorf("the lowest plot has the detail %q", w)
		}
	}
	for _, w := range []string{"allocated", "reserved", "idle level", "5 GiB", "10 GiB"} {
		if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+w+"\n") {
			t.Errorf("the lowest plot lacks %q", w)
		}
	}
}
