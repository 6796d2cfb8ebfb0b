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

// The palette is Okabe and Ito's, which is told apart with any colour vision (Color Universal Design, 2008).
var (
	allocatedColor = color.NRGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF}
	reservedColor  = color.NRGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF}
	usedColor      = color.NRGBA{R: 0x00, G: 0x9E, B: 0x73, A: 0xFF}
	rssColor       = color.NRGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF}
	failedColor    = color.NRGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF}

	inkColor  = color.Gray{Y: 0x20}
	softColor = color.Gray{Y: 0x60}
	gridColor = color.Gray{Y: 0xE6}
	bandColor = color.Gray{Y: 0xF4}

	stageColors = []color.NRGBA{
		{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF},
		{R: 0xF0, G: 0xE4, B: 0x42, A: 0xFF},
		{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF},
		{R: 0x99, G: 0x99, B: 0x99, A: 0xFF},
		{R: 0x8C, G: 0xD1, B: 0xB9, A: 0xFF},
	}
)

// Sizes of type, in points.
const (
	titleSize = 15
	textSize  = 11
	smallSize = 10
)

// layer is a part of the picture that is drawn over the data's area.
type layer func(c draw.Canvas, p *plot.Plot)

// Plot implements [plot.Plotter].
func (l layer) Plot(c draw.Canvas, p *plot.Plot) { l(c, p) }

// A page is what every plot has around its data.
type page struct {
	encode func(string) string // text as the format's fonts have it
}

// blank makes the canvas white, and returns it without its margin.
func blank(c draw.Canvas) draw.Canvas {
	c.SetColor(color.White)
	c.Fill(c.Path())
	return draw.Crop(c, 14, -14, 10, -12)
}

// newAxes are a plot without data.
func newAxes() *plot.Plot {
	g := plot.New()
	g.BackgroundColor = nil
	g.X.Label.TextStyle = textStyle(textSize, inkColor, text.XCenter, text.YBottom)
	g.X.Label.Padding = 4
	g.X.Tick.Label = textStyle(textSize, inkColor, text.XCenter, text.YTop)
	g.Y.Tick.Label = textStyle(textSize, inkColor, text.XRight, text.YCenter)
	g.X.Tick.Length, g.Y.Tick.Length = 5, 0
	g.Y.Width = 0
	g.X.Color, g.X.Tick.Color = softColor, softColor
	g.X.Padding, g.Y.Padding = 0, 4
	return g
}

// verdictInk is the colour of a verdict's words.
func verdictInk(v check.Verdict) color.Color {
	switch v {
	case check.Pass:
		return allocatedColor
	case check.Fail:
		return failedColor
	}
	return inkColor
}

// verdictLine is a plot's title: the verdict and why.
func verdictLine(rep *check.Report) string {
	verdict := strings.ToUpper(string(rep.Verdict))
	findings := ordered(rep)
	for _, v := range []check.Verdict{check.Fail, check.Undecided} {
		if rep.Verdict != v {
			continue
		}
		for _, f := range findings {
			if f.Verdict == v && f.Gates {
				return fmt.Sprintf("%s: %s, %s: %s", verdict, sink.Line(f.Check), sink.Line(f.Subject), sink.Line(f.Message))
			}
		}
	}
	if rep.Verdict == check.Pass {
		return verdict + ": " + plural(len(withVerdict(findings, check.Pass)), "check") + " passed"
	}
	return verdict
}

// drawLine draws a line of text at the top of the canvas, and returns what is left of it.
func (p *page) drawLine(c draw.Canvas, size vg.Length, ink color.Color, s string) draw.Canvas {
	sty := textStyle(size, ink, text.XLeft, text.YTop)
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, p.encode(fit(sty, s, c.Size().X)))
	c.Max.Y -= size * 1.45
	return c
}

// drawFoot draws the notes below the plot, and returns what is left of the canvas.
func (p *page) drawFoot(c draw.Canvas, notes []string) draw.Canvas {
	sty := textStyle(smallSize, softColor, text.XLeft, text.YBottom)
	for _, n := range slices.Backward(notes) {
		c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Min.Y + sty.FontExtents().Descent}, p.encode(fit(sty, n, c.Size().X)))
		c.Min.Y += smallSize * 1.4
	}
	if len(notes) > 0 {
		c.Min.Y += 4
	}
	return c
}

// A legendEntry is a name, and what it is shown by.
type legendEntry struct {
	name  string
	thumb func(c draw.Canvas, r vg.Rectangle)
}

// drawLegend draws the entries in as many rows as it takes, and returns what is left of the canvas.
func (p *page) drawLegend(c draw.Canvas, entries []legendEntry) draw.Canvas {
	const swatch, gap, row = 22, 18, textSize * 1.5
	sty := textStyle(textSize, inkColor, text.XLeft, text.YCenter)
	x, y := c.Min.X, c.Max.Y-row/2
	for _, e := range entries {
		name := fit(sty, e.name, c.Size().X-swatch-gap)
		width := swatch + 5 + sty.Width(name)
		if x > c.Min.X && x+width > c.Max.X {
			x, y = c.Min.X, y-row
		}
		e.thumb(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - 5}, Max: vg.Point{X: x + swatch, Y: y + 5}})
		c.FillText(sty, vg.Point{X: x + swatch + 5, Y: y}, p.encode(name))
		x += width + gap
	}
	c.Max.Y = y - row/2 - 4
	return c
}

// drawBandThumb is a band between two lines, in a legend.
func drawBandThumb(c draw.Canvas, r vg.Rectangle, ink color.Color) {
	c.FillPolygon(tint(ink, 0.3), corners(r))
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, r.Min.X, r.Max.Y, r.Max.X, r.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, r.Min.X, r.Min.Y, r.Max.X, r.Min.Y)
}

func middle(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

func drawGrid(c draw.Canvas, g *plot.Plot) {
	_, y := g.Transforms(&c)
	for _, t := range g.Y.Tick.Marker.Ticks(g.Y.Min, g.Y.Max) {
		style := draw.LineStyle{Color: gridColor, Width: 0.8}
		if t.Value == 0 {
			style.Color = softColor
		}
		c.StrokeLine2(style, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
}

// tint mixes a colour with white: 1 leaves it, 0 is white.
func tint(c color.Color, strength float64) color.Color {
	r, g, b, _ := c.RGBA()
	mix := func(v uint32) uint8 { return uint8(255 - strength*(255-float64(v>>8)) + 0.5) }
	return color.NRGBA{R: mix(r), G: mix(g), B: mix(b), A: 0xFF}
}
