package memory

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/reports/plots"
)

// TestLegendHasOnlyStagesThatAreSeen: "File" is covered by the stages in it, and "Load" takes no
// time, so neither has a colour in the picture.
func TestLegendHasOnlyStagesThatAreSeen(t *testing.T) {
	for _, files := range []int{3, 40} {
		var log strings.Builder
		second := 0
		say := func(step int, name string) {
			second += step
			_, _ = fmt.Fprintf(&log, "2026-11-20T02:%02d:%02d.000Z [GPU Memory] %s: Allocated: 1.00GB\n",
				second/60, second%60, name)
		}
		for i := range files {
			_, _ = fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n", i)
			say(0, "Before File")
			say(0, "Before Load")
			say(0, "After Load")
			say(0, "Before Transcription")
			say(5, "After Transcription")
			say(0, "Before Diarization")
			say(5, "After Diarization")
			say(0, "After File")
		}
		tl, rep := timelines.Judge(t, log.String(), check.DefaultPolicy())
		got := "\n" + strings.Join(words(t, tl, rep, plots.Options{}), "\n") + "\n"
		for _, name := range []string{"Transcription", "Diarization"} {
			if !strings.Contains(got, "\n"+name+"\n") {
				t.Errorf("%d files: the legend lacks %s:\n%s", files, name, got)
			}
		}
		for _, name := range []string{"File", "Load"} {
			if strings.Contains(got, "\n"+name+"\n") {
				t.Errorf("%d files: the legend has %s, which is not drawn", files, name)
			}
		}
	}
}
