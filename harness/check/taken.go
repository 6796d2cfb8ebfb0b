package check

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"vramsoak/parser/record"
)

// A pointLevels holds the levels of a ledger at a checkpoint that recurs in each file. It has a
// value for each file from the one on at which the ledger begins to grow, and NaN where the level
// is not known.
type pointLevels struct {
	name   string
	values Values
	// least is how many values must be known for the point to count.
	least int
}

// levelsAt returns the levels at the points of a lane. The function column returns the column of
// a point that is compared with the values of w, or nil if the point has none.
func (l *lane) levelsAt(w *worstProcess, column func(*point) *column) (all []pointLevels) {
	files := w.of.files[w.result.From:]
	for _, p := range l.points.all {
		if c := column(p); c != nil {
			all = append(all, pointLevels{p.name, c.over(files), len(files)/2/int(c.skip+1) + 1})
		}
	}
	return all
}

// takenAt returns in words between which two checkpoints the leaked memory is allocated: "it is
// allocated between Before Whisper and After Whisper". From the second of the two to the end of
// the file, the level stays above the idle level of the file before. While the file is worked on,
// the level may be higher still; takenAt then also names the checkpoint from which on only the
// leaked memory is held. The result stage is the innermost stage or cleanup in which the memory
// is allocated. The parameter how is the word for "allocated".
func takenAt(w *worstProcess, how string, points []pointLevels) (taken, stage string) {
	slope := *w.finding.Measured
	names, above := levelsAbove(w.of.values[w.result.From:], slope, points)
	first := len(above)
	for first > 0 && above[first-1] > slope/2 {
		first--
	}
	if first == len(above) {
		return "", "" // the leak is not between checkpoints that the files have in common
	}
	after := "the end of the previous file"
	if first > 0 {
		after = names[first-1]
	}
	taken = fmt.Sprintf("it is %s between %s and %s", how, after, names[first])
	stage = openStage(names[:first])
	least := slices.Min(above[first:])
	for i := first; ; i++ {
		switch {
		case above[i] > least+slope/2:
		case i == first:
			return taken, stage
		default:
			return fmt.Sprintf("%s, and still held at %s", taken, names[i]), stage
		}
	}
}

// levelsAbove returns, for each point, how far its level lies above the idle level of the file
// before. It takes the lower quartile over the files: the harness reads the ledgers of the
// machine a little late, and the next stage may already hold more. If the lower quartile at the
// last point does not show the leak, levelsAbove returns the means: the leak may be in few files,
// or noise may hide it.
func levelsAbove(before []float64, slope float64, points []pointLevels) (
	names []string, above []float64,
) {
	var means []float64
	for _, p := range points {
		var steps []float64
		for i := 1; i < len(p.values); i++ {
			if step := p.values[i] - before[i-1]; !math.IsNaN(step) {
				steps = append(steps, step)
			}
		}
		if len(steps) > 0 && len(steps) >= p.least {
			slices.Sort(steps)
			names = append(names, p.name)
			above = append(above, stat.Quantile(0.25, stat.Empirical, steps, nil))
			means = append(means, stat.Mean(steps, nil))
		}
	}
	if n := len(above); n > 0 && above[n-1] <= slope/2 {
		return names, means
	}
	return names, above
}

// openStage returns the innermost stage or cleanup that has begun and not ended after checkpoints
// with these names, or "".
func openStage(names []string) string {
	var open []string
	for _, name := range names {
		c := record.Checkpoint{Name: name}
		of, begins, ends := c.Pair()
		switch at := slices.Index(open, of); {
		case begins:
			open = append(open, of)
		case ends && at >= 0:
			open = open[:at]
		}
	}
	if len(open) == 0 {
		return ""
	}
	return open[len(open)-1]
}
