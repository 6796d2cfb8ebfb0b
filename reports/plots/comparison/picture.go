package comparison

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// A picture is a chart that is being drawn.
type picture struct {
	*Chart
	plots.Page
	columns, rowsOfPanels int
	pixels                int // the width of a panel's data, roughly
}

// Sizes: of a row of the upper part and of the axis below it in points, and of a panel and of
// everything around the parts in pixels.
const (
	rowHeight, axisHeight  = 19, 46
	panelWidth, panelLeast = 480, 190
	panelHeight, around    = 270, 150
	pointsAPixel           = 0.75
)

// arrange places the panels, and chooses the plot's height if it is 0. A low plot has fewer panels
// or none.
func (p *picture) arrange(opts plots.Options) plots.Options {
	p.columns = 1
	if len(p.panels) > 1 && opts.PixelsWide() >= 2*panelWidth {
		p.columns = 2
	}
	p.rowsOfPanels = (len(p.panels) + p.columns - 1) / p.columns
	above := around
	if len(p.rows) > 0 {
		above += int((rowHeight*float64(len(p.rows)) + axisHeight) / pointsAPixel)
	}
	if opts.Height == 0 {
		opts.Height = max(plots.MinHeight, above+panelHeight*p.rowsOfPanels)
	}
	for p.rowsOfPanels > 0 && len(p.rows) > 0 && above+panelLeast*p.rowsOfPanels > opts.Height {
		p.rowsOfPanels--
	}
	p.pixels = opts.PixelsWide()/p.columns - 140
	return opts
}

func (p *picture) draw(c draw.Canvas) {
	c = plots.Blank(c)
	c = p.DrawTitle(c, plots.VerdictInk(p.verdict), p.title, false)
	for _, run := range p.runs {
		c = p.DrawLine(c, plots.TextSize, plots.SoftInk, run)
	}
	c.Max.Y -= 4
	c = p.DrawLegend(c, p.legend())
	c.Max.Y -= 4
	shown := min(len(p.panels), p.columns*p.rowsOfPanels)
	if len(p.rows) > 0 {
		space := c.Size().Y - panelLeast*pointsAPixel*vg.Length(p.rowsOfPanels)
		n := max(1, min(len(p.rows), int((space-axisHeight)/rowHeight)))
		if n < p.judged {
			c = p.DrawFoot(c, []string{fmt.Sprintf("Shown: %s of %s metrics, the worst first.",
				wording.Count(n), wording.Count(p.judged))})
		}
		c = p.drawRows(c, p.rows[:n])
	}
	if shown == 0 {
		return
	}
	tiles := draw.Tiles{Cols: p.columns, Rows: p.rowsOfPanels, PadX: 24, PadY: 12}
	for i, panel := range p.panels[:shown] {
		p.drawPanel(tiles.At(c, i%p.columns, i/p.columns), panel)
	}
}

func (p *picture) legend() []plots.LegendEntry {
	dot := func(d func(draw.Canvas, vg.Point)) func(draw.Canvas, vg.Rectangle) {
		return func(c draw.Canvas, r vg.Rectangle) { d(c, plots.Middle(r)) }
	}
	var out []plots.LegendEntry
	if len(p.rows) > 0 {
		out = append(out, plots.LegendEntry{
			Name: "a typical file, 95 % interval",
			Thumb: func(c draw.Canvas, r vg.Rectangle) {
				y := plots.Middle(r).Y
				drawInterval(c, plots.Ink, r.Min.X, r.Max.X, y)
				drawPoint(c, plots.Ink, plots.Middle(r))
			},
		}, plots.LegendEntry{
			Name: "the limit", Thumb: func(c draw.Canvas, r vg.Rectangle) {
				x := plots.Middle(r).X
				c.StrokeLine2(limitStyle, x, r.Min.Y, x, r.Max.Y)
			},
		})
	}
	band := func(ink color.Color) func(draw.Canvas, vg.Rectangle) {
		return func(c draw.Canvas, r vg.Rectangle) { plots.DrawBandThumb(c, r, ink) }
	}
	shown := p.panels[:min(len(p.panels), p.columns*p.rowsOfPanels)]
	if slices.ContainsFunc(shown, func(panel *panel) bool { return !p.dense(panel) }) {
		out = append(out, plots.LegendEntry{Name: "a file of the base", Thumb: dot(drawBase)},
			plots.LegendEntry{Name: "a file of the new run", Thumb: dot(drawNew)})
	}
	if slices.ContainsFunc(shown, p.dense) {
		out = append(out,
			plots.LegendEntry{Name: "files of the base (lowest to highest)", Thumb: band(baseColor)},
			plots.LegendEntry{
				Name: "files of the new run (lowest to highest)", Thumb: band(newColor),
			})
	}
	return out
}

var limitStyle = draw.LineStyle{
	Color: plots.FailedColor, Width: 1.4,
	Dashes: []vg.Length{5, 3},
}

// An axis gives the place of a change, in limits. It is linear up to about the limit, and
// logarithmic beyond, because one metric may change by a hundred limits and another by half of one.
type axis struct {
	from, to    vg.Length
	least, most float64 // the ends, in limits
}

// newAxis returns an axis for rows. A change that is infinitely many limits lies at its end.
func newAxis(rows []row, from, to vg.Length) axis {
	a := axis{from, to, -2, 3}
	for _, r := range rows {
		for _, v := range []float64{r.worse, r.low, r.high} {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				a.least, a.most = min(a.least, 1.2*v), max(a.most, 1.2*v)
			}
		}
	}
	return a
}

