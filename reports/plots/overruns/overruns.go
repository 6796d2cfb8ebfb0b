// Package overruns draws the history of a suite. Each series has a panel with the value of each
// run, and marks at the runs where the level changed.
package overruns

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/history"
	"vramsoak/harness/shape"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// mostPanels is the most series that are drawn. Each has a panel.
const mostPanels = 8

// panelHeight is the height of a panel, and panelsAround the height of everything around the
// panels, in pixels. They are used if the plot's height is 0.
const panelHeight, panelsAround = 230, 90

// A picture draws the history of a suite.
type picture struct {
	*history.History
	plots.Page
	changes []history.Change
	drifts  []history.Drift
}

// Plot draws series run by run, with their levels and the runs at which the levels changed. It
// draws only the series that changed or get worse slowly. If there are none, it draws all. A plot
// with the height 0 becomes as high as its panels need.
func Plot(
	w io.Writer, format string, h *history.History, series []*history.Series,
	changes []history.Change, drifts []history.Drift, opts plots.Options,
) error {
	if len(series) == 0 {
		return errors.New("there is no series to plot; vramsoak history list shows the runs of " +
			"each suite")
	}
	if len(h.Runs) == 1 {
		return plotOne(w, format, h, series, opts)
	}
	changed := func(s *history.Series) bool {
		return driftOf(drifts, s) != nil ||
			slices.ContainsFunc(changes, func(c history.Change) bool { return c.Series == s })
	}
	shown := slices.DeleteFunc(slices.Clone(series), func(s *history.Series) bool {
		return len(changes)+len(drifts) > 0 && !changed(s)
	})
	shown = shown[:min(len(shown), mostPanels)]
	if opts.Height == 0 {
		opts.Height = max(plots.MinHeight, panelsAround+panelHeight*len(shown))
	}
	return plots.Draw(w, format, opts, func(c draw.Canvas, encode func(string) string) error {
		p := &picture{h, plots.Page{Encode: encode}, changes, drifts}
		headline := wording.HistoryHeadline(h, series, changes, drifts)
		if len(shown) < len(series) {
			headline += fmt.Sprintf("; shown are %s", wording.Count(len(shown)))
		}
		p.draw(c, shown, headline)
		return nil
	})
}

// driftOf returns the drift of a series, or nil.
func driftOf(drifts []history.Drift, s *history.Series) *history.Drift {
	i := slices.IndexFunc(drifts, func(d history.Drift) bool { return d.Series == s })
	if i < 0 {
		return nil
	}
	return &drifts[i]
}

func (p *picture) draw(c draw.Canvas, series []*history.Series, headline string) {
	c = draw.Crop(plots.Blank(c), 0, -10, 0, 0) // the last date extends beyond the data
	c = p.DrawTitle(c, plots.Ink, headline, false)
	c = p.DrawLegend(c, p.legend())
	c.Max.Y -= 2
	const dates = 20
	height := (c.Size().Y - dates) / vg.Length(len(series))
	// The widest number decides at which x all panels begin, so that a run has the same x in all
	// panels.
	left := vg.Length(0)
	sty := plots.Text(plots.TextSize, plots.Ink, text.XRight, text.YCenter)
	for _, s := range series {
		for _, t := range p.ticks(s) {
			left = max(left, sty.Width(t.Label))
		}
	}
	for i, s := range series {
		top := c.Max.Y - height*vg.Length(i)
		panel := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + left + 8, Y: top - height + 8},
			Max: vg.Point{X: c.Max.X, Y: top},
		}}
		p.panel(panel, s)
		if i == len(series)-1 {
			p.dates(panel)
		}
	}
}

