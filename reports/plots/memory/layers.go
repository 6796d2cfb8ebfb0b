package memory

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// drawFiles marks where files begin, with their numbers. It also draws their stages if there is
// room.
func (p *picture) drawFiles(c draw.Canvas, g *plot.Plot) {
	x, _ := g.Transforms(&c)
	bar := func(from, to float64, low, high vg.Length, fill color.Color) {
		c.FillPolygon(fill, plots.Corners(vg.Rectangle{
			Min: vg.Point{X: x(from), Y: low},
			Max: vg.Point{X: x(to), Y: high},
		}))
	}
	n := len(p.files)
	if n == 0 {
		return
	}
	group := p.group(c.Size().X)
	var marked []int // the first file, and each whose number is a multiple of group
	for i := range n {
		if i == 0 || (i+1)%group == 0 {
			marked = append(marked, i)
		}
	}
	if !p.tinted() {
		for k := 0; k < len(marked); k += 2 {
			to := p.clock.end
			if k+1 < len(marked) {
				to = p.files[marked[k+1]].from
			}
			bar(p.files[marked[k]].from, to, c.Min.Y, c.Max.Y, plots.BandColor)
		}
	}
	for _, s := range p.stages {
		switch {
		case p.tinted():
			bar(s.from, s.to, c.Min.Y, c.Max.Y, p.stageColor(s.index))
		case p.stripped():
			bar(s.from, s.to, c.Min.Y-12, c.Min.Y-3, p.stageColor(s.index))
		}
	}
	edge := draw.LineStyle{Color: color.Gray{Y: 0xB8}, Width: 0.6}
	for _, i := range marked {
		at := x(p.files[i].from)
		if p.tinted() {
			c.StrokeLine2(edge, at, c.Min.Y, at, c.Max.Y)
		}
		c.StrokeLine2(edge, at, c.Max.Y, at, c.Max.Y+6)
	}
	p.numberFiles(c, x, marked)
}

// numberFiles writes the numbers of files above the data. Files that did not end well come first;
// other files get their number if there is room.
func (p *picture) numberFiles(c draw.Canvas, x func(float64) vg.Length, marked []int) {
	row := plots.Labels{}
	write := func(at vg.Length, ink color.Color, label string) {
		sty := plots.Text(plots.SmallSize, ink, text.XLeft, text.YBottom)
		box := vg.Rectangle{
			Min: vg.Point{X: at},
			Max: vg.Point{X: at + sty.Width(label) + 6, Y: plots.SmallSize},
		}
		if box.Max.X > c.Max.X+10 || row.Overlapped(box) != nil {
			return
		}
		row.Taken = append(row.Taken, box)
		c.FillText(sty, vg.Point{X: at + 2, Y: c.Max.Y + 2 + sty.FontExtents().Descent}, label)
	}
	for _, f := range p.files {
		if f.name != "" {
			at := x(f.from)
			c.StrokeLine2(draw.LineStyle{Color: plots.FailedColor, Width: 1}, at, c.Max.Y, at,
				c.Max.Y+6)
			write(at, plots.FailedColor, wording.Count(f.index)+" "+f.name)
		}
	}
	for _, i := range marked {
		label := wording.Count(p.files[i].index)
		if i == 0 {
			label = "file " + label
		}
		write(x(p.files[i].from), plots.SoftInk, label)
	}
}

// group returns how many neighbouring files get the same colour, so that there is room for their
// numbers.
func (p *picture) group(width vg.Length) int {
	const apart = 55 // points
	n := len(p.files)
	if p.tinted() || vg.Length(n)*apart <= width {
		return 1
	}
	return int(plots.NiceStep(float64(n), int(width/apart)))
}

// mostDots is the most points of a line that are drawn as dots. More would merge into the line.
const mostDots = 250

// drawSeries draws each series as a line. If the files are too narrow, it draws a band between the
// lowest and the highest readings, unless the series has too few readings for that.
func (p *picture) drawSeries(c draw.Canvas, g *plot.Plot) {
	place := plots.Placing(g, &c)
	for i := range p.series {
		s := &p.series[i]
		if p.banded(s) {
			p.drawBands(c, s.bands(p.columnEdges(), 2*p.pixel()), s.style(), place)
			continue
		}
		for _, piece := range s.pieces {
			line := place(plots.Thin(piece, p.columns))
			c.StrokeLines(s.style(), strokes(line)...)
			if (p.small || s.count() > mostDots) && !isDot(line) {
				continue
			}
			for _, at := range line {
				drawDot(c, at, s.color)
			}
		}
	}
}

