// Package overfiles draws the values that are judged file by file. Each series has a panel with the
// value of each file, the shape that was found, and the confidence interval of its growth.
package overfiles

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// A Chart holds the data of a plot. It holds no reference to the report, so that the report's
// memory can be freed.
type Chart struct {
	panels   []*panel // the worst first
	all      int      // the number of series, with those that have no panel
	headline string
	extent   string // the size of the run
	verdict  check.Verdict
	partial  bool  // a series is of one process of several
	why      error // if there is nothing to plot
}

// New returns the chart of the series that are judged file by file (see [check.Report.Trends]).
func New(rep *check.Report) *Chart {
	c := &Chart{
		all: len(rep.Trends), verdict: rep.Verdict,
		headline: plots.Headline(rep), extent: wording.Extent(rep),
	}
	if c.all == 0 {
		c.why = noSeries(rep)
	}
	type judged struct {
		*check.Trend
		finding check.Finding
	}
	series := make([]judged, 0, c.all)
	for i := range rep.Trends {
		series = append(series, judged{&rep.Trends[i], rep.Reported(rep.Trends[i].Finding)})
	}
	decisive := plots.Decisive(rep)
	slices.SortStableFunc(series, func(a, b judged) int {
		return cmp.Or(panelRank(b.finding, decisive)-panelRank(a.finding, decisive),
			wording.CompareVerdicts(a.finding, b.finding))
	})
	var shown []judged // by panel
	for _, s := range series {
		twin := slices.IndexFunc(shown, func(t judged) bool {
			return t.finding.Verdict == s.finding.Verdict && sameSeries(t.Trend, s.Trend)
		})
		if twin >= 0 {
			c.all--
			c.panels[twin].same = append(c.panels[twin].same, s.finding.Subject)
		} else if len(shown) < panelsMax {
			shown = append(shown, s)
			c.panels = append(c.panels, newPanel(s.Trend, s.finding))
			c.partial = c.partial || s.Every == 0 && len(s.Files) < rep.Files*3/4
		}
	}
	return c
}

// panelRank returns the rank of a finding's panel; the highest comes first. The rank is 2 if the
// series fails, and 1 if the headline is about the same cleanup or stage. The finding that the
// headline is about is decisive, or nil.
func panelRank(f check.Finding, decisive *check.Finding) int {
	switch {
	case f.Verdict == check.Fail && f.Gates && f.Waived == nil:
		return 2
	case decisive != nil && strings.HasSuffix(f.Subject, " of "+decisive.Subject):
		return 1
	}
	return 0
}

// Plot draws the chart, one panel for each series. A panel shows the value of each file, the
// fitted shape, and the confidence interval of its growth. If no series could be judged, Plot
// returns a [NothingError].
func (c *Chart) Plot(w io.Writer, format string, opts plots.Options) error {
	if c.why != nil {
		return c.why
	}
	p := newPicture(c)
	opts = p.arrange(opts)
	return plots.Draw(w, format, opts, func(on draw.Canvas, encode func(string) string) error {
		p.Page = plots.Page{Encode: encode}
		p.draw(on)
		return nil
	})
}

// A NothingError says why a report has no series over files.
type NothingError string

func (e NothingError) Error() string { return "nothing to plot over files: " + string(e) }

// noSeries returns the error for a report without series. It quotes the finding of the leak check,
// because most logs have the data for this check.
func noSeries(rep *check.Report) error {
	for _, f := range rep.Findings {
		if f.Check == check.Leak && f.Verdict == check.Skipped {
			return NothingError(f.Message)
		}
	}
	return NothingError("the log has no series over files that could be judged")
}
