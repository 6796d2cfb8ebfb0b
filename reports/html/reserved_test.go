package html

import (
	"fmt"
	"strings"
	"testing"
)

// TestReservedRise: reserved memory rises by 64 MiB a file from 4,064 MiB after the first of 24
// files to 5,536 MiB after the last one, 23 files later. The card of 16,384 MiB has 10,848 MiB
// left, which is enough for 169.5 files of 64 MiB.
func TestReservedRise(t *testing.T) {
	var log strings.Builder
	for i := range 24 {
		fmt.Fprintf(&log, "[pipeline] file-start path=%02d.wav\n", i+1)
		for k, name := range []string{"Before Transcription", "After Transcription"} {
			fmt.Fprintf(&log, "[GPU Memory] %s: Allocated: 3000.00MB | Reserved: %d.00MB | "+
				"Total: 16384.00MB\n", name, 4000+64*(i+k))
		}
		fmt.Fprintf(&log, "[pipeline] file-end path=%02d.wav status=ok\n", i+1)
	}
	page := judged(t, strings.NewReader(log.String()), "run.log")
	lacks(t, top(t, written(t, page)), "fragmentation 64.0 MiB/file", "Peak",
		"allocated 2.93 GiB, reserved 5.41 GiB, of 16.0 GiB", "Consequence",
		"rose from 3.97 GiB to 5.41 GiB",
		"it fills the card of 16.0 GiB after about 170 more files")
	// The position of the finding is the end of a file, in its fourth line, which has no reading.
	e := newEncoder(page.Timeline, page.Report, page.Collected)
	e.findings(&quotes{})
	lead := &byCause(page.Report)[0]
	shown, _ := e.evidence(lead, e.doc.Findings[0])
	if lead.At.Line%4 != 0 || shown != lead.At.Line-1 {
		t.Errorf("line %d shows the finding at line %d, want the reading before it", shown, lead.At.Line)
	}
}
