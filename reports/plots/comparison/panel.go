package comparison

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
)

// drawPanel draws one metric file by file: the value in the base, and in the new run.
func (p *picture) drawPanel(c draw.Canvas, panel *panel) {
	c = p.DrawLine(c, plots.TextSize+1, plots.VerdictInk(panel.verdict), panel.title())
	c.Max.Y -= 3
	low, high := panel.bounds()
	g := plots.NewAxes()
	g.Y.Min, g.Y.Max = low, high
	g.Y.Label.Text = panel.axis
	g.Y.Tick.Marker = plot.ConstantTicks(plots.ValueTicks(low, high, panel.unit,
		max(3, int(c.Size().Y/30))))
	first, last := panel.ends()
	g.X.Min, g.X.Max = first-0.5, last+0.5
	g.X.Tick.Marker = plot.ConstantTicks(plots.CountTicks(first, last, max(2, int(c.Size().X/70))))
	g.X.Label.Text = "file"
	g.Add(plots.Layer(plots.DrawGrid), plots.Layer(func(c draw.Canvas, g *plot.Plot) {
		p.drawFiles(c, g, panel)
	}))
	g.Draw(draw.Crop(c, 0, -4, 0, 0))
}

// bounds returns the ends of the y axis. The axis need not begin at 0, because a change may be only
// a hundredth of the level. It is at least a fiftieth of the level long, so that noise looks small.
func (p *panel) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, points := range [][]plots.Point{p.base, p.new} {
		for _, at := range points {
			low, high = min(low, at.Y), max(high, at.Y)
		}
	}
	negative := low < 0
	room := 0.06 * (high - low)
	if least := 0.02 * max(math.Abs(low), math.Abs(high)); high-low < least {
		room = (least - (high - low)) / 2
	}
	if p.unit == check.Count { // whole numbers
		room = max(room, 2-(high-low)/2)
	}
	if room == 0 {
		room = 1
	}
	if low -= room; low < 0 && !negative {
		low = 0
	}
	return low, high + room
}

// ends returns the numbers of the first and the last file.
func (p *panel) ends() (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, points := range [][]plots.Point{p.base, p.new} {
		for _, at := range points {
			first, last = min(first, at.X), max(last, at.X)
		}
	}
	return first, last
}

// dense reports whether a panel has too many files to draw a dot for each.
func (p *picture) dense(panel *panel) bool { return len(panel.new) > p.pixels/2 }

// drawFiles draws a dot for each file of each run. A line joins the two dots of one file. If there
// is no room, it draws the band between the lowest and the highest value of neighbouring files.
func (p *picture) drawFiles(c draw.Canvas, g *plot.Plot, panel *panel) {
	place := plots.Placing(g, &c)
	if p.dense(panel) {
		for _, run := range []struct {
			points []plots.Point
			ink    color.Color
		}{{panel.base, baseColor}, {panel.new, newColor}} {
			lows, highs := plots.Envelope(run.points, p.pixels/3)
			low, high := place(lows), place(highs)
			around := slices.Clone(high)
			for _, at := range slices.Backward(low) {
				around = append(around, at)
			}
			c.FillPolygon(plots.Tint(run.ink, 0.3), around)
			c.StrokeLines(draw.LineStyle{Color: run.ink, Width: 1}, low, high)
		}
		return
	}
	base, now := place(panel.base), place(panel.new)
	if panel.paired {
		for i := range base {
			c.StrokeLine2(draw.LineStyle{Color: plots.Tint(plots.SoftInk, 0.5), Width: 0.9},
				base[i].X, base[i].Y, now[i].X, now[i].Y)
		}
	}
	for _, at := range base {
		drawBase(c, at)
	}
	for _, at := range now {
		drawNew(c, at)
	}
}

// The colours of the two runs differ in lightness too.
var baseColor, newColor = plots.ReservedColor, plots.AllocatedColor

func drawBase(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: baseColor, Radius: 3.2, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: plots.Paper, Radius: 1.8, Shape: draw.CircleGlyph{}}, at)
}

func drawNew(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: newColor, Radius: 2.4, Shape: draw.CircleGlyph{}}, at)
}
