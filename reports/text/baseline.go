package text

import (
	"io"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Baseline writes what a baseline holds: the run, and a row for each metric.
func Baseline(w io.Writer, b *compare.Baseline, opts Options) error {
	t := newWriter(opts)
	t.wrap(wording.Run(b.Run)+"; "+wording.Plural(len(b.Files), "file"), "  ")
	if len(b.Run.Command) > 0 {
		t.wrap("command: "+sink.Line(strings.Join(b.Run.Command, " ")), "  ")
	}
	rows := [][]string{{"Metric", "Files", "Least", "Median", "Most"}}
	for _, m := range b.Metrics {
		values := slices.DeleteFunc(slices.Clone(m.Values), math.IsNaN)
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		row := []string{wording.Metric(m.Name, m.Rank, m.Device), wording.Count(len(values))}
		// For an even number of values, this median is the lower of the two middle values, so that
		// it is a value from the run.
		for _, v := range []float64{values[0], values[(len(values)-1)/2], values[len(values)-1]} {
			row = append(row, check.Quantity(v, m.Unit))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		t.WriteByte('\n')
		if err := t.table(rows, []int{1, 2, 3, 4}, 0); err != nil {
			return err
		}
	}
	return t.flush(w)
}
