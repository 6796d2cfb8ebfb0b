package html

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rankLog returns the log of two ranks that print their own file starts and ends, without names.
// Rank 1 holds 100 MiB more with each file from its 11th file on, in Clustering.
func rankLog(files int) string {
	var log strings.Builder
	for i := range files {
		for _, name := range []string{"File Start", "Before Clustering", "After Clustering", "File End"} {
			for rank := range 2 {
				held := 3000
				if over := i - 10; rank == 1 && over >= 0 {
					held += 100 * over
					if strings.HasPrefix(name, "After") || name == "File End" {
						held += 100
					}
				}
				fmt.Fprintf(&log, "[rank%d]: [GPU Memory] %s: Allocated: %d.00MB | Reserved: 9000.00MB | "+
					"Total: 16384.00MB\n", rank, name, held)
			}
		}
	}
	return log.String()
}

// TestRanks: two ranks work through 24 files each, and both number them from 1. The page names the
// rank with each file, and counts 48 files, 24 on each rank.
func TestRanks(t *testing.T) {
	page := judged(t, strings.NewReader(rankLog(24)), "run.log")
	lacks(t, top(t, written(t, page)), "leak", "Device", "rank 1, device 0", "First file",
		"file 11 of rank 1", "48 files (24 on each of 2 ranks), 192 checkpoints")
	e := newEncoder(page.Timeline, page.Report, page.Collected)
	e.findings(&quotes{})
	for i, f := range byCause(page.Report) {
		at := e.doc.Findings[i]
		if at.File < 0 || at.Track < 0 {
			continue
		}
		want := ""
		if e.of.tracks[at.Track].lane.Rank == 1 {
			want = "rank 1"
		}
		if got := e.all[at.File].Writer; got != want {
			t.Errorf("%s, %s: the file is of %q, want %q", f.Check, f.Subject, got, want)
		}
	}
}

// TestEvidence: the page marks the reading that shows a growth, and quotes the readings of the
// stage in the same file and of the same rank.
func TestEvidence(t *testing.T) {
	page := judged(t, strings.NewReader(rankLog(24)), "run.log")
	e := newEncoder(page.Timeline, page.Report, page.Collected)
	e.findings(&quotes{})
	lead := &byCause(page.Report)[0]
	shown, further := e.evidence(lead, e.doc.Findings[0])
	// A file has 8 lines. Rank 1 prints the even ones: of file 11, these are 82, 84, 86 and 88.
	if shown != 88 || !slices.Equal(further, []int{84, 86}) {
		t.Errorf("line %d shows the growth at %d, with %v", shown, lead.At.Line, further)
	}
}