func (p *picture) legend() []plots.LegendEntry {
	upright := func(ink color.Color) func(draw.Canvas, vg.Rectangle) {
		return func(c draw.Canvas, r vg.Rectangle) {
			c.StrokeLine2(changeLine(ink), plots.Middle(r).X, r.Min.Y, plots.Middle(r).X, r.Max.Y)
		}
	}
	has := func(worse bool) bool {
		return slices.ContainsFunc(p.changes, func(c history.Change) bool { return c.Worse == worse })
	}
	out := []plots.LegendEntry{
		{Name: "a run", Thumb: func(c draw.Canvas, r vg.Rectangle) {
			c.DrawGlyph(runGlyph, plots.Middle(r))
		}},
		{
			Name: "the level: median of the runs between two changes",
			Thumb: func(c draw.Canvas, r vg.Rectangle) {
				c.StrokeLine2(levelLine, r.Min.X, plots.Middle(r).Y, r.Max.X, plots.Middle(r).Y)
			},
		},
	}
	if has(true) {
		out = append(out, plots.LegendEntry{
			Name: "first run that is worse", Thumb: upright(plots.FailedColor),
		})
	}
	if len(p.drifts) > 0 {
		out = append(out, plots.LegendEntry{
			Name: "a slow rise or fall, from its first run on",
			Thumb: func(c draw.Canvas, r vg.Rectangle) {
				c.StrokeLine2(driftLine, r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
			},
		})
	}
	if has(false) {
		out = append(out, plots.LegendEntry{
			Name: "first run that is better", Thumb: upright(plots.UsedColor),
		})
	}
	return out
}

var (
	runGlyph = draw.GlyphStyle{
		Color: color.NRGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xA0}, Radius: 2.2,
		Shape: draw.CircleGlyph{},
	}
	levelLine = draw.LineStyle{Color: plots.Ink, Width: 1.6}
	driftLine = draw.LineStyle{Color: plots.FailedColor, Width: 2}
)

func changeLine(ink color.Color) draw.LineStyle {
	return draw.LineStyle{Color: ink, Width: 1.2, Dashes: []vg.Length{4, 3}}
}

// bounds returns the lowest and the highest value of a panel's axis. The axis need not include 0,
// because a change may be only a hundredth of the level.
func bounds(s *history.Series) (low, high float64) {
	low, high = slices.Min(s.Values), slices.Max(s.Values)
	room := 0.06 * (high - low)
	// Noise must not fill the whole panel.
	least := max(0.01*max(math.Abs(low), math.Abs(high)), plots.LeastSpan[s.Unit])
	if high-low < least {
		room = (least - (high - low)) / 2
	}
	if room == 0 {
		room = 1
	}
	return plots.WithinWhole(low-room, high+room, high, s.Unit)
}

// ticks returns about four round numbers within the bounds.
func (p *picture) ticks(s *history.Series) []plot.Tick {
	low, high := bounds(s)
	return plots.ValueTicks(low, high, s.Unit, 5)
}

// panel draws one series.
func (p *picture) panel(c draw.Canvas, s *history.Series) {
	name := plots.Text(plots.TextSize, plots.Ink, text.XLeft, text.YTop)
	label := wording.Series(s.SeriesKey, true)
	c.FillText(name, vg.Point{X: c.Min.X, Y: c.Max.Y}, p.Encode(plots.Fit(name, label, c.Size().X)))
	words := vg.Point{X: c.Max.X, Y: c.Max.Y} // the right end of the next text on a change
	c.Max.Y -= plots.TextSize * 1.6
	low, high := bounds(s)
	x := p.x(c)
	y := func(v float64) vg.Length { return c.Min.Y + vg.Length((v-low)/(high-low))*c.Size().Y }
	number := plots.Text(plots.TextSize, plots.SoftInk, text.XRight, text.YCenter)
	for _, t := range p.ticks(s) {
		c.StrokeLine2(draw.LineStyle{Color: plots.GridColor, Width: 0.8}, c.Min.X, y(t.Value),
			c.Max.X, y(t.Value))
		c.FillText(number, vg.Point{X: c.Min.X - 6, Y: y(t.Value)}, p.Encode(t.Label))
	}
	from, level := 0, shape.Median(s.Values)
	stretch := func(to int, level float64) {
		c.StrokeLine2(levelLine, x(float64(from)-0.5), y(level), x(float64(to)-0.5), y(level))
	}
	var own []history.Change
	for _, change := range p.changes {
		if change.Series == s {
			own = append(own, change)
		}
	}
	defer func() { // over the lines
		for i, r := range s.Runs {
			c.DrawGlyph(runGlyph, vg.Point{X: x(float64(r)), Y: y(s.Values[i])})
		}
	}()
	if drift := driftOf(p.drifts, s); drift != nil && len(own) == 0 {
		p.drift(c, drift, x, y)
		return
	}
	for _, change := range own {
		stretch(change.Bad, change.Before)
		from, level = change.Bad, change.After
	}
	stretch(len(p.Runs), level)
	for _, change := range slices.Backward(own) {
		words = p.mark(c, change, x(float64(change.Bad)-0.5), words)
	}
}

