package overfiles

import (
	"fmt"
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// leastShare is the smallest step or warm-up that is marked, as a share of the y axis. A smaller
// one cannot be seen.
const leastShare = 0.03

// marks says in words where a series changes: at a step, at the end of a warm-up, where growth
// begins, and from which file on files take longer. The parameter x holds the numbers of the files,
// and span is the length of the y axis.
func marks(t *check.Trend, finding check.Finding, x []float64, span float64) []plots.Note {
	m := marker{t, x, "file"}
	if t.Every > 0 {
		m.each = "reading"
	}
	r := &t.Result
	if at := m.firstBad(finding); at >= 0 && (!r.Growing || finding.Check == check.Throughput) {
		worse := "higher"
		if t.Falls {
			worse = "lower"
		}
		if finding.Check == check.Throughput {
			worse = "slower"
		}
		return []plots.Note{m.note(at, worse+" from ", " on")}
	}
	visible := math.Abs(r.Size) >= leastShare*span
	switch {
	case r.Shape == shape.WarmUp && visible && r.From > 0 && (r.Size > 0 || !r.Growing):
		return []plots.Note{m.note(r.From, "warm-up of "+m.amount(r.Size)+" ends at ", "")}
	case r.Shape == shape.Step && visible && r.From > 0:
		return []plots.Note{m.note(r.From, "step of "+m.amount(r.Size)+" at ", "")}
	case r.Shape == shape.Steps && r.From > 0:
		return m.steps(leastShare * span)
	case r.Shape == shape.Sawtooth && visible:
		return []plots.Note{m.note(m.firstFall(), "falls by "+m.amount(r.Size)+" at ",
			fmt.Sprintf(", and every %d %ss", r.Period, m.each))}
	case r.Growing:
		grows := "grows"
		if t.Falls {
			grows = "falls"
		}
		return []plots.Note{m.note(r.From, grows+" from ", " on")}
	}
	return nil
}

// A marker makes the marks of a series.
type marker struct {
	*check.Trend
	x    []float64
	each string // "file" or "reading"
}

// note returns a mark at an index of the series. Its text has the file between the words before and
// after it: "step of 409 MiB at file 36".
func (m marker) note(at int, before, after string) plots.Note {
	y := m.Result.Fitted[at]
	if m.Falls {
		y = -y
	}
	return plots.Note{
		Point: plots.Point{X: m.x[at], Y: y},
		Text:  before + m.each + " " + wording.Count(int(m.x[at])) + after,
	}
}

// amount prints a change of the values.
func (m marker) amount(size float64) string {
	if m.Falls {
		size = -size
	}
	return check.Quantity(size, m.Unit)
}

// firstBad returns the index of the first file that fails, or -1 if the finding names none.
func (m marker) firstBad(finding check.Finding) int {
	first := finding.FirstFile
	if first == nil || finding.Verdict != check.Fail || m.Every > 0 {
		return -1
	}
	return slices.IndexFunc(m.Files, func(f *timeline.File) bool {
		return f.Index == first.Index && f.Path == first.Path
	})
}

// steps returns the marks of the two steps of a series, without those smaller than least. If the
// values follow the length of the audio too, only the first step has a mark.
func (m marker) steps(least float64) []plots.Note {
	r := &m.Result
	second, size := r.From, 0.0
	for i := r.From + 1; i < len(r.Fitted); i++ {
		if rise := r.Fitted[i] - r.Fitted[i-1]; math.Abs(rise) > math.Abs(size) {
			second, size = i, rise
		}
	}
	if r.FollowsAudio || second == r.From {
		return []plots.Note{m.note(r.From, "first of two steps, together "+m.amount(r.Size)+", at ", "")}
	}
	var out []plots.Note
	for _, step := range []struct {
		at   int
		size float64
	}{{r.From, r.Size - size}, {second, size}} {
		if math.Abs(step.size) >= least {
			out = append(out, m.note(step.at, "step of "+m.amount(step.size)+" at ", ""))
		}
	}
	return out
}

// firstFall returns the index at which a sawtooth falls for the first time. The fit may fall once
// before the values do.
func (m marker) firstFall() int {
	r := &m.Result
	sign := 1.0
	if m.Falls {
		sign = -1
	}
	falls := func(values []float64, sign float64) func(i int) bool {
		return func(i int) bool { return sign*(values[i]-values[i-1]) < -math.Abs(r.Size)/2 }
	}
	fit, value := falls(r.Fitted, 1), falls(m.Values, sign)
	first := -1
	for i := 1; i < len(r.Fitted); i++ {
		if fit(i) && value(i) {
			return i
		}
		if fit(i) && first < 0 {
			first = i
		}
	}
	if first < 0 {
		return r.From
	}
	return first
}
