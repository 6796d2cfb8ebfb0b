package fragmentation

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/record"
	"vramsoak/reports/plots"
)

// pixel is the size of a pixel in points.
const pixel = vg.Inch / 96

// drawMap draws the segments over time. It draws them as an image in every file format, because a
// thousand files may have half a million blocks.
func (p *picture) drawMap(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	area := snapped(vg.Rectangle{
		Min: vg.Point{X: c.Min.X, Y: y(0)},
		Max: vg.Point{X: c.Max.X, Y: y(p.top)},
	})
	img := image.NewNRGBA(image.Rect(0, 0, max(1, int(area.Size().X/pixel+0.5)),
		max(1, int(area.Size().Y/pixel+0.5))))
	from := 0
	for _, f := range p.frames {
		to := min(img.Rect.Dx(), int((x(p.at(f))-area.Min.X)/pixel+0.5))
		p.drawColumn(img, from, max(to, from), f)
		from = max(to, from)
	}
	c.DrawImage(area, img)
	c.StrokeLine2(draw.LineStyle{Color: plots.SoftInk, Width: 0.8}, c.Min.X, area.Min.Y, c.Max.X,
		area.Min.Y)
}

// snapped moves the edges of a rectangle to the nearest borders between pixels.
func snapped(r vg.Rectangle) vg.Rectangle {
	for _, at := range []*vg.Length{&r.Min.X, &r.Min.Y, &r.Max.X, &r.Max.Y} {
		*at = vg.Length(math.Round(float64(*at/pixel))) * pixel
	}
	return r
}

// edgeRows is the least height, in rows of pixels, of a segment whose edge is drawn.
const edgeRows = 6