// drift draws the level before a slow rise, and the rise. Its size is to the right above the data.
func (p *picture) drift(
	c draw.Canvas, d *history.Drift, x func(float64) vg.Length, y func(float64) vg.Length,
) {
	var line []vg.Point
	for i, r := range d.Series.Runs {
		line = append(line, vg.Point{X: x(float64(r)), Y: y(d.Fitted[i])})
	}
	knot := len(line) - d.Runs
	c.StrokeLines(levelLine, line[:knot])
	c.StrokeLines(driftLine, line[max(0, knot-1):])
	from := p.Runs[d.From]
	at := x(float64(d.From) - 0.5)
	s := fmt.Sprintf("%s since run %d", wording.RiseShort(d), from.ID)
	if commit := wording.ShortCommit(from); commit != "" {
		s += ", " + commit
	}
	if d.Good >= 0 {
		c.StrokeLine2(changeLine(plots.FailedColor), at, c.Min.Y, at, c.Max.Y)
		s += fmt.Sprintf("; last good run %d", p.Runs[d.Good].ID)
	}
	sty := plots.Text(plots.TextSize, plots.FailedColor, text.XRight, text.YTop)
	c.FillText(sty, vg.Point{X: c.Max.X, Y: c.Max.Y + plots.TextSize*1.6}, p.Encode(s))
}

// mark draws where a level changed. It writes the size of the change above the data, to the left of
// the text that is there already. It returns the point at which the next text must end.
func (p *picture) mark(c draw.Canvas, change history.Change, at vg.Length, free vg.Point) vg.Point {
	ink := color.Color(plots.UsedColor)
	if change.Worse {
		ink = plots.FailedColor
	}
	c.StrokeLine2(changeLine(ink), at, c.Min.Y, at, c.Max.Y)
	bad := p.Runs[change.Bad]
	s := fmt.Sprintf("%s, run %d", wording.ChangeSize(change), bad.ID)
	if commit := wording.ShortCommit(bad); commit != "" {
		s += ", " + commit
	}
	sty := plots.Text(plots.TextSize, ink, text.XLeft, text.YTop)
	left := min(at, free.X-sty.Width(s))
	if left < c.Min.X+c.Size().X/5 { // this part has the name of the series
		return free
	}
	c.FillText(sty, vg.Point{X: left, Y: free.Y}, p.Encode(s))
	return vg.Point{X: left - 14, Y: free.Y}
}

// x returns the x values of runs on a canvas. The distance between two runs is always the same,
// whatever their dates.
func (p *picture) x(c draw.Canvas) func(run float64) vg.Length {
	return func(run float64) vg.Length {
		return c.Min.X + vg.Length((run+0.5)/float64(len(p.Runs)))*c.Size().X
	}
}

// dates writes the dates of runs below the last panel.
func (p *picture) dates(c draw.Canvas) {
	x := p.x(c)
	sty := plots.Text(plots.TextSize, plots.SoftInk, text.XCenter, text.YTop)
	every := int(math.Ceil(float64(len(p.Runs)) / float64(max(1, int(c.Size().X/95)))))
	for i := 0; i < len(p.Runs); i += every {
		at := x(float64(i))
		c.StrokeLine2(draw.LineStyle{Color: plots.SoftInk, Width: 0.8}, at, c.Min.Y, at, c.Min.Y-4)
		if i == 0 {
			at = max(at, c.Min.X+sty.Width("2026-01-01")/2)
		}
		c.FillText(sty, vg.Point{X: at, Y: c.Min.Y - 6}, p.Runs[i].Started.Format("2006-01-02"))
	}
}
