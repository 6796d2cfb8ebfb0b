package reports

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser"
)

// pixel is the side of a pixel, in points: a plot has 96 to the inch.
const pixel = vg.Inch / 96

// drawMap draws the segments over time. It is an image in every format: a picture of a thousand files has half a million
// blocks.
func (p *segmentsPicture) drawMap(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	snap := func(at vg.Length) vg.Length { return vg.Length(math.Round(float64(at/pixel))) * pixel }
	area := vg.Rectangle{Min: vg.Point{X: snap(c.Min.X), Y: snap(y(0))}, Max: vg.Point{X: snap(c.Max.X), Y: snap(y(p.top))}}
	img := image.NewNRGBA(image.Rect(0, 0, max(1, int(area.Size().X/pixel+0.5)), max(1, int(area.Size().Y/pixel+0.5))))
	from := 0
	for _, f := range p.frames {
		to := min(img.Rect.Dx(), int((x(p.at(f))-area.Min.X)/pixel+0.5))
		p.drawColumn(img, from, max(to, from), f)
		from = max(to, from)
	}
	c.DrawImage(area, img)
	c.StrokeLine2(draw.LineStyle{Color: softColor, Width: 0.8}, c.Min.X, area.Min.Y, c.Max.X, area.Min.Y)
}

// drawColumn draws a map as wide as its time, the bytes of each row of pixels mixed.
func (p *segmentsPicture) drawColumn(img *image.NRGBA, from, to int, f *frame) {
	height := img.Rect.Dy()
	perRow := p.top / float64(height)
	rows := make([][uses]float64, height) // bytes
	begins := make([]bool, height)
	at, last := 0.0, -1
	for i := range f.bands {
		b := &f.bands[i]
		end := at + float64(b.size)
		row := int(at / perRow)
		if b.begins && row > last+3 && row < height { // nearer ones would hide what they part
			begins[row], last = i > 0, row
		}
		for ; row < height && float64(row)*perRow < end; row++ {
			part := min(end, float64(row+1)*perRow) - max(at, float64(row)*perRow)
			for use, share := range b.parts {
				rows[row][use] += part * float64(share)
			}
		}
		at = end
	}
	others := p.top
	if f.total > 0 {
		others = float64(f.total - f.others())
	}
	for row, bytes := range rows {
		ink := mixed(bytes, perRow)
		if begins[row] {
			ink = tintOver(ink)
		}
		if sum := bytes[inUse] + bytes[pending] + bytes[pinned] + bytes[releasable]; sum == 0 && float64(row)*perRow >= others && float64(row)*perRow < float64(f.total) {
			ink = othersColor
		}
		for x := from; x < to; x++ {
			img.SetNRGBA(x, height-1-row, ink)
		}
	}
}

// leastUse is how much of a row's colour is that of what is in use, where there is any: a tensor of a few bytes pins a segment,
// and must be seen.
const leastUse = 0.6

// mixed is the colour of a row of so many bytes.
func mixed(bytes [uses]float64, all float64) color.NRGBA {
	var parts [uses]float64
	sum := 0.0
	for use, n := range bytes {
		parts[use] = n / all
		sum += parts[use]
	}
	if used := parts[inUse]; used > 0 && used < leastUse && parts[pinned] > 0 {
		for use := range parts {
			parts[use] *= (sum - min(sum, leastUse)) / (sum - used)
		}
		parts[inUse] = min(sum, leastUse)
	}
	var rgb [3]float64
	add := func(c color.NRGBA, share float64) {
		for i, v := range []uint8{c.R, c.G, c.B} {
			rgb[i] += share * float64(v)
		}
	}
	for use, share := range parts {
		add(useColors[use], share)
	}
	add(voidColor, max(0, 1-sum))
	level := func(v float64) uint8 { return uint8(min(255, v+0.5)) }
	return color.NRGBA{R: level(rgb[0]), G: level(rgb[1]), B: level(rgb[2]), A: 0xFF}
}

// tintOver is a colour where a segment begins.
func tintOver(c color.NRGBA) color.NRGBA {
	light := func(v uint8) uint8 { return uint8((int(v) + 2*255) / 3) }
	return color.NRGBA{R: light(c.R), G: light(c.G), B: light(c.B), A: 0xFF}
}

