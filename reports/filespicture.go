package reports

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/sink"
)

// A filesPicture is panels that are being drawn.
type filesPicture struct {
	page
	panels        []*filesPanel // those that are shown
	all           int           // with those that are not
	columns, rows int
	pixels        int // of a panel's data, across, about
}

// Bounds of the panels: the most there are, and pixels: the least that one needs, the height where it is left to the plot, and
// what is around them all.
const (
	filesPanelsMax                    = 6
	filesPanelWidth, filesPanelLeast  = 480, 200
	filesPanelHeight, filesPanelSpare = 290, 110
)

// arrange gives the panels their places, and the plot a height where it has none.
func (p *filesPicture) arrange(opts PlotOptions) PlotOptions {
	p.all = len(p.panels)
	p.columns = 1
	if p.all > 3 && opts.width() >= 2*filesPanelWidth {
		p.columns = 2
	}
	p.rows = (min(p.all, filesPanelsMax) + p.columns - 1) / p.columns
	if opts.Height == 0 {
		opts.Height = max(minHeight, filesPanelSpare+p.rows*filesPanelHeight)
	}
	p.rows = max(1, min(p.rows, (opts.Height-filesPanelSpare)/filesPanelLeast))
	p.panels = p.panels[:min(p.all, p.rows*p.columns)]
	p.pixels = opts.width()/p.columns - 140
	return opts
}

func (p *filesPicture) draw(c draw.Canvas, rep *check.Report) {
	c = blank(c)
	c = p.drawLine(c, textSize, verdictInk(rep.Verdict), strings.ToUpper(string(rep.Verdict))+": "+extent(rep))
	c.Max.Y -= 2
	c = p.drawLegend(c, p.legend())
	c.Max.Y -= 6
	var notes []string
	if len(p.panels) < p.all {
		notes = append(notes, fmt.Sprintf("Shown: %s of %s series, the worst first.", number(len(p.panels)), number(p.all)))
	}
	c = p.drawFoot(c, notes)
	tiles := draw.Tiles{Cols: p.columns, Rows: p.rows, PadX: 24, PadY: 14}
	left := make([]vg.Length, p.columns) // the widest words of the y axes of a column
	axes := make([]*plot.Plot, len(p.panels))
	for i, panel := range p.panels {
		axes[i] = p.axes(panel, tiles.At(c, i%p.columns, i/p.columns))
		left[i%p.columns] = max(left[i%p.columns], labelWidth(axes[i]))
	}
	for i, panel := range p.panels {
		p.drawPanel(tiles.At(c, i%p.columns, i/p.columns), panel, axes[i], left[i%p.columns])
	}
}

func (p *filesPicture) legend() []legendEntry {
	has := func(f func(*filesPanel) bool) bool { return slices.ContainsFunc(p.panels, f) }
	var out []legendEntry
	if has(func(panel *filesPanel) bool { return !p.dense(panel) }) {
		out = append(out, legendEntry{"a " + p.panels[0].each, func(c draw.Canvas, r vg.Rectangle) { drawDot(c, middle(r)) }})
	}
	if has(p.dense) {
		out = append(out, legendEntry{"many files (lowest to highest)", func(c draw.Canvas, r vg.Rectangle) {
			drawBandThumb(c, r, allocatedColor)
		}})
	}
	if has(func(panel *filesPanel) bool { return len(panel.outside) > 0 }) {
		out = append(out, legendEntry{"outlier, left out", func(c draw.Canvas, r vg.Rectangle) { drawHollow(c, middle(r)) }})
	}
	ink := p.panels[0].growthInk()
	return append(out,
		legendEntry{"what was found", func(c draw.Canvas, r vg.Rectangle) {
			y := middle(r).Y
			c.StrokeLine2(fittedStyle(ink), r.Min.X, y, r.Max.X, y)
		}},
		legendEntry{"growth, 95 % interval", func(c draw.Canvas, r vg.Rectangle) { c.FillPolygon(tint(ink, 0.2), corners(r)) }},
	)
}

