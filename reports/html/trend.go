package html

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A trendData is a series that was judged for growth, with the line that was fitted.
type trendData struct {
	Track   int    `json:"track"` // -1 if it is of no single track
	Check   string `json:"check"`
	Title   string `json:"title"`
	Verdict string `json:"verdict"`
	Unit    string `json:"unit"`
	Each    string `json:"each"` // "file" or "reading": each value is that of one of these
	Rate    string `json:"rate"`
	All     int    `json:"all"` // the number of values that were judged
	// X is the number of the file or reading. Values, Fitted, Low and High are in Scale of the unit:
	// whole bytes, or thousandths.
	X      column  `json:"x"`
	File   column  `json:"file"`
	Values column  `json:"values"`
	Fitted column  `json:"fitted"`
	Low    column  `json:"low"` // the fitted shape with the ends of the growth's 95 % interval
	High   column  `json:"high"`
	Out    column  `json:"out"` // outliers, which the fit leaves out
	Scale  float64 `json:"scale"`
	From   int64   `json:"from"` // the X from which the growth counts; 0 for the first file
	Mark   string  `json:"mark"`
}

// Limits for the series of a page. A series with more values is thinned.
const (
	trendsMax    = 60
	trendRowsMax = 6000
)

// encodeTrends adds the series that were judged, the worst first.
func (e *encoder) encodeTrends() {
	trends := slices.Clone(e.rep.Trends)
	for i := range trends {
		trends[i].Finding = e.reported(trends[i].Finding)
	}
	slices.SortStableFunc(trends, func(a, b check.Trend) int {
		return wording.CompareVerdicts(a.Finding, b.Finding)
	})
	for i := range trends[:min(len(trends), trendsMax)] {
		e.doc.Trends = append(e.doc.Trends, e.trend(&trends[i]))
	}
}

// reported returns the finding on a series as the report has it, with what the policy says of it.
func (e *encoder) reported(of check.Finding) check.Finding {
	for _, f := range e.rep.Findings {
		if f.Check == of.Check && f.Subject == of.Subject {
			return f
		}
	}
	of.Gates = slices.Contains(e.rep.Policy.Gate, of.Check)
	return of
}

func (e *encoder) trend(t *check.Trend) trendData {
	r := &t.Result
	d := trendData{
		Track: e.trackOf(&t.Finding), Check: t.Finding.Check, Title: sink.Name(t.Finding.Subject),
		Verdict: wording.Verdict(t.Finding), Unit: t.Unit, Each: "file", All: len(t.Values),
		Scale: 1, Rate: rate(t),
	}
	if t.Every > 0 {
		d.Each = "reading"
	}
	if t.Unit != check.Bytes {
		d.Scale = 1e-6
	}
	sign := 1.0
	if t.Falls {
		sign = -1
	}
	scaled := func(v float64) int64 {
		if v = v / d.Scale; math.IsNaN(v) || math.Abs(v) > 1<<53 {
			return missing
		}
		return int64(math.Round(v))
	}
	outlier := make(map[int]bool, len(r.Outliers))
	for _, i := range r.Outliers {
		outlier[i] = true
	}
	for i, v := range t.Values {
		d.X = append(d.X, int64(e.trendX(t, i)))
		d.File = append(d.File, int64(e.files[t.Files[i]]))
		value, out := scaled(v), int64(missing)
		if outlier[i] {
			value, out = out, value
		}
		d.Values, d.Out = append(d.Values, value), append(d.Out, out)
		fit, low, high := math.NaN(), math.NaN(), math.NaN()
		if r.Fitted != nil {
			fit = sign * r.Fitted[i]
		}
		if i >= r.From {
			files := (float64(i) - pivot(r)) * float64(max(1, t.Every))
			a := fit + sign*(r.Slope.Low-r.Slope.Estimate)*files
			b := fit + sign*(r.Slope.High-r.Slope.Estimate)*files
			low, high = min(a, b), max(a, b)
		}
		d.Fitted = append(d.Fitted, scaled(fit))
		d.Low, d.High = append(d.Low, scaled(low)), append(d.High, scaled(high))
	}
	if !slices.IsSorted(d.X) { // as those of files that were repeated
		for i := range d.X {
			d.X[i] = int64(i + 1)
		}
	}
	if r.From > 0 && r.From < len(d.X) {
		d.From, d.Mark = d.X[r.From], markText(t)
	}
	d.thin()
	return d
}

// trendX returns the number of the file, or of the reading, to which a value belongs.
func (e *encoder) trendX(t *check.Trend, i int) int {
	if t.Every > 0 {
		return 1 + i*t.Every
	}
	return e.numbers[e.files[t.Files[i]]]
}

// pivot returns the index of the point about which the fitted line is tilted to show the interval.
// This is the middle of the line. If growth begins at a later file, it is this file, because the
// points before fix the line there.
func pivot(r *shape.Result) float64 {
	from, last := float64(r.From), float64(len(r.Fitted)-1)
	if r.Growing && r.Shape == shape.Flat && r.From > 0 {
		return from
	}
	return (from + last) / 2
}

// markText describes the value at which growth begins to count.
func markText(t *check.Trend) string {
	r := &t.Result
	switch {
	case r.Shape == shape.WarmUp && !r.Growing && (r.Size < 0) != t.Falls:
		return "fall ends"
	case r.Shape == shape.WarmUp && (r.Size > 0 || !r.Growing):
		return "warm-up ends"
	case r.Shape == shape.Step:
		return "step"
	case r.Shape == shape.Steps:
		return "first of two steps"
	case r.Growing && t.Falls:
		return "falls from here on"
	case r.Growing:
		return "grows from here on"
	}
	return ""
}

// rate returns the growth with its interval: "4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB)".
func rate(t *check.Trend) string {
	s, each := t.Result.Slope, "file"
	if t.Every > 0 {
		each = "reading"
	}
	if t.Result.Shape == "" {
		return ""
	}
	if t.Falls {
		s.Estimate, s.Low, s.High = -s.Estimate, -s.High, -s.Low
	}
	return check.Rate(s, t.Unit, each)
}

// thin reduces a long series. It keeps the extremes.
func (d *trendData) thin() {
	if len(d.X) <= trendRowsMax {
		return
	}
	columns := []*column{&d.X, &d.File, &d.Values, &d.Fitted, &d.Low, &d.High, &d.Out}
	keep := keepExtremes(func(i int) int { return i }, len(d.X), 6*len(d.X)/trendRowsMax,
		[]column{d.Values, d.Fitted, d.Out}, func(int) bool { return false })
	for _, c := range columns {
		*c = compact(*c, keep)
	}
}
