package reports

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
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

// A picture is a chart that is being drawn.
type picture struct {
	*chart
	columns int                 // pixels of the data's width, about
	encode  func(string) string // text as the format's fonts have it
	limits  []limitLine
}

// A limitLine is a bound of the device that lies within the plot.
type limitLine struct {
	value float64
	label string
	style draw.LineStyle
}

// layer is a part of the picture that is drawn over the data's area.
type layer func(c draw.Canvas, p *plot.Plot)

// Plot implements [plot.Plotter].
func (l layer) Plot(c draw.Canvas, p *plot.Plot) { l(c, p) }

// How files and stages are shown depends on the room there is for each.
func (p *picture) perFile() float64  { return float64(p.columns) / float64(max(1, len(p.files))) }
func (p *picture) tinted() bool      { return len(p.files) <= 12 }                  // stages over the whole height
func (p *picture) stripped() bool    { return !p.tinted() && p.perFile() >= 10 }    // stages in a strip below
func (p *picture) dense() bool       { return p.perFile() < 6 && len(p.files) > 0 } // bands, not lines
func (p *picture) bucket() int       { return max(1, int(2*p.perFile()+0.999)) }    // pixels that hold two files
func (p *picture) columnsDense() int { return max(1, p.columns/p.bucket()) }

func (p *picture) draw(c draw.Canvas, rep *check.Report) {
	c.SetColor(color.White)
	c.Fill(c.Path())
	c = draw.Crop(c, 14, -14, 10, -12)

	p.bound()
	if !p.dense() {
		p.notes = append(p.notes, "Lines join readings; what memory did between two of them is not known.")
	}
	c = p.drawHead(c, rep)
	c = p.drawFoot(c)
	const axis, numbers = 36, 18 // the height of the x axis, and of the files' numbers above the data
	top := p.scale(c.Size().Y - axis - numbers)

	g := plot.New()
	g.BackgroundColor = nil
	g.Y.Min, g.Y.Max = 0, top
	g.Y.Tick.Marker = plot.ConstantTicks(byteTicks(top))
	g.X.Min, g.X.Max = 0, p.clock.end
	if p.clock.timed {
		ticks, unit := timeTicks(p.clock.end)
		g.X.Tick.Marker = plot.ConstantTicks(ticks)
		g.X.Label.Text = "time from the start (" + unit + ")"
	} else {
		g.X.Min = 0.5
		g.X.Tick.Marker = plot.ConstantTicks(countTicks(p.clock.end))
		g.X.Label.Text = "checkpoint (the log has no times)"
	}
	g.X.Label.TextStyle = textStyle(textSize, inkColor, text.XCenter, text.YBottom)
	g.X.Label.Padding = 4
	g.X.Tick.Label = textStyle(textSize, inkColor, text.XCenter, text.YTop)
	g.Y.Tick.Label = textStyle(textSize, inkColor, text.XRight, text.YCenter)
	g.X.Tick.Length, g.Y.Tick.Length = 5, 0
	g.Y.Width = 0
	g.X.Color, g.X.Tick.Color = softColor, softColor
	g.X.Padding, g.Y.Padding = 0, 4
	if p.stripped() {
		g.X.Padding = 16
	}
	g.Add(layer(p.drawFiles), layer(p.drawGrid), layer(p.drawSeries), layer(p.drawLimits), layer(p.drawNotes))
	right := vg.Length(10)
	if len(p.limits) > 0 {
		right = 96
	}
	g.Draw(draw.Crop(c, 0, -right, 0, -numbers))
}

// bound chooses the bounds of the device that are drawn. One far above the data would press the data to the ground; it is
// told in a note.
func (p *picture) bound() {
	if p.total <= 0 {
		return
	}
	dash := []vg.Length{6, 4}
	bounds := []limitLine{
		{0.70 * p.total, "70 %: ", draw.LineStyle{Color: softColor, Width: 1, Dashes: dash}},
		{0.85 * p.total, "85 %: ", draw.LineStyle{Color: failedColor, Width: 1.2, Dashes: dash}},
		{p.total, "total: ", draw.LineStyle{Color: inkColor, Width: 1.2}},
	}
	for i, b := range bounds {
		if i < 2 && b.value > 1.7*p.high || i == 2 && p.high < 0.8*p.total {
			break
		}
		b.label += bytesOf(b.value)
		p.limits = append(p.limits, b)
	}
	if len(p.limits) == 0 {
		p.notes = append(p.notes, "The 70 % line ("+bytesOf(0.70*p.total)+" of "+bytesOf(p.total)+
			") lies above this plot: the highest reading is "+ratioText(p.high/p.total)+".")
	}
}

// scale is the top of the y axis: room for the words above the data, where the data's area is so high, and for the bounds.
func (p *picture) scale(height vg.Length) float64 {
	base, top := p.top, 0.0
	for _, l := range p.limits {
		top = max(top, 1.02*l.value)
		if l.value < 1.2*p.top { // the words are to stand above it
			base = max(base, l.value)
		}
	}
	words := markHeight + labelHeight*float64(1+len(p.worded())) + 10
	return max(1, top, base/(1-words/float64(height)))
}

