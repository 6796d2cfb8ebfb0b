package overfiles

import (
	"math"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A panel holds the data that is drawn of one series.
type panel struct {
	finding check.Finding
	same    []string // the subjects of the series that show the same
	unit    string
	each    string        // "file" or "reading": each value is that of one of these
	pixels  int           // the width of the data, roughly
	files   []plots.Point // the values that count; x is the number of the file
	outside []plots.Point // outliers
	fitted  []plots.Point
	// low and high are the fitted shape, tilted to the two ends of the growth's confidence
	// interval. They begin at the file where growth begins to count.
	low, high []plots.Point
	marks     []plots.Note // where the series changes, in words
	// bottom and top are the ends of the y axis. Outliers may lie beyond them.
	bottom, top float64
}

func newPanel(t *check.Trend, finding check.Finding) *panel {
	p := &panel{finding: finding, unit: t.Unit, each: "file"}
	if t.Every > 0 {
		p.each = "reading"
	}
	sign := 1.0
	if t.Falls {
		sign = -1
	}
	x := fileNumbers(t)
	r := &t.Result
	outlier := map[int]bool{}
	for _, i := range r.Outliers {
		outlier[i] = true
	}
	for i, v := range t.Values {
		switch {
		case math.IsNaN(v): // not known, as that of the last file of a process
		case outlier[i]:
			p.outside = append(p.outside, plots.Point{X: x[i], Y: v})
		default:
			p.files = append(p.files, plots.Point{X: x[i], Y: v})
		}
		if fit := sign * r.Fitted[i]; !math.IsNaN(fit) {
			p.fitted = append(p.fitted, plots.Point{X: x[i], Y: fit})
			if i >= r.From {
				files := (float64(i) - pivot(r)) * float64(max(1, t.Every))
				a, b := fit+sign*(r.Slope.Low-r.Slope.Estimate)*files,
					fit+sign*(r.Slope.High-r.Slope.Estimate)*files
				p.low, p.high = append(p.low, plots.Point{X: x[i], Y: min(a, b)}),
					append(p.high, plots.Point{X: x[i], Y: max(a, b)})
			}
		}
	}
	p.scale(r.Rounding, max(1, t.Every))
	p.marks = marks(t, finding, x, p.top-p.bottom)
	return p
}

// pivot returns the index of the point about which the fitted line is tilted. This is the middle of
// the line. If growth begins at a later file, it is this file, because the points before fix the
// line there.
func pivot(r *shape.Result) float64 {
	from, last := float64(r.From), float64(len(r.Fitted)-1)
	if r.Growing && r.Shape == shape.Flat && r.From > 0 {
		return from
	}
	return (from + last) / 2
}

// fileNumbers returns the number of each file in the batch. If these numbers are unknown or do not
// ascend, it returns the numbers of the files in the process, from 1. For readings it returns the
// number of the first reading that each value stands for.
func fileNumbers(t *check.Trend) []float64 {
	x := make([]float64, len(t.Files))
	if t.Every > 0 {
		for i := range x {
			x[i] = float64(1 + i*t.Every)
		}
		return x
	}
	for i, f := range t.Files {
		if x[i] = float64(f.Index); f.Index < 1 || i > 0 && x[i] <= x[i-1] {
			for i := range x {
				x[i] = float64(i + 1)
			}
			return x
		}
	}
	return x
}

// scale chooses the ends of the y axis. The axis contains the values. It also contains the growth
// that the limit allows over all files, up to four times the range of the values, so that allowed
// growth looks small. If the values hardly change, the axis contains a tenth of the growth that the
// limit allows: a flat series looks flat. It is at least as long as the rounding, and as a
// hundredth of the level. An outlier that would make the other values flat lies beyond the axis.
// The parameter each is the number of files or readings for each value.
func (p *panel) scale(rounding float64, each int) {
	p.bottom, p.top = math.Inf(1), math.Inf(-1)
	hold := func(points ...plots.Point) {
		for _, at := range points {
			p.bottom, p.top = min(p.bottom, at.Y), max(p.top, at.Y)
		}
	}
	hold(p.files...)
	hold(p.fitted...)
	negative := p.bottom < 0
	least := 0.01 * max(math.Abs(p.bottom), math.Abs(p.top))
	if p.finding.Limit != nil {
		files := float64(len(p.files) * each)
		allowed := *p.finding.Limit * files
		least = max(least, rounding*files, min(allowed, max(4*(p.top-p.bottom), allowed/10)))
	}
	least = max(least, plots.LeastSpan[p.unit])
	if least == 0 {
		least = 1
	}
	if missing := least - (p.top - p.bottom); missing > 0 {
		p.bottom, p.top = p.bottom-missing/2, p.top+missing/2
	}
	if p.bottom < 0 && !negative {
		p.bottom, p.top = 0, p.top-p.bottom
	}
	p.bottom, p.top = plots.WithinWhole(p.bottom, p.top, p.highest(), p.unit)
	span := p.top - p.bottom
	for _, at := range p.outside {
		if at.Y > p.bottom-span/2 && at.Y < p.top+span/2 {
			p.bottom, p.top = min(p.bottom, at.Y), max(p.top, at.Y)
		}
	}
}

// highest returns the largest value, outliers included.
func (p *panel) highest() float64 {
	highest := math.Inf(-1)
	for _, points := range [][]plots.Point{p.files, p.outside} {
		for _, at := range points {
			highest = max(highest, at.Y)
		}
	}
	return highest
}

// title returns the first line of the panel.
func (p *panel) title() string {
	title := strings.ToUpper(wording.Verdict(p.finding)) + ": " + sink.Line(p.finding.Check)
	if p.finding.Subject != p.finding.Check {
		title += ", " + sink.Line(p.finding.Subject)
	}
	if len(p.same) > 0 {
		title += "; the same" + sink.Line(theSame(p.finding.Subject, p.same))
	}
	return title
}

// axis returns what the numbers of the y axis are, if the unit at each number does not say it: file
// descriptors, multiples of real time.
func (p *panel) axis() string { return plots.AxisTitle(p.unit, sink.Line(p.finding.Subject)) }

// fails reports whether the series is a reason for a report that fails.
func (p *panel) fails() bool {
	return p.finding.Verdict == check.Fail && p.finding.Gates && p.finding.Waived == nil
}
