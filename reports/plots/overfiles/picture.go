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
	panels []*panel // the panels that are shown
	rows   []row
}

// A row of panels is `weight` times as high as a row of small ones.
type row struct {
	panels []*panel
	weight vg.Length
}

// panelsMax is the most panels in a picture. The other sizes are in pixels: the least width and
// height of a panel, the height of a panel if the plot's height is 0, and the height of everything
// around the panels. A series that fails has a panel over the whole width, bigWeight times as high
// as the others, unless more than bigMost series fail.
const (
	panelsMax               = 6
	panelWidth, panelLeast  = 480, 200
	panelHeight, panelSpare = 290, 120
	bigWeight, bigMost      = 1.4, 2
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
	columns := 1
	if len(p.panels) > 3 && opts.PixelsWide() >= 2*panelWidth {
		columns = 2
	}
	big := 0
	for big < len(p.panels) && p.panels[big].fails() {
		big++
	}
	if big > bigMost {
		big = 0
	}
	for one := range slices.Chunk(p.panels[:big], 1) {
		p.rows = append(p.rows, row{one, bigWeight})
	}
	small := p.panels[big:]
	if big > 0 && columns == 2 {
		small = small[:min(len(small), panelsMax-2)]
	}
	for pair := range slices.Chunk(small, columns) {
		p.rows = append(p.rows, row{pair, 1})
	}
	if opts.Height == 0 {
		opts.Height = max(plots.MinHeight, panelSpare+int(p.weight()*panelHeight))
	}
	for len(p.rows) > 1 && panelSpare+int(p.weight()*panelLeast) > opts.Height {
		p.rows = p.rows[:len(p.rows)-1]
	}
	p.panels = nil
	for _, r := range p.rows {
		p.panels = append(p.panels, r.panels...)
		for _, panel := range r.panels {
			panel.pixels = opts.PixelsWide()/len(r.panels) - 140
			if len(r.panels) < columns && r.weight == 1 {
				panel.pixels = opts.PixelsWide()/columns - 140
			}
		}
	}
	return opts
}

// weight returns the height of all rows, in rows of small panels.
func (p *picture) weight() vg.Length {
	sum := vg.Length(0)
	for _, r := range p.rows {
		sum += r.weight
	}
	return sum
}

func (p *picture) draw(c draw.Canvas) {
	c = plots.Blank(c)
	c = p.DrawTitle(c, plots.VerdictInk(p.verdict), p.headline, false)
	c = p.DrawClauses(c, plots.TextSize, plots.SoftInk, p.extent, 1)
	c.Max.Y -= 2
	c = p.DrawLegend(c, p.legend())
	c.Max.Y -= 6
	var notes []string
	if n := len(p.panels); n < p.all {
		notes = append(notes, fmt.Sprintf("Shown: %s of %s series, the worst first.",
			wording.Count(n), wording.Count(p.all)))
	}
	if p.partial {
		notes = append(notes, "Processes are judged one by one: each panel shows the files of the "+
			"process that decided its verdict.")
	}
	c = p.DrawFoot(c, notes)
	p.drawRows(c)
}

// drawRows draws the panels. The y axes of panels below each other begin at the same x.
func (p *picture) drawRows(c draw.Canvas) {
	const between, below = 24, 14
	columns := 1
	for _, r := range p.rows {
		columns = max(columns, len(r.panels))
	}
	unit := (c.Size().Y - below*vg.Length(len(p.rows)-1)) / p.weight()
	half := (c.Size().X - between) / 2
	type placed struct {
		*panel
		on   draw.Canvas
		axes *plot.Plot
		side int
	}
	var all []placed
	var left [2]vg.Length // the widest label of the y axes, on each side
	top := c.Max.Y
	for _, r := range p.rows {
		for side, panel := range r.panels {
			on := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: c.Min.X, Y: top - unit*r.weight},
				Max: vg.Point{X: c.Max.X, Y: top},
			}}
			if columns == 2 && r.weight == 1 {
				on.Min.X += vg.Length(side) * (half + between)
				on.Max.X = on.Min.X + half
			}
			axes := p.axes(panel, on)
			left[side] = max(left[side], labelWidth(axes))
			all = append(all, placed{panel, on, axes, side})
		}
		top -= unit*r.weight + below
	}
	for _, at := range all {
		p.drawPanel(at.on, at.panel, at.axes, left[at.side])
	}
}

func (p *picture) legend() []plots.LegendEntry {
	has := func(f func(*panel) bool) bool { return slices.ContainsFunc(p.panels, f) }
	var out []plots.LegendEntry
	if has(func(panel *panel) bool { return !panel.dense() }) {
		out = append(out, plots.LegendEntry{
			Name:  "a " + p.panels[0].each,
			Thumb: func(c draw.Canvas, r vg.Rectangle) { drawDot(c, plots.Middle(r)) },
		})
	}
	if has((*panel).dense) {
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
	if n := float64(len(panel.marks)); n > 0 {
		top = panel.bottom + (top-panel.bottom)/(1-min(0.5, (n+0.6)*plots.LabelHeight/height))
	}
	g := plots.NewAxes()
	g.Y.Min, g.Y.Max = panel.bottom, top
	g.Y.Tick.Marker = plot.ConstantTicks(plots.ValueTicks(panel.bottom, panel.top, panel.unit,
		max(3, int(height/22))))
	first, last := panel.ends()
	g.X.Min, g.X.Max = first-0.5, last+0.5
	g.X.Tick.Marker = plot.ConstantTicks(plots.CountTicks(first, last, max(2, int(c.Size().X/70))))
	g.X.Label.Text = panel.each
	g.Y.Label.Text = panel.axis()
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
	if g.Y.Label.Text != "" {
		widest += g.Y.Label.TextStyle.Height(g.Y.Label.Text) + g.Y.Label.Padding
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
		plots.Layer(func(c draw.Canvas, g *plot.Plot) { p.drawMarks(c, g, panel) }),
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
func (p *panel) dense() bool { return len(p.files) > p.pixels }

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
		outline(plots.Thin(panel.low, panel.pixels), plots.Thin(panel.high, panel.pixels)))
	if panel.dense() {
		lows, highs := plots.Envelope(panel.files, panel.pixels/2)
		c.FillPolygon(plots.Tint(plots.AllocatedColor, 0.3), outline(lows, highs))
		c.StrokeLines(draw.LineStyle{Color: plots.AllocatedColor, Width: 1}, place(lows),
			place(highs))
	} else {
		for _, at := range place(panel.files) {
			drawDot(c, at)
		}
	}
	c.StrokeLines(fittedStyle(panel.growthInk()),
		c.ClipLinesXY(place(plots.Thin(panel.fitted, panel.pixels)))...)
}

// drawOutside draws outliers. An outlier beyond the axis becomes an arrow at the end of the axis.
func (p *picture) drawOutside(c draw.Canvas, g *plot.Plot, panel *panel) {
	x, y := g.Transforms(&c)
	for _, at := range plots.Thin(panel.outside, panel.pixels/8) {
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

// drawMarks labels the files at which the series changes.
func (p *picture) drawMarks(c draw.Canvas, g *plot.Plot, panel *panel) {
	x, y := g.Transforms(&c)
	words := plots.Labels{Frame: c.Rectangle}
	words.Frame.Min.Y = y(panel.top)
	for _, mark := range panel.marks {
		words.Place(plots.Ink, vg.Point{X: x(mark.X), Y: c.Min.Y}, p.Encode(mark.Text))
	}
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