// drawMoment draws the segments of the moment on the same scale, and beside them what was asked for, the largest piece, and what
// is free in sum.
func (p *segmentsPicture) drawMoment(c draw.Canvas, y func(float64) vg.Length) {
	f := p.moment
	width := c.Size().X
	head := textStyle(smallSize, inkColor, text.XLeft, text.YBottom)
	words := "at the worst, " + p.where(f)
	if f.requested > 0 {
		head.Color = failedColor
		words = "at the failed allocation, " + p.where(f)
	}
	c.FillText(head, vg.Point{X: c.Min.X, Y: y(p.top) + 2 + head.FontExtents().Descent}, p.encode(fit(head, words, width)))

	column := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y(0)}, Max: vg.Point{X: c.Min.X + 0.3*width, Y: y(p.top)}}
	img := image.NewNRGBA(image.Rect(0, 0, 1, max(1, int(column.Size().Y/pixel+0.5))))
	p.drawColumn(img, 0, 1, f)
	wideImg := image.NewNRGBA(image.Rect(0, 0, max(1, int(column.Size().X/pixel+0.5)), img.Rect.Dy()))
	for row := range img.Rect.Dy() {
		for x := range wideImg.Rect.Dx() {
			wideImg.SetNRGBA(x, row, img.NRGBAAt(0, row))
		}
	}
	c.DrawImage(column, wideImg)
	c.StrokeLines(draw.LineStyle{Color: softColor, Width: 0.8}, append(corners(column), column.Min))

	bars := p.bars(f)
	const gap = 12
	left := column.Max.X + 2*gap
	each := (c.Max.X - left + gap) / vg.Length(len(bars))
	for i, b := range bars {
		p.drawBar(c, y, vg.Rectangle{
			Min: vg.Point{X: left + vg.Length(i)*each, Y: y(0)}, Max: vg.Point{X: left + vg.Length(i+1)*each - gap, Y: y(0)},
		}, b)
	}
	c.StrokeLine2(draw.LineStyle{Color: softColor, Width: 0.8}, c.Min.X, y(0), c.Max.X, y(0))
	if f.requested > 0 {
		at := y(float64(f.requested))
		c.StrokeLine2(draw.LineStyle{Color: failedColor, Width: 1, Dashes: []vg.Length{4, 3}}, left, at, c.Max.X, at)
	}
}

// A bar is a sum of parts.
type bar struct {
	name  [2]string // two lines
	parts []barPart
	bytes int64
}

type barPart struct {
	ink   color.Color
	bytes int64
}

// bars are what is compared at a moment.
func (p *segmentsPicture) bars(f *frame) []bar {
	driver := []barPart{{useColors[releasable], f.sums.Releasable}, {voidColor, f.unreserved}}
	piece := bar{[2]string{"in one", "piece"}, driver, f.piece()}
	if f.sums.LargestFree >= f.sums.Releasable+f.unreserved {
		piece.parts = []barPart{{useColors[pinned], f.sums.LargestFree}}
	}
	out := []bar{
		{[2]string{"free", "in sum"}, append([]barPart{{useColors[pinned], f.sums.Pinned()}}, driver...), f.free()}, piece,
	}
	if f.requested > 0 {
		out = append(out, bar{[2]string{"asked", "for"}, []barPart{{failedColor, f.requested}}, f.requested})
	}
	return out
}

// drawBar draws a bar with its value above it and its name below.
func (p *segmentsPicture) drawBar(c draw.Canvas, y func(float64) vg.Length, at vg.Rectangle, b bar) {
	sum := int64(0)
	for _, part := range b.parts {
		box := at
		box.Min.Y = y(float64(sum))
		sum += part.bytes
		box.Max.Y = y(float64(sum))
		c.FillPolygon(part.ink, corners(box))
	}
	at.Max.Y = y(float64(sum))
	c.StrokeLines(draw.LineStyle{Color: softColor, Width: 0.8}, append(corners(at), at.Min))
	mid := (at.Min.X + at.Max.X) / 2
	value := textStyle(textSize, inkColor, text.XCenter, text.YBottom)
	c.FillText(value, vg.Point{X: mid, Y: at.Max.Y + 3 + value.FontExtents().Descent}, p.encode(parser.FormatBytes(b.bytes)))
	name := textStyle(textSize, inkColor, text.XCenter, text.YTop)
	for i, line := range b.name {
		c.FillText(name, vg.Point{X: mid, Y: at.Min.Y - 3 - vg.Length(i)*textSize*1.2}, p.encode(line))
	}
}