func drawDot(c draw.Canvas, at vg.Point, ink color.Color) {
	c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: 1.8, Shape: draw.CircleGlyph{}}, at)
}

// mostStarts is the most starts of processes that are marked. More would hide the data.
const mostStarts = 40

var startStyle = draw.LineStyle{Color: plots.SoftInk, Width: 1, Dashes: []vg.Length{1.5, 2.5}}

// drawStarts draws a dotted line where each process but the first begins.
func (p *picture) drawStarts(c draw.Canvas, g *plot.Plot) {
	if len(p.starts) > mostStarts {
		return
	}
	x, _ := g.Transforms(&c)
	for _, at := range p.starts {
		c.StrokeLine2(startStyle, x(at), c.Min.Y, x(at), c.Max.Y)
	}
}

// strokes cuts a long line into pieces that are drawn one by one. The rasterizer's time grows with
// the square of the number of segments at the same height. A line that goes up and down all the
// time has all its segments there.
func strokes(line []vg.Point) [][]vg.Point {
	const long, piece = 1024, 64
	if len(line) <= long {
		return [][]vg.Point{line}
	}
	var out [][]vg.Point
	for from := 0; from+1 < len(line); from += piece {
		out = append(out, line[from:min(from+piece+1, len(line))])
	}
	return out
}

// drawLimits draws lines at the limits of the device, with their names to the right of the data.
func (p *picture) drawLimits(c draw.Canvas, g *plot.Plot) {
	_, y := g.Transforms(&c)
	above := c.Max.Y + plots.SmallSize // of the label above
	for _, l := range slices.Backward(p.limits) {
		c.StrokeLine2(l.style, c.Min.X, y(l.value), c.Max.X, y(l.value))
		if above-y(l.value) < plots.SmallSize {
			continue
		}
		above = y(l.value)
		c.FillText(plots.Text(plots.SmallSize, l.style.Color, text.XLeft, text.YCenter), vg.Point{
			X: c.Max.X + 5, Y: y(l.value) + plots.SmallSize*0.2,
		}, l.label)
	}
}

// drawNotes draws the high-water mark and the failed cleanups, with their labels above the data.
func (p *picture) drawNotes(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	at := func(n plots.Note) vg.Point { return vg.Point{X: x(n.X), Y: y(n.Y)} }
	words := plots.Labels{Frame: c.Rectangle}
	words.Frame.Min.Y = y(p.top) + plots.MarkHeight
	for _, l := range p.limits {
		words.Taken = append(words.Taken, vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: y(l.value) - 2},
			Max: vg.Point{X: c.Max.X, Y: y(l.value) + 2},
		})
	}
	if p.shortageNote.Text != "" {
		words.PlaceSolid(plots.FailedColor, vg.Point{X: x(p.shortageNote.X), Y: c.Min.Y},
			p.Encode(p.shortageNote.Text))
	}
	if p.mark != nil && p.rows() > p.shortageRows() {
		words.Place(plots.Ink, at(*p.mark), p.Encode(p.mark.Text))
	}
	for _, n := range p.labelled() {
		words.Place(plots.FailedColor, at(n), p.Encode(n.Text))
	}
	words.Draw(c)
	if p.mark != nil {
		drawMark(c, at(*p.mark))
	}
	p.drawCrosses(c, g)
}

// drawCrosses draws the crosses of the failed cleanups.
func (p *picture) drawCrosses(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	const apart = 12 // points; more crosses would be a line
	last := vg.Length(-apart)
	for _, n := range p.failed {
		if pt := (vg.Point{X: x(n.X), Y: y(n.Y)}); n.Text != "" || pt.X-last >= apart {
			plots.DrawCross(c, pt)
			last = pt.X
		}
	}
}

// drawMark marks the high-water mark with a triangle whose tip is at the point.
func drawMark(c draw.Canvas, at vg.Point) {
	const half = 5
	c.FillPolygon(plots.Ink, []vg.Point{
		{X: at.X, Y: at.Y},
		{X: at.X - half, Y: at.Y + plots.MarkHeight},
		{X: at.X + half, Y: at.Y + plots.MarkHeight},
	})
}
