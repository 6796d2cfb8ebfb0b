package history

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// A Regression is a change for the worse, at once or slowly. One of its two fields is set.
type Regression struct {
	Step  *Change
	Drift *Drift
}

// WorstFirst returns the steps and the drifts, those with the largest [Change.Relative] or
// [Drift.Relative] first. Of two that are equally large, the one of a stage or cleanup comes first.
func WorstFirst(steps []Change, drifts []Drift) []Regression {
	var all []Regression
	for i := range steps {
		all = append(all, Regression{Step: &steps[i]})
	}
	for i := range drifts {
		all = append(all, Regression{Drift: &drifts[i]})
	}
	slices.SortStableFunc(all, func(a, b Regression) int {
		return cmp.Or(cmp.Compare(b.relative(), a.relative()),
			cmp.Compare(min(1, len(b.Series().Stage())), min(1, len(a.Series().Stage()))))
	})
	return all
}

// Series returns the series that got worse.
func (r Regression) Series() *Series {
	if r.Drift != nil {
		return r.Drift.Series
	}
	return r.Step.Series
}

func (r Regression) relative() float64 {
	if r.Drift != nil {
		return r.Drift.Relative()
	}
	return r.Step.Relative()
}

// Relative returns how much worse the new level is, as a part of the level before. If that level
// is 0, it returns the difference itself.
func (c Change) Relative() float64 { return relative(c.Step(), c.Before) }

// Relative returns how much worse the newest run is, as a part of the level before the drift. If
// that level is 0, it returns the difference itself.
func (d *Drift) Relative() float64 { return relative(math.Abs(d.Last-d.First), d.First) }

func relative(difference, level float64) float64 {
	if level == 0 {
		return difference
	}
	return difference / math.Abs(level)
}

// Stage returns the stage or cleanup in a metric's name: "Transcription" of "peak of
// Transcription". It returns "" if the metric is of no stage.
func (k SeriesKey) Stage() string {
	for _, prefix := range []string{check.PeakOf, check.RecoveryOf} {
		if stage, ok := strings.CutPrefix(k.Metric, prefix); ok && stage != check.DeviceUsed {
			return stage
		}
	}
	return ""
}
