package overruns

import (
	"fmt"
	"io"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// plotOne draws a history of one run. Panels with one dot each would say nothing, so it lists the
// values instead, and says what a trend needs.
func plotOne(
	w io.Writer, format string, h *history.History, series []*history.Series, opts plots.Options,
) error {
	const line = 1.6 * plots.TextSize
	if opts.Height == 0 {
		const pixelsAPoint = 4.0 / 3
		opts.Height = max(plots.MinHeight, int(pixelsAPoint*line*float64(len(series)+6)))
	}
	return plots.Draw(w, format, opts, func(c draw.Canvas, encode func(string) string) error {
		p := plots.Page{Encode: encode}
		c = plots.Blank(c)
		run := h.Runs[0]
		c = p.DrawTitle(c, plots.Ink, fmt.Sprintf("suite %s: only 1 run, run %d of %s; a trend "+
			"needs at least 2 runs", sink.Line(h.Suite), run.ID, run.Started.Format("2006-01-02")),
			false)
		c = p.DrawLine(c, plots.TextSize, plots.SoftInk,
			"vramsoak history add stores the next run. The values of this one:")
		c.Max.Y -= 6
		for i, s := range series {
			if left := len(series) - i; c.Size().Y < 2*line && left > 1 {
				p.DrawLine(c, plots.TextSize, plots.SoftInk, wording.Count(left)+" more")
				break
			}
			c = p.DrawLine(c, plots.TextSize, plots.Ink,
				wording.Series(s.SeriesKey, true)+": "+check.Quantity(s.Values[0], s.Unit))
		}
		return nil
	})
}
