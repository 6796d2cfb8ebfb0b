// Package overfiles draws the values that are judged file by file. Each series has a panel with the
// value of each file, the shape that was found, and the confidence interval of its growth.
package overfiles

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// Plot draws the series that are judged file by file (see [check.Report.Trends]), the worst first.
// Each panel shows the value of each file, the fitted shape, and the confidence interval of its
// growth.
func Plot(w io.Writer, format string, rep *check.Report, opts plots.Options) error {
	if len(rep.Trends) == 0 {
		return noSeries(rep)
	}
	p := &picture{}
	for i := range rep.Trends {
		t := &rep.Trends[i]
		p.panels = append(p.panels, newPanel(t, reported(rep, t.Finding)))
	}
	slices.SortStableFunc(p.panels, func(a, b *panel) int {
		return wording.CompareVerdicts(a.finding, b.finding)
	})
	opts = p.arrange(opts)
	return plots.Draw(w, format, opts, func(c draw.Canvas, encode func(string) string) error {
		p.Page = plots.Page{Encode: encode}
		p.draw(c, rep)
		return nil
	})
}

// reported returns the finding on a series as the report has it, with what the policy says of it.
// A report does not list more than [check.MostAlike] findings of a kind.
func reported(rep *check.Report, of check.Finding) check.Finding {
	for _, f := range rep.Findings {
		if f.Check == of.Check && f.Subject == of.Subject {
			return f
		}
	}
	of.Gates = slices.Contains(rep.Policy.Gate, of.Check)
	return of
}

// noSeries returns the error for a report without series. It quotes the finding of the leak check,
// because most logs have the data for this check.
func noSeries(rep *check.Report) error {
	for _, f := range rep.Findings {
		if f.Check == check.Leak && f.Verdict == check.Skipped {
			return fmt.Errorf("nothing to plot over files: %s", f.Message)
		}
	}
	return errors.New("nothing to plot over files: the log has no series over files that could " +
		"be judged")
}
