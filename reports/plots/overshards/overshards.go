// Package overshards draws how much each ledger grows in the shards of a run: a row with a 95 %
// interval for each shard, those that grow most first, and the growth of all shards together.
package overshards

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/harness/merge"
	"vramsoak/harness/pool"
	"vramsoak/harness/shape"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// ErrNothing is the error for a run in which no shard has enough files to judge growth.
var ErrNothing = errors.New("nothing to plot: no shard has a series of files that is judged for " +
	"growth; vramsoak check says why")

// A Chart holds the data of a plot.
type Chart struct {
	title   string
	verdict check.Verdict
	extent  string
	panels  []*panel // the worst first
}

// The most panels of a plot, and the most shards that have a row of their own in a panel. The
// others share a band.
const panelsMax, rowsMax = 4, 24

// normal95 is how far the bounds of a 95 % interval lie from the estimate, in standard errors.
const normal95 = 1.96

// New returns the chart of a judged run.
func New(run *merge.Judged) *Chart {
	rep := run.Report
	c := &Chart{
		title: plots.Headline(rep), verdict: rep.Verdict, extent: sink.Line(wording.Facts(rep)),
	}
	for i := range run.Series {
		s := &run.Series[i]
		ledger := ledgerOf(run, s)
		if !s.Gates && ledger == nil {
			continue
		}
		if p := newPanel(run, i, ledger); len(p.rows) > 0 {
			c.panels = append(c.panels, p)
		}
	}
	slices.SortStableFunc(c.panels, func(a, b *panel) int {
		return cmp.Compare(rank(b.verdict), rank(a.verdict))
	})
	c.panels = c.panels[:min(len(c.panels), panelsMax)]
	return c
}

// rank orders verdicts, the worst last.
func rank(v check.Verdict) int {
	return slices.Index([]check.Verdict{check.Skipped, check.Pass, check.Undecided, check.Fail}, v)
}

// ledgerOf returns the growth of a series over all shards, or nil if it is not known.
func ledgerOf(run *merge.Judged, s *merge.Series) *pool.Ledger {
	for i := range run.Pooled {
		l := &run.Pooled[i]
		if l.Check == s.Check && (s.Subject == l.Name || strings.HasPrefix(s.Subject, l.Name+" (")) {
			return l
		}
	}
	return nil
}

// Plot draws the chart. A plot with the height 0 becomes as high as its panels need.
func (c *Chart) Plot(w io.Writer, format string, opts plots.Options) error {
	if len(c.panels) == 0 {
		return ErrNothing
	}
	p := &picture{Chart: c}
	opts = p.arrange(opts)
	return plots.Draw(w, format, opts, func(on draw.Canvas, encode func(string) string) error {
		p.Page = plots.Page{Encode: encode}
		p.draw(on)
		return nil
	})
}

// A panel shows one series in all shards.
type panel struct {
	title     string
	verdict   check.Verdict // of the finding on the series
	unit      string
	limit     float64
	rows      []row // those that grow most first
	together  *shape.Interval
	words     string // the growth over all shards, or ""
	low, high float64
}

// A row is the growth in one shard.
type row struct {
	name    string
	slope   float64
	half    float64 // half the width of the interval; infinite if there is none
	verdict check.Verdict
}

// newPanel returns the panel of a series, by its index in the run.
func newPanel(run *merge.Judged, index int, ledger *pool.Ledger) *panel {
	s := &run.Series[index]
	p := &panel{unit: s.Unit + check.PerFile, limit: s.Limit}
	for _, f := range run.Report.Findings {
		if f.Check == s.Check && (f.Subject == s.Subject || p.verdict == "") {
			p.verdict = f.Verdict
		}
	}
	for i := range run.Shards {
		for _, g := range run.Shards[i].Growths {
			if g.Series == index && g.Verdict != check.Skipped && !math.IsNaN(g.Slope) {
				name := fmt.Sprintf("shard %d", run.Shards[i].Number)
				if node := run.Shards[i].Node; node != "" {
					name += ", " + sink.Line(node)
				}
				p.rows = append(p.rows, row{
					name, g.Slope, normal95*g.Error + g.Rounding, g.Verdict,
				})
			}
		}
	}
	slices.SortStableFunc(p.rows, func(a, b row) int { return cmp.Compare(b.slope, a.slope) })
	if ledger != nil {
		p.together = &ledger.Mean
		p.words = check.Rate(ledger.Mean, s.Unit, "file")
	}
	p.title = fmt.Sprintf("%s: %s in %s", strings.ToUpper(string(p.verdict)),
		wording.Shorten(sink.Line(s.Check+", "+s.Subject), 60), wording.Plural(len(p.rows), "shard"))
	p.scale()
	return p
}

// scale sets the ends of the axis. It has all estimates, 0, the limit and the growth of all shards.
// Of the intervals, 5 % may go beyond it.
func (p *panel) scale() {
	p.low, p.high = 0, 1.15*p.limit
	var lows, highs []float64
	for _, r := range p.rows {
		p.low, p.high = min(p.low, r.slope), max(p.high, r.slope)
		if !math.IsInf(r.half, 0) {
			lows, highs = append(lows, r.slope-r.half), append(highs, r.slope+r.half)
		}
	}
	if t := p.together; t != nil && !math.IsInf(t.Low, 0) && !math.IsInf(t.High, 0) {
		p.low, p.high = min(p.low, t.Low), max(p.high, t.High)
	}
	if len(lows) > 0 {
		slices.Sort(lows)
		slices.Sort(highs)
		p.low = min(p.low, lows[len(lows)/20])
		p.high = max(p.high, highs[len(highs)-1-len(highs)/20])
	}
	room := 0.03 * (p.high - p.low)
	if room == 0 {
		room = 1
	}
	p.low, p.high = p.low-room, p.high+room
}