// drawColumn draws a frame as a column of pixels. The colour of a pixel mixes the colours of its
// bytes.
func (p *picture) drawColumn(img *image.NRGBA, from, to int, f *frame) {
	height := img.Rect.Dy()
	perRow := p.top / float64(height)
	rows := make([][uses]float64, height) // bytes
	begins := make([]bool, height)
	at := 0.0
	for i := range f.bands {
		b := &f.bands[i]
		end := at + float64(b.size)
		row := int(at / perRow)
		if float64(b.segment) >= edgeRows*perRow && row < height {
			begins[row] = i > 0
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
	pin := -pinRows
	for row, bytes := range rows {
		parts := shares(bytes, perRow)
		used, sum := parts[inUse], parts[inUse]+parts[pending]+parts[pinned]+parts[releasable]
		if used > 0 && used < leastUse*sum && row >= pin+pinRows {
			for use := range parts {
				parts[use] *= (1 - leastUse) * sum / (sum - used)
			}
			parts[inUse], pin = leastUse*sum, row
		}
		ink := mixed(parts)
		if begins[row] {
			ink = tintOver(ink)
		}
		if sum := bytes[inUse] + bytes[pending] + bytes[pinned] + bytes[releasable]; sum == 0 &&
			float64(row)*perRow >= others && float64(row)*perRow < float64(f.total) {
			ink = othersColor
		}
		for x := from; x < to; x++ {
			img.SetNRGBA(x, height-1-row, ink)
		}
	}
}

// A tensor of a few bytes can pin a segment, so it must be visible. A row of pixels with any memory
// in use gets at least leastUse of the colour for memory in use. Such rows are at least pinRows
// apart, so that many of them do not hide the rest.
const (
	leastUse = 0.8
	pinRows  = 4
)

// shares returns the parts of each colour that are mixed into a row of pixels. The use with the
// most bytes gets a larger part than its bytes alone would give it, so that a reader recognizes its
// colour from the legend.
func shares(bytes [uses]float64, all float64) (parts [uses]float64) {
	sum, squares := 0.0, 0.0
	for _, n := range bytes {
		sum += n / all
		squares += n * n
	}
	for use, n := range bytes {
		if n > 0 {
			parts[use] = n * n / squares * sum
		}
	}
	return parts
}

// mixed returns the colour of a row of pixels.
func mixed(parts [uses]float64) color.NRGBA {
	sum := 0.0
	for _, share := range parts {
		sum += share
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

// tintOver returns the lighter colour for a row of pixels in which a segment begins.
func tintOver(c color.NRGBA) color.NRGBA {
	light := func(v uint8) uint8 { return uint8((int(v) + 2*255) / 3) }
	return color.NRGBA{R: light(c.R), G: light(c.G), B: light(c.B), A: 0xFF}
}

// drawMoment draws the frame of the moment on the scale of the upper panel. Beside the frame, bars
// show the largest piece, the request, and all free memory.
func (p *picture) drawMoment(c draw.Canvas, y func(float64) vg.Length) {
	f := p.moment
	width := c.Size().X
	head := plots.Text(plots.SmallSize, plots.Ink, text.XLeft, text.YBottom)
	words := "at the worst moment, " + p.where(f)
	if f.requested > 0 {
		head.Color = plots.FailedColor
		words = "at the failed allocation, " + p.where(f)
	}
	c.FillText(head, vg.Point{X: c.Min.X, Y: y(p.top) + 2 + head.FontExtents().Descent},
		p.Encode(plots.Fit(head, words, width)))

	column := snapped(vg.Rectangle{
		Min: vg.Point{X: c.Min.X, Y: y(0)},
		Max: vg.Point{X: c.Min.X + 0.3*width, Y: y(p.top)},
	})
	p.fillColumn(c, column, f)
	c.StrokeLines(draw.LineStyle{Color: plots.SoftInk, Width: 0.8},
		append(plots.Corners(column), column.Min))

	bars := p.bars(f)
	const gap = 12
	left := column.Max.X + 2*gap
	each := (c.Max.X - left + gap) / vg.Length(len(bars))
	if f.cached() {
		// Lines lead from the largest free block to its bar.
		low, high := y(float64(f.largest)), y(float64(f.largest+f.sums.LargestFree))
		box := vg.Rectangle{
			Min: vg.Point{X: column.Min.X, Y: low},
			Max: vg.Point{X: column.Max.X, Y: high},
		}
		c.StrokeLines(draw.LineStyle{Color: plots.Ink, Width: 2},
			append(plots.Corners(box), box.Min))
		c.StrokeLine2(leaderStyle, box.Max.X, low, left, y(0))
		c.StrokeLine2(leaderStyle, box.Max.X, high, left, y(float64(f.sums.LargestFree)))
	}
	if f.requested > 0 {
		at := y(float64(f.requested))
		c.StrokeLine2(draw.LineStyle{Color: plots.FailedColor, Width: 1, Dashes: []vg.Length{4, 3}},
			left, at, c.Max.X, at)
	}
	for i, b := range bars {
		p.drawBar(c, y, vg.Rectangle{
			Min: vg.Point{X: left + vg.Length(i)*each, Y: y(0)},
			Max: vg.Point{X: left + vg.Length(i+1)*each - gap, Y: y(0)},
		}, b)
	}
	c.StrokeLine2(draw.LineStyle{Color: plots.SoftInk, Width: 0.8}, c.Min.X, y(0), c.Max.X, y(0))
}

var leaderStyle = draw.LineStyle{Color: color.Gray{Y: 0x90}, Width: 0.8}

// fillColumn fills a rectangle with a frame. It draws shapes instead of an image, because a PDF
// with two images differs from run to run.
func (p *picture) fillColumn(c draw.Canvas, at vg.Rectangle, f *frame) {
	img := image.NewNRGBA(image.Rect(0, 0, 1, max(1, int(at.Size().Y/pixel+0.5))))
	p.drawColumn(img, 0, 1, f)
	rows := img.Rect.Dy()
	height := at.Size().Y / vg.Length(rows)
	for row := 0; row < rows; {
		end := row + 1
		for end < rows && img.NRGBAAt(0, end) == img.NRGBAAt(0, row) {
			end++
		}
		c.FillPolygon(img.NRGBAAt(0, row), plots.Corners(vg.Rectangle{
			Min: vg.Point{X: at.Min.X, Y: at.Max.Y - vg.Length(end)*height},
			Max: vg.Point{X: at.Max.X, Y: at.Max.Y - vg.Length(row)*height},
		}))
		row = end
	}
}

// A bar is a named column that stacks several amounts of memory.
type bar struct {
	name  [2]string // two lines
	parts []barPart
	bytes int64
}

type barPart struct {
	ink   color.Color
	bytes int64
}

// bars returns the bars that compare the request with the free memory at the moment.
func (p *picture) bars(f *frame) []bar {
	driver := []barPart{{useColors[releasable], f.sums.Releasable}, {voidColor, f.unreserved}}
	piece := bar{[2]string{"in one", "piece"}, driver, f.piece()}
	if f.cached() {
		piece.parts = []barPart{{useColors[pinned], f.sums.LargestFree}}
	}
	out := []bar{piece}
	if f.requested > 0 {
		out = append(out, bar{
			[2]string{"asked", "for"},
			[]barPart{{plots.FailedColor, f.requested}},
			f.requested,
		})
	}
	return append(out, bar{
		[2]string{"free", "in sum"},
		append([]barPart{{useColors[pinned], f.sums.Pinned()}}, driver...), f.free(),
	})
}

// drawBar draws a bar with its value above it and its name below.
func (p *picture) drawBar(c draw.Canvas, y func(float64) vg.Length, at vg.Rectangle, b bar) {
	sum := int64(0)
	for _, part := range b.parts {
		box := at
		box.Min.Y = y(float64(sum))
		sum += part.bytes
		box.Max.Y = y(float64(sum))
		c.FillPolygon(part.ink, plots.Corners(box))
	}
	at.Max.Y = y(float64(sum))
	c.StrokeLines(draw.LineStyle{Color: plots.SoftInk, Width: 0.8},
		append(plots.Corners(at), at.Min))
	mid := (at.Min.X + at.Max.X) / 2
	value := plots.Text(plots.TextSize, plots.Ink, text.XCenter, text.YBottom)
	half := value.Width(record.FormatBytes(b.bytes))/2 + 2
	if room := at.Size().X/2 + 4; half > room {
		value = plots.Text(plots.TextSize*room/half, plots.Ink, text.XCenter, text.YBottom)
		half = room
	}
	c.FillPolygon(color.White, plots.Corners(vg.Rectangle{
		Min: vg.Point{X: mid - half, Y: at.Max.Y + 1},
		Max: vg.Point{X: mid + half, Y: at.Max.Y + 3 + plots.TextSize},
	}))
	c.FillText(value, vg.Point{X: mid, Y: at.Max.Y + 3 + value.FontExtents().Descent},
		p.Encode(record.FormatBytes(b.bytes)))
	name := plots.Text(plots.TextSize, plots.Ink, text.XCenter, text.YTop)
	for i, line := range b.name {
		c.FillText(name, vg.Point{X: mid, Y: at.Min.Y - 3 - vg.Length(i)*plots.TextSize*1.2},
			p.Encode(line))
	}
}
