package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/plots"
)

// TestBandsHaveNoFalseDips: each file needs at least 7 GiB, so each column of the band reaches up
// to 7 GiB, however unequal the files are, and however coarse the times.
func TestBandsHaveNoFalseDips(t *testing.T) {
	for _, c := range []struct {
		name  string
		files int
		steps int // checkpoints between two others, in each file
		tick  time.Duration
	}{
		{"2,000 files", 2000, 3, time.Millisecond},
		{"2,000 files, times of whole seconds", 2000, 3, time.Second},
		{"more checkpoints than the sketch keeps", 4000, 9, time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(c.files+c.steps)))
			var log strings.Builder
			now := timelines.Start
			say := func(level float64) {
				now = now.Add(time.Duration(math.Exp(6+1.5*rng.NormFloat64())) * time.Millisecond)
				_, _ = fmt.Fprintf(&log, "[%s] [GPU Memory] Step: Allocated: %.2fGB\n",
					now.Truncate(c.tick).Format("2006-01-02 15:04:05.000"), level)
			}
			for i := range c.files {
				_, _ = fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n", i)
				peak := 1 + rng.IntN(c.steps)
				for k := range c.steps + 2 {
					level := 0.2 + 2*rng.Float64()
					if k == peak {
						level = 7 + rng.Float64()/10
					}
					say(level)
				}
			}
			tl, rep := timelines.Judge(t, log.String(), check.DefaultPolicy())
			chart := sketchOf(tl, rep, plots.Options{}).Chart(tl, rep)
			p := &picture{Chart: chart, columns: 1400}
			s := &chart.series[0]
			if !p.banded(s) || s.name != "allocated" {
				t.Fatal("allocated memory is not drawn as a band")
			}
			edges := p.columnEdges()
			if len(edges) < 150 {
				t.Errorf("the band has only %d columns", len(edges))
			}
			dips := 0
			for _, b := range s.bands(edges, 0) {
				for _, high := range b.highs {
					if high.Y < 6.99*float64(record.GiB) {
						dips++
					}
				}
			}
			if dips > 0 {
				t.Errorf("%d of %d columns do not reach the peak of a file", dips, len(edges))
			}
		})
	}
}

// TestBandsShowLongFiles: a file that is much longer than the others is not one column.
func TestBandsShowLongFiles(t *testing.T) {
	c := &Chart{clock: clock{end: 1000}}
	for i := range 200 {
		c.units = append(c.units, unit{float64(i), float64(i) + 0.9, 1})
	}
	c.units = append(c.units, unit{200, 1000, 1})
	edges := c.edges(1)
	if n := len(edges); n < 850 || n > 1000 {
		t.Errorf("got %d columns, want 1 for each 2 files and 800 for the long one", n)
	}
	for i := 1; i < len(edges); i++ {
		if edges[i] <= edges[i-1] {
			t.Fatalf("column %d begins at %g, after %g", i, edges[i], edges[i-1])
		}
	}
}
