package overfiles

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A picture draws the panels of several series.
type picture struct {
	*Chart
	plots.Page
	panels        []*panel // the panels that are shown
	columns, rows int
	pixels        int // the width of a panel's data in pixels, roughly
}

// panelsMax is the most panels in a picture. The other sizes are in pixels: the least width and
// height of a panel, the height of a panel if the plot's height is 0, and the height of everything
// around the panels.
const (
	panelsMax               = 6
	panelWidth, panelLeast  = 480, 200
	panelHeight, panelSpare = 290, 110
)

func newPicture(c *Chart) *picture {
	p := &picture{Chart: c}
	for _, panel := range c.panels { // drawing changes the scale
		copied := *panel
		p.panels = append(p.panels, &copied)
	}
	return p
}

// arrange places the panels, and chooses the plot's height if it is 0.
func (p *picture) arrange(opts plots.Options) plots.Options {
	p.columns = 1
	if len(p.panels) > 3 && opts.PixelsWide() >= 2*panelWidth {
		p.columns = 2
	}
	p.rows = (len(p.panels) + p.columns - 1) / p.columns
	if opts.Height == 0 {
		opts.Height = max(plots.MinHeight, panelSpare+p.rows*panelHeight)
	}
	p.rows = max(1, min(p.rows, (opts.Height-panelSpare)/panelLeast))
	p.panels = p.panels[:min(len(p.panels), p.rows*p.columns)]
	p.pixels = opts.PixelsWide()/p.columns - 140
	return opts
}

func (p *picture) draw(c draw.Canvas) {
	c = plots.Blank(c)
	c = p.DrawLine(c, plots.TextSize, plots.VerdictInk(p.verdict), p.headline)
	c.Max.Y -= 2
	c = p.DrawLegend(c, p.legend())
	c.Max.Y -= 6
	var notes []string
	if len(p.panels) < p.all {
		notes = append(notes, fmt.Sprintf("Shown: %s of %s series, the worst first.",
			wording.Count(len(p.panels)), wording.Count(p.all)))
	}
	c = p.DrawFoot(c, notes)
	tiles := draw.Tiles{Cols: p.columns, Rows: p.rows, PadX: 24, PadY: 14}
	left := make([]vg.Length, p.columns) // the widest label of the y axes, for each column
	axes := make([]*plot.Plot, len(p.panels))
	for i, panel := range p.panels {
		axes[i] = p.axes(panel, tiles.At(c, i%p.columns, i/p.columns))
		left[i%p.columns] = max(left[i%p.columns], labelWidth(axes[i]))
	}
	for i, panel := range p.panels {
		p.drawPanel(tiles.At(c, i%p.columns, i/p.columns), panel, axes[i], left[i%p.columns])
	}
}

func (p *picture) legend() []plots.LegendEntry {
	has := func(f func(*panel) bool) bool { return slices.ContainsFunc(p.panels, f) }
	var out []plots.LegendEntry
	if has(func(panel *panel) bool { return !p.dense(panel) }) {
		out = append(out, plots.LegendEntry{
			Name:  "a " + p.panels[0].each,
			Thumb: func(c draw.Canvas, r vg.Rectangle) { drawDot(c, plots.Middle(r)) },
		})
	}
	if has(p.dense) {
		out = append(out, plots.LegendEntry{
			Name: "many files (lowest to highest)",
			Thumb: func(c draw.Canvas, r vg.Rectangle) {
				plots.DrawBandThumb(c, r, plots.AllocatedColor)
			},
		})
	}
	if has(func(panel *panel) bool { return len(panel.outside) > 0 }) {
		out = append(out, plots.LegendEntry{
			Name:  "outlier, left out",
			Thumb: func(c draw.Canvas, r vg.Rectangle) { drawHollow(c, plots.Middle(r)) },
		})
	}
	ink := p.panels[0].growthInk()
	return append(out,
		plots.LegendEntry{Name: "what was found", Thumb: func(c draw.Canvas, r vg.Rectangle) {
			y := plots.Middle(r).Y
			c.StrokeLine2(fittedStyle(ink), r.Min.X, y, r.Max.X, y)
		}},
		plots.LegendEntry{
			Name: "growth, 95 % interval",
			Thumb: func(c draw.Canvas, r vg.Rectangle) {
				c.FillPolygon(plots.Tint(ink, 0.2), plots.Corners(r))
			},
		},
	)
}

// axes returns the axes of a panel, with a row for the label above the data.
func (p *picture) axes(panel *panel, c draw.Canvas) *plot.Plot {
	const around = 85 // points that the text around the data takes, roughly
	height := max(40, float64(c.Size().Y)-around)
	span := panel.top - panel.bottom
	top := panel.top + 0.04*span
	if room := 0.04 * span; panel.bottom < 0 || panel.bottom > room {
		panel.bottom -= room
	} else {
		panel.bottom = 0
	}
	if panel.mark != nil {
		top = panel.bottom + (top-panel.bottom)/(1-min(0.5, 1.3*plots.LabelHeight/height))
	}
	g := plots.NewAxes()
	g.Y.Min, g.Y.Max = panel.bottom, top
	g.Y.Tick.Marker = plot.ConstantTicks(plots.ValueTicks(panel.bottom, panel.top, panel.unit,
		max(3, int(height/22))))
	first, last := panel.ends()
	g.X.Min, g.X.Max = first-0.5, last+0.5
	g.X.Tick.Marker = plot.ConstantTicks(plots.CountTicks(first, last, max(2, int(c.Size().X/70))))
	g.X.Label.Text = panel.each
	return g
}