// worded is the failures that are put in words: the first of each cleanup, three at most.
func (p *picture) worded() []note {
	var out []note
	for _, n := range p.failed {
		if n.text != "" && len(out) < 3 {
			out = append(out, n)
		}
	}
	return out
}

// drawHead draws title, a line of numbers and the legend, and returns what is left of the canvas.
func (p *picture) drawHead(c draw.Canvas, rep *check.Report) draw.Canvas {
	line := func(size vg.Length, ink color.Color, s string) {
		sty := textStyle(size, ink, text.XLeft, text.YTop)
		c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, p.encode(fit(sty, s, c.Size().X)))
		c.Max.Y -= size * 1.45
	}
	ink := map[check.Verdict]color.Color{check.Pass: allocatedColor, check.Fail: failedColor}[rep.Verdict]
	if ink == nil {
		ink = inkColor
	}
	line(titleSize, ink, p.headline(rep))
	sub := headline(rep)
	if n := len(withVerdict(rep.Findings, check.Fail)); n > 1 {
		sub += "; " + number(n) + " findings failed"
	}
	line(textSize, inkColor, sub)
	c.Max.Y -= 5
	return p.drawLegend(c)
}

// drawFoot draws the notes below the plot, and returns what is left of the canvas.
func (p *picture) drawFoot(c draw.Canvas) draw.Canvas {
	sty := textStyle(smallSize, softColor, text.XLeft, text.YBottom)
	for _, n := range slices.Backward(p.notes) {
		c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Min.Y + sty.FontExtents().Descent}, p.encode(fit(sty, n, c.Size().X)))
		c.Min.Y += smallSize * 1.4
	}
	if len(p.notes) > 0 {
		c.Min.Y += 4
	}
	return c
}

// drawLegend draws what the colours mean, in as many rows as it takes, and returns what is left of the canvas.
func (p *picture) drawLegend(c draw.Canvas) draw.Canvas {
	const swatch, gap, row = 22, 18, textSize * 1.5
	sty := textStyle(textSize, inkColor, text.XLeft, text.YCenter)
	x, y := c.Min.X, c.Max.Y-row/2
	add := func(name string, thumb func(r vg.Rectangle)) {
		name = fit(sty, name, c.Size().X-swatch-gap)
		width := swatch + 5 + sty.Width(name)
		if x > c.Min.X && x+width > c.Max.X {
			x, y = c.Min.X, y-row
		}
		thumb(vg.Rectangle{Min: vg.Point{X: x, Y: y - 5}, Max: vg.Point{X: x + swatch, Y: y + 5}})
		c.FillText(sty, vg.Point{X: x + swatch + 5, Y: y}, p.encode(name))
		x += width + gap
	}
	for _, s := range slices.Backward(p.series) {
		name := s.name
		if p.dense() {
			name += " (lowest to highest)"
		}
		add(name, func(r vg.Rectangle) {
			if p.dense() {
				c.FillPolygon(tint(s.color, 0.3), corners(r))
				c.StrokeLine2(draw.LineStyle{Color: s.color, Width: 1.4}, r.Min.X, r.Max.Y, r.Max.X, r.Max.Y)
				c.StrokeLine2(draw.LineStyle{Color: s.color, Width: 1.4}, r.Min.X, r.Min.Y, r.Max.X, r.Min.Y)
				return
			}
			c.StrokeLine2(s.style(), r.Min.X, y, r.Max.X, y)
		})
	}
	if p.tinted() || p.stripped() {
		for i, name := range p.names {
			if i >= len(stageColors) {
				add("other stages", func(r vg.Rectangle) { c.FillPolygon(p.stageColor(i), corners(r)) })
				break
			}
			add(shorten(clean(name), 40), func(r vg.Rectangle) { c.FillPolygon(p.stageColor(i), corners(r)) })
		}
	}
	if len(p.failed) > 0 {
		add("failed recovery", func(r vg.Rectangle) {
			drawCross(c, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: y})
		})
	}
	if p.mark != nil {
		add("high-water mark", func(r vg.Rectangle) {
			drawMark(c, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: y - markHeight/2})
		})
	}
	c.Max.Y = y - row/2 - 4
	return c
}

// stageColor is a stage's colour by its name's place; light where it lies under the data.
func (p *picture) stageColor(i int) color.Color {
	c := color.Color(color.Gray{Y: 0xC8})
	if i < len(stageColors) {
		c = stageColors[i]
	}
	if p.tinted() {
		return tint(c, 0.28)
	}
	return c
}

func (s series) style() draw.LineStyle {
	sty := draw.LineStyle{Color: s.color, Width: 1.6}
	if s.dashed {
		sty.Dashes = []vg.Length{5, 3}
	}
	return sty
}

// tint mixes a colour with white: 1 leaves it, 0 is white.
func tint(c color.Color, strength float64) color.Color {
	r, g, b, _ := c.RGBA()
	mix := func(v uint32) uint8 { return uint8(255 - strength*(255-float64(v>>8)) + 0.5) }
	return color.NRGBA{R: mix(r), G: mix(g), B: mix(b), A: 0xFF}
}

func ratioText(f float64) string { return quantity(f, f, check.Ratio) }
