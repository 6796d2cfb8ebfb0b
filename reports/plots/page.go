package plots

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// DrawCross draws the cross that marks a failed recovery.
func DrawCross(c draw.Canvas, at vg.Point) {
	const r = 4.5
	for _, s := range []draw.LineStyle{
		{Color: color.White, Width: 4.5},
		{Color: FailedColor, Width: 2.2},
	} {
		c.StrokeLine2(s, at.X-r, at.Y-r, at.X+r, at.Y+r)
		c.StrokeLine2(s, at.X-r, at.Y+r, at.X+r, at.Y-r)
	}
}

// MarkHeight is the height, in typographic points, of the triangles that mark the high-water mark
// and failed allocations.
const MarkHeight = 10

// A Layer is a function that draws a part of the picture over the area of the data.
type Layer func(c draw.Canvas, p *plot.Plot)

// Plot implements [plot.Plotter].
func (l Layer) Plot(c draw.Canvas, p *plot.Plot) { l(c, p) }

// A Page draws the parts that every plot has around its data.
type Page struct {
	Encode func(string) string // the function encode of [Draw]
}

// Margins is the width of the margins of a canvas at its left and right, in points.
const Margins = 28

// Blank makes the canvas white, and returns it without its margin.
func Blank(c draw.Canvas) draw.Canvas {
	c.SetColor(color.White)
	c.Fill(c.Path())
	return draw.Crop(c, Margins/2, -Margins/2, 10, -12)
}

// DrawLine draws a line of text at the top of the canvas, and returns the rest of the canvas.
func (p *Page) DrawLine(c draw.Canvas, size vg.Length, ink color.Color, s string) draw.Canvas {
	sty := Text(size, ink, text.XLeft, text.YTop)
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, p.Encode(Fit(sty, s, c.Size().X)))
	c.Max.Y -= size * 1.45
	return c
}

// DrawTitle draws a title at the top of the canvas, and returns the rest of the canvas. A long
// title is wrapped. Its text becomes smaller before it takes more than two lines, or at once if
// small is set.
func (p *Page) DrawTitle(c draw.Canvas, ink color.Color, s string, small bool) draw.Canvas {
	size := vg.Length(TitleSize)
	if small {
		size = TextSize
	}
	for ; size > TextSize; size -= 2 {
		if len(Wrap(Text(size, ink, text.XLeft, text.YTop), s, c.Size().X)) <= 2 {
			break
		}
	}
	const most = 4
	lines := Wrap(Text(size, ink, text.XLeft, text.YTop), s, c.Size().X)
	if len(lines) > most {
		lines = append(lines[:most-1:most-1], strings.Join(lines[most-1:], " "))
	}
	for _, line := range lines {
		c = p.DrawLine(c, size, ink, line)
	}
	return c
}

// DrawClauses draws as many clauses of a text as fit into at most `most` lines, and returns the
// rest of the canvas. See [Clauses].
func (p *Page) DrawClauses(c draw.Canvas, size vg.Length, ink color.Color, s string, most int,
) draw.Canvas {
	for _, line := range Clauses(Text(size, ink, text.XLeft, text.YTop), s, c.Size().X, most) {
		c = p.DrawLine(c, size, ink, line)
	}
	return c
}

// DrawFoot draws the notes below the plot, and returns the rest of the canvas.
func (p *Page) DrawFoot(c draw.Canvas, notes []string) draw.Canvas {
	sty := Text(SmallSize, SoftInk, text.XLeft, text.YBottom)
	for _, n := range slices.Backward(notes) {
		for _, line := range slices.Backward(Clauses(sty, n, c.Size().X, 2)) {
			c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Min.Y + sty.FontExtents().Descent},
				p.Encode(line))
			c.Min.Y += SmallSize * 1.4
		}
	}
	if len(notes) > 0 {
		c.Min.Y += 4
	}
	return c
}

// A LegendEntry is a name in the legend, and the small drawing that the name explains.
type LegendEntry struct {
	Name  string
	Thumb func(c draw.Canvas, r vg.Rectangle)
}

// DrawLegend draws the entries in as many rows as they need, and returns the rest of the canvas.
func (p *Page) DrawLegend(c draw.Canvas, entries []LegendEntry) draw.Canvas {
	const swatch, gap, row = 22, 18, TextSize * 1.5
	sty := Text(TextSize, Ink, text.XLeft, text.YCenter)
	x, y := c.Min.X, c.Max.Y-row/2
	for _, e := range entries {
		name := Fit(sty, e.Name, c.Size().X-swatch-gap)
		width := swatch + 5 + sty.Width(name)
		if x > c.Min.X && x+width > c.Max.X {
			x, y = c.Min.X, y-row
		}
		e.Thumb(c, vg.Rectangle{
			Min: vg.Point{X: x, Y: y - 5},
			Max: vg.Point{X: x + swatch, Y: y + 5},
		})
		c.FillText(sty, vg.Point{X: x + swatch + 5, Y: y}, p.Encode(name))
		x += width + gap
	}
	c.Max.Y = y - row/2 - 4
	return c
}

// DrawBandThumb draws a band between two lines, for a legend.
func DrawBandThumb(c draw.Canvas, r vg.Rectangle, ink color.Color) {
	c.FillPolygon(Tint(ink, 0.3), Corners(r))
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, r.Min.X, r.Max.Y, r.Max.X, r.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, r.Min.X, r.Min.Y, r.Max.X, r.Min.Y)
}

// Middle returns the centre of a rectangle.
func Middle(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}