// axes are a panel's, of which the words above the data take a row.
func (p *filesPicture) axes(panel *filesPanel, c draw.Canvas) *plot.Plot {
	const around = 85 // points that the words around the data take, about
	height := max(40, float64(c.Size().Y)-around)
	span := panel.top - panel.bottom
	top := panel.top + 0.04*span
	if room := 0.04 * span; panel.bottom < 0 || panel.bottom > room {
		panel.bottom -= room
	} else {
		panel.bottom = 0
	}
	if panel.mark != nil {
		top = panel.bottom + (top-panel.bottom)/(1-min(0.5, 1.3*labelHeight/height))
	}
	g := newAxes()
	g.Y.Min, g.Y.Max = panel.bottom, top
	g.Y.Tick.Marker = plot.ConstantTicks(valueTicks(panel.bottom, panel.top, panel.unit, max(3, int(height/22))))
	first, last := panel.ends()
	g.X.Min, g.X.Max = first-0.5, last+0.5
	g.X.Tick.Marker = plot.ConstantTicks(countTicks(first, last, max(2, int(c.Size().X/70))))
	g.X.Label.Text = panel.each
	return g
}

// ends are the numbers of the first and the last file.
func (p *filesPanel) ends() (first, last float64) {
	for i, points := range [][]point{p.files, p.outside} {
		if len(points) == 0 {
			continue
		}
		if i == 0 || len(p.files) == 0 {
			first, last = points[0].x, points[len(points)-1].x
		}
		first, last = min(first, points[0].x), max(last, points[len(points)-1].x)
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

func (p *filesPicture) drawPanel(c draw.Canvas, panel *filesPanel, g *plot.Plot, left vg.Length) {
	c = p.drawLine(c, textSize+1, panel.ink(), panel.title())
	sty := textStyle(textSize, inkColor, text.XLeft, text.YTop)
	for _, line := range message(sty, sink.Line(panel.finding.Message), c.Size().X) {
		c = p.drawLine(c, textSize, inkColor, line)
	}
	c.Max.Y -= 3
	g.Add(
		layer(drawGrid),
		layer(func(c draw.Canvas, g *plot.Plot) { p.drawFiles(c, g, panel) }),
		layer(func(c draw.Canvas, g *plot.Plot) { p.drawOutside(c, g, panel) }),
		layer(func(c draw.Canvas, g *plot.Plot) { p.drawMark(c, g, panel) }),
	)
	g.Draw(draw.Crop(c, left-labelWidth(g), -4, 0, 0))
}

// messageLines is how many lines of a finding's message a panel has.
const messageLines = 3

// message is what fits of a finding's: as many of its parts as have room.
func message(sty text.Style, s string, width vg.Length) []string {
	parts := strings.Split(s, "; ")
	for n := len(parts); n > 1; n-- {
		if lines := wrapped(sty, strings.Join(parts[:n], "; "), width); len(lines) <= messageLines {
			return lines
		}
	}
	lines := wrapped(sty, parts[0], width)
	if last := messageLines - 1; len(lines) > messageLines {
		lines = append(lines[:last:last], fit(sty, strings.Join(lines[last:], " "), width))
	}
	return lines
}

// wrapped breaks text into lines at its blanks.
func wrapped(sty text.Style, s string, width vg.Length) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(s, " ") {
		switch longer := line + " " + word; {
		case line == "":
			line = word
		case sty.Width(longer) > width:
			lines, line = append(lines, line), word
		default:
			line = longer
		}
	}
	return append(lines, line)
}

// ink is the colour of a panel's verdict: noted is not failed.
func (p *filesPanel) ink() color.Color {
	if p.finding.Verdict == check.Fail && !p.finding.Gates {
		return inkColor
	}
	return verdictInk(p.finding.Verdict)
}

// growthInk is the colour of what was found.
func (p *filesPanel) growthInk() color.Color {
	if p.finding.Verdict == check.Fail {
		return failedColor
	}
	return inkColor
}

// dense says that there are more files than their dots have room.
func (p *filesPicture) dense(panel *filesPanel) bool { return len(panel.files) > p.pixels }

// drawFiles draws the values, the bounds of the growth, and over them what was found.
func (p *filesPicture) drawFiles(c draw.Canvas, g *plot.Plot, panel *filesPanel) {
	x, y := g.Transforms(&c)
	place := func(points []point) []vg.Point {
		out := make([]vg.Point, len(points))
		for i, at := range points {
			out[i] = vg.Point{X: x(at.x), Y: y(at.y)}
		}
		return out
	}
	outline := func(low, high []point) []vg.Point {
		around := place(high)
		for _, at := range slices.Backward(place(low)) {
			around = append(around, at)
		}
		return c.ClipPolygonXY(around)
	}
	c.FillPolygon(tint(panel.growthInk(), 0.2), outline(thin(panel.low, p.pixels), thin(panel.high, p.pixels)))
	if p.dense(panel) {
		lows, highs := envelope(panel.files, p.pixels/2)
		c.FillPolygon(tint(allocatedColor, 0.3), outline(lows, highs))
		c.StrokeLines(draw.LineStyle{Color: allocatedColor, Width: 1}, place(lows), place(highs))
	} else {
		for _, at := range place(panel.files) {
			drawDot(c, at)
		}
	}
	c.StrokeLines(fittedStyle(panel.growthInk()), c.ClipLinesXY(place(thin(panel.fitted, p.pixels)))...)
}

// drawOutside draws outliers; what lies outside of the axis at its edge, as an arrow.
func (p *filesPicture) drawOutside(c draw.Canvas, g *plot.Plot, panel *filesPanel) {
	x, y := g.Transforms(&c)
	for _, at := range thin(panel.outside, p.pixels/8) {
		switch {
		case at.y > panel.top:
			drawArrow(c, vg.Point{X: x(at.x), Y: y(panel.top)}, 1)
		case at.y < panel.bottom:
			drawArrow(c, vg.Point{X: x(at.x), Y: y(panel.bottom)}, -1)
		default:
			drawHollow(c, vg.Point{X: x(at.x), Y: y(at.y)})
		}
	}
}

// drawMark draws where growth counts from, with its words above the data.
func (p *filesPicture) drawMark(c draw.Canvas, g *plot.Plot, panel *filesPanel) {
	if panel.mark == nil {
		return
	}
	x, y := g.Transforms(&c)
	words := labels{frame: c.Rectangle}
	words.frame.Min.Y = y(panel.top) - labelPad
	at := vg.Point{X: x(panel.mark.x), Y: c.Min.Y}
	words.place(inkColor, at, p.encode(panel.mark.text))
	words.draw(c)
}

func fittedStyle(ink color.Color) draw.LineStyle { return draw.LineStyle{Color: ink, Width: 1.6} }

// drawDot is the value of a file.
func drawDot(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: allocatedColor, Radius: 2.2, Shape: draw.CircleGlyph{}}, at)
}

// drawHollow is an outlier.
func drawHollow(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: 3.2, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: allocatedColor, Radius: 3.2, Shape: draw.RingGlyph{}}, at)
}

// drawArrow is an outlier above the axis, or below it.
func drawArrow(c draw.Canvas, tip vg.Point, up vg.Length) {
	const half, high = 4, 7
	triangle := []vg.Point{tip, {X: tip.X - half, Y: tip.Y - up*high}, {X: tip.X + half, Y: tip.Y - up*high}}
	c.FillPolygon(color.White, triangle)
	c.StrokeLines(draw.LineStyle{Color: allocatedColor, Width: 1}, append(triangle, tip))
}