func (a axis) x(limits float64) vg.Length {
	limits = max(a.least, min(a.most, limits))
	from, to := math.Asinh(a.least), math.Asinh(a.most)
	return a.from + vg.Length((math.Asinh(limits)-from)/(to-from))*(a.to-a.from)
}

// drawRows draws how much each metric changed, and returns the rest of the canvas. If there is no
// room for the medians beside the change, they are left out.
func (p *picture) drawRows(c draw.Canvas, rows []row) draw.Canvas {
	name := plots.Text(plots.TextSize, plots.Ink, text.XLeft, text.YCenter)
	values := func(r row) string { return r.medians + ": " + r.change }
	widest := func(of func(row) string) (width vg.Length) {
		for _, r := range rows {
			width = max(width, name.Width(of(r)))
		}
		return width
	}
	names := min(widest(func(r row) string { return r.name }), 0.28*c.Size().X)
	if widest(values) > 0.38*c.Size().X {
		values = func(r row) string { return r.change }
	}
	changes := min(widest(values), 0.42*c.Size().X)
	data := vg.Rectangle{
		Min: vg.Point{X: c.Min.X + names + 14, Y: c.Max.Y - rowHeight*vg.Length(len(rows))},
		Max: vg.Point{X: c.Max.X - changes - 18, Y: c.Max.Y},
	}
	a := newAxis(rows, data.Min.X, data.Max.X)
	p.drawLimits(c, data, a)
	for i, r := range rows {
		y := data.Max.Y - rowHeight*(vg.Length(i)+0.5)
		ink := plots.VerdictInk(r.verdict)
		name.Color = ink
		c.FillText(name, vg.Point{X: c.Min.X, Y: y}, p.Encode(plots.Fit(name, r.name, names)))
		name.Color = plots.Ink
		c.FillText(name, vg.Point{X: data.Max.X + 14, Y: y},
			p.Encode(plots.Fit(name, values(r), changes)))
		if !math.IsNaN(r.low) {
			drawInterval(c, ink, a.x(r.low), a.x(r.high), y)
		}
		at := vg.Point{X: a.x(r.worse), Y: y}
		if math.IsInf(r.worse, 0) {
			drawArrow(c, ink, at, vg.Length(math.Copysign(1, r.worse)))
		} else {
			drawPoint(c, ink, at)
		}
	}
	c.Max.Y = data.Min.Y - axisHeight
	return c
}

// drawLimits draws the axis of the rows: no change, the limit and its multiples.
func (p *picture) drawLimits(c draw.Canvas, data vg.Rectangle, a axis) {
	below := plots.Text(plots.TextSize, plots.Ink, text.XCenter, text.YTop)
	var taken plots.Labels
	tick := func(at float64, label string, style draw.LineStyle) {
		x := a.x(at)
		c.StrokeLine2(style, x, data.Min.Y, x, data.Max.Y)
		half := below.Width(label)/2 + 4
		box := vg.Rectangle{Min: vg.Point{X: x - half}, Max: vg.Point{X: x + half, Y: 1}}
		if taken.Overlapped(box) == nil {
			taken.Taken = append(taken.Taken, box)
			c.FillText(below, vg.Point{X: x, Y: data.Min.Y - 4}, p.Encode(label))
		}
	}
	tick(0, "no change", draw.LineStyle{Color: plots.SoftInk, Width: 1})
	tick(1, "limit", limitStyle)
	grid := draw.LineStyle{Color: plots.GridColor, Width: 0.8}
	for times := 10; float64(times) <= max(a.most, -a.least); times *= 10 {
		for _, at := range []int{times, -times} {
			if float64(at) <= a.most && float64(at) >= a.least {
				tick(float64(at), wording.Count(at)+" x limit", grid)
			}
		}
	}
	c.StrokeLine2(draw.LineStyle{Color: plots.SoftInk, Width: 0.8}, data.Min.X, data.Min.Y,
		data.Max.X, data.Min.Y)
	caption := plots.Text(plots.TextSize, plots.Ink, text.XLeft, text.YTop)
	y := data.Min.Y - 4 - 1.4*plots.TextSize
	c.FillText(caption, vg.Point{X: data.Min.X, Y: y}, p.Encode("better"))
	caption.XAlign = text.XRight
	c.FillText(caption, vg.Point{X: data.Max.X, Y: y}, p.Encode("worse"))
}

func drawInterval(c draw.Canvas, ink color.Color, from, to, y vg.Length) {
	style := draw.LineStyle{Color: ink, Width: 1.6}
	c.StrokeLine2(style, from, y, to, y)
	for _, x := range []vg.Length{from, to} {
		c.StrokeLine2(style, x, y-3.5, x, y+3.5)
	}
}

func drawPoint(c draw.Canvas, ink color.Color, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: 3.2, Shape: draw.CircleGlyph{}}, at)
}

// drawArrow draws a change beyond the axis.
func drawArrow(c draw.Canvas, ink color.Color, tip vg.Point, right vg.Length) {
	const half, long = 4.5, 9
	c.FillPolygon(ink, []vg.Point{
		tip, {X: tip.X - right*long, Y: tip.Y + half}, {X: tip.X - right*long, Y: tip.Y - half},
	})
}