// ends returns the numbers of the first and the last file.
func (p *panel) ends() (first, last float64) {
	for i, points := range [][]plots.Point{p.files, p.outside} {
		if len(points) == 0 {
			continue
		}
		if i == 0 || len(p.files) == 0 {
			first, last = points[0].X, points[len(points)-1].X
		}
		first, last = min(first, points[0].X), max(last, points[len(points)-1].X)
	}
	return first, last
}

func labelWidth(g *plot.Plot) vg.Length {
	widest := vg.Length(0)
	for _, t := range g.Y.Tick.Marker.Ticks(g.Y.Min, g.Y.Max) {
		widest = max(widest, g.Y.Tick.Label.Width(t.Label))
	}
	return widest
}

func (p *picture) drawPanel(c draw.Canvas, panel *panel, g *plot.Plot, left vg.Length) {
	c = p.DrawLine(c, plots.TextSize+1, panel.ink(), panel.title())
	c = p.DrawClauses(c, plots.TextSize, plots.Ink, sink.Line(panel.finding.Message), messageLines)
	c.Max.Y -= 3
	g.Add(
		plots.Layer(plots.DrawGrid),
		plots.Layer(func(c draw.Canvas, g *plot.Plot) { p.drawFiles(c, g, panel) }),
		plots.Layer(func(c draw.Canvas, g *plot.Plot) { p.drawOutside(c, g, panel) }),
		plots.Layer(func(c draw.Canvas, g *plot.Plot) { p.drawMark(c, g, panel) }),
	)
	g.Draw(draw.Crop(c, left-labelWidth(g), -4, 0, 0))
}

// messageLines is how many lines of a finding's message a panel shows.
const messageLines = 3

// ink returns the colour of a panel's title. A finding that is waived, or fails without gating,
// does not get the colour of its verdict.
func (p *panel) ink() color.Color {
	if p.finding.Waived != nil || p.finding.Verdict == check.Fail && !p.finding.Gates {
		return plots.Ink
	}
	return plots.VerdictInk(p.finding.Verdict)
}

// growthInk returns the colour of the fitted shape.
func (p *panel) growthInk() color.Color {
	if p.finding.Verdict == check.Fail {
		return plots.FailedColor
	}
	return plots.Ink
}

// dense reports whether a panel has too many files to draw a dot for each.
func (p *picture) dense(panel *panel) bool { return len(panel.files) > p.pixels }

// drawFiles draws the values, the confidence interval of the growth, and the fitted shape on top.
func (p *picture) drawFiles(c draw.Canvas, g *plot.Plot, panel *panel) {
	place := plots.Placing(g, &c)
	outline := func(low, high []plots.Point) []vg.Point {
		around := place(high)
		for _, at := range slices.Backward(place(low)) {
			around = append(around, at)
		}
		return c.ClipPolygonXY(around)
	}
	c.FillPolygon(plots.Tint(panel.growthInk(), 0.2),
		outline(plots.Thin(panel.low, p.pixels), plots.Thin(panel.high, p.pixels)))
	if p.dense(panel) {
		lows, highs := plots.Envelope(panel.files, p.pixels/2)
		c.FillPolygon(plots.Tint(plots.AllocatedColor, 0.3), outline(lows, highs))
		c.StrokeLines(draw.LineStyle{Color: plots.AllocatedColor, Width: 1}, place(lows),
			place(highs))
	} else {
		for _, at := range place(panel.files) {
			drawDot(c, at)
		}
	}
	c.StrokeLines(fittedStyle(panel.growthInk()),
		c.ClipLinesXY(place(plots.Thin(panel.fitted, p.pixels)))...)
}

// drawOutside draws outliers. An outlier beyond the axis becomes an arrow at the end of the axis.
func (p *picture) drawOutside(c draw.Canvas, g *plot.Plot, panel *panel) {
	x, y := g.Transforms(&c)
	for _, at := range plots.Thin(panel.outside, p.pixels/8) {
		switch {
		case at.Y > panel.top:
			drawArrow(c, vg.Point{X: x(at.X), Y: y(panel.top)}, 1)
		case at.Y < panel.bottom:
			drawArrow(c, vg.Point{X: x(at.X), Y: y(panel.bottom)}, -1)
		default:
			drawHollow(c, vg.Point{X: x(at.X), Y: y(at.Y)})
		}
	}
}

// drawMark labels the file at which growth begins to count.
func (p *picture) drawMark(c draw.Canvas, g *plot.Plot, panel *panel) {
	if panel.mark == nil {
		return
	}
	x, y := g.Transforms(&c)
	words := plots.Labels{Frame: c.Rectangle}
	words.Frame.Min.Y = y(panel.top) - plots.LabelPad
	at := vg.Point{X: x(panel.mark.X), Y: c.Min.Y}
	words.Place(plots.Ink, at, p.Encode(panel.mark.Text))
	words.Draw(c)
}

func fittedStyle(ink color.Color) draw.LineStyle { return draw.LineStyle{Color: ink, Width: 1.6} }

// drawDot draws the value of a file.
func drawDot(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{
		Color: plots.AllocatedColor, Radius: 2.2,
		Shape: draw.CircleGlyph{},
	}, at)
}

// drawHollow draws an outlier.
func drawHollow(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: 3.2, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: plots.AllocatedColor, Radius: 3.2, Shape: draw.RingGlyph{}},
		at)
}

// drawArrow draws an outlier above the axis, or below it.
func drawArrow(c draw.Canvas, tip vg.Point, up vg.Length) {
	const half, high = 4, 7
	triangle := []vg.Point{
		tip,
		{X: tip.X - half, Y: tip.Y - up*high},
		{X: tip.X + half, Y: tip.Y - up*high},
	}
	c.FillPolygon(color.White, triangle)
	c.StrokeLines(draw.LineStyle{Color: plots.AllocatedColor, Width: 1}, append(triangle, tip))
}
