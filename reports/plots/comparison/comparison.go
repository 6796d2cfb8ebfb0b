// Package comparison draws the comparison of a run with an earlier one, the base: how much worse
// each metric got, with its 95 % interval and its limit, and the worst metrics file by file.
package comparison

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// ErrNothing is the error for two runs without a metric that both have.
var ErrNothing = errors.New("nothing to plot: the two runs have no metric of files in common")

// A Chart holds the data of a plot.
type Chart struct {
	title   string
	verdict check.Verdict
	runs    [2]string // the base and the new run
	rows    []row     // the worst first
	judged  int       // the number of metrics that were compared, with those that have no row
	panels  []*panel  // the worst first
}

// rowsMax is the most metrics in the upper part of the plot, and panelsMax the most metrics that
// are drawn file by file.
const rowsMax, panelsMax = 12, 4

// New returns the chart of a comparison of the run now with the base.
func New(c *compare.Comparison, base, now *compare.Baseline, verdict check.Verdict) *Chart {
	chart := &Chart{
		title:   strings.ToUpper(string(verdict)) + ": " + wording.ComparisonHeadline(c),
		verdict: verdict,
		runs:    [2]string{"base: " + wording.Run(c.Base), "new: " + wording.Run(c.New)},
	}
	changes := wording.WorstFirst(c.Changes)
	for i := range changes {
		of := &changes[i]
		if of.Verdict == check.Skipped {
			continue
		}
		if chart.judged++; chart.judged <= rowsMax {
			chart.rows = append(chart.rows, newRow(of))
		}
	}
	// Only the values of the metrics that may get a panel are looked up: a log may have a million
	// metrics.
	candidates := slices.DeleteFunc(changes, func(of compare.Change) bool {
		return of.Only != "" || strings.HasSuffix(of.Unit, check.PerFile)
	})
	candidates = candidates[:min(len(candidates), 4*panelsMax)]
	for i, v := range compare.FileByFile(base, now, candidates).Values {
		if len(v.Base) == 0 || len(v.New) == 0 {
			continue
		}
		chart.addPanel(newPanel(&candidates[i], &v))
	}
	return chart
}

// addPanel adds a panel, unless another one shows the same values: the peak of a file is the peak
// of its largest stage.
func (c *Chart) addPanel(p *panel) {
	twin := slices.IndexFunc(c.panels, func(q *panel) bool {
		return p.unit == q.unit && p.verdict == q.verdict && slices.Equal(p.base, q.base) &&
			slices.Equal(p.new, q.new)
	})
	switch {
	case twin >= 0:
		c.panels[twin].same = append(c.panels[twin].same, p.name)
	case len(c.panels) < panelsMax:
		c.panels = append(c.panels, p)
	}
}

// Plot draws the chart. A plot with the height 0 becomes as high as its parts need.
func (c *Chart) Plot(w io.Writer, format string, opts plots.Options) error {
	if len(c.rows)+len(c.panels) == 0 {
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

// A row shows how much a typical file changed in one metric. Lengths are in limits, so that all
// metrics have one axis: a metric that is certainly beyond 1 fails.
type row struct {
	name    string
	verdict check.Verdict
	medians string // "7.20 GiB to 7.80 GiB"
	change  string // "+8.2 % (+8.0 % to +8.4 %)"
	worse   float64
	// low and high are the ends of the interval. They are NaN if there is none.
	low, high float64
}

func newRow(of *compare.Change) row {
	cells := wording.ChangeCells(*of)
	r := row{
		name: cells[0], verdict: of.Verdict, medians: cells[1] + " to " + cells[2],
		worse: inLimits(of.Worse(), of.Limit), low: math.NaN(), high: math.NaN(),
	}
	switch perFile := strings.HasSuffix(of.Unit, check.PerFile); {
	case of.Base == 0 || perFile:
		r.change = check.Quantity(of.Difference, of.Unit)
	case of.Difference == 0:
		r.change = "0 %"
	default:
		r.change = check.Change(of.Difference / math.Abs(of.Base))
	}
	if i := of.Interval; i != nil {
		r.change += fmt.Sprintf(" (%s)", cells[6])
		a, b := inLimits(i.Low, of.Limit), inLimits(i.High, of.Limit)
		if of.HigherIsBetter {
			a, b = -b, -a
		}
		r.low, r.high = a, b
	}
	return r
}

// inLimits returns a difference in limits. A metric that is compared exactly may have a limit of 0:
// then any difference is beyond the axis.
func inLimits(difference, limit float64) float64 {
	switch {
	case difference == 0:
		return 0
	case limit == 0:
		return math.Inf(int(math.Copysign(1, difference)))
	}
	return difference / limit
}

// A panel shows one metric file by file.
type panel struct {
	name      string
	same      []string // the names of metrics that show the same
	verdict   check.Verdict
	unit      string
	axis      string // see [plots.AxisTitle]
	paired    bool
	base, new []plots.Point // x is the number of the file
}

func newPanel(of *compare.Change, v *compare.Values) *panel {
	p := &panel{
		name: wording.ChangeCells(*of)[0], verdict: of.Verdict, unit: of.Unit, paired: v.Paired,
	}
	p.axis = plots.AxisTitle(of.Unit, p.name)
	x := numbers(v.New)
	for i, n := range v.New {
		p.new = append(p.new, plots.Point{X: x[i], Y: n.Value})
	}
	if !v.Paired {
		x = numbers(v.Base)
	}
	for i, b := range v.Base {
		p.base = append(p.base, plots.Point{X: x[i], Y: b.Value})
	}
	byX := func(a, b plots.Point) int { return int(a.X - b.X) }
	slices.SortStableFunc(p.base, byX)
	slices.SortStableFunc(p.new, byX)
	return p
}

// title returns the first line of the panel.
func (p *panel) title() string {
	verdict := strings.ToUpper(string(p.verdict))
	if p.verdict == check.Skipped {
		verdict = "not judged"
	}
	title := verdict + ": " + p.name
	if len(p.same) > 0 {
		title += "; the same: " + strings.Join(p.same, ", ")
	}
	return title
}

// numbers returns the files' numbers in the batch, or from 1 on if a number is unknown or occurs
// twice.
func numbers(files []compare.FileValue) []float64 {
	x := make([]float64, len(files))
	seen := map[int]bool{}
	for i, f := range files {
		if x[i] = float64(f.File.Index); f.File.Index < 1 || seen[f.File.Index] {
			for i := range x {
				x[i] = float64(i + 1)
			}
			return x
		}
		seen[f.File.Index] = true
	}
	return x
}
