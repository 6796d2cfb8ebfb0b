package plots

import (
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Note marks a point, and labels it if it has text.
type Note struct {
	Point
	Text string
}

// Labels places text in the free space above the data. A thin line joins each label to its point.
// No label covers another one or the data.
type Labels struct {
	Frame  vg.Rectangle // from the highest reading to the top of the plot
	Taken  []vg.Rectangle
	placed []label
}

type label struct {
	box  vg.Rectangle
	at   vg.Point
	ink  color.Color
	text string
}

// The height of a row of labels, and the space around the text of one, in points.
const (
	LabelHeight = TextSize * 1.5
	LabelPad    = 4
)

// Place finds the lowest free place for s above its point.
func (l *Labels) Place(ink color.Color, at vg.Point, s string) {
	sty := Text(TextSize, ink, text.XLeft, text.YBottom)
	s = Fit(sty, s, l.Frame.Size().X-2*LabelPad)
	width := sty.Width(s) + 2*LabelPad
	box := vg.Rectangle{Min: vg.Point{X: at.X, Y: l.Frame.Min.Y + LabelPad}}
	if box.Min.X+width > l.Frame.Max.X {
		box.Min.X = max(l.Frame.Min.X, at.X-width)
	}
	box.Max = vg.Point{X: box.Min.X + width, Y: box.Min.Y + LabelHeight}
	for over := l.Overlapped(box); over != nil; over = l.Overlapped(box) {
		box.Min.Y = over.Max.Y
		box.Max.Y = box.Min.Y + LabelHeight
	}
	l.Taken = append(l.Taken, box)
	l.placed = append(l.placed, label{box, at, ink, s})
}

// Draw draws the lines, and over them the labels on white.
func (l *Labels) Draw(c draw.Canvas) {
	for _, w := range l.placed {
		c.StrokeLine2(draw.LineStyle{Color: w.ink, Width: 0.8}, w.at.X, w.at.Y, w.at.X,
			w.box.Max.Y-2)
	}
	for _, w := range l.placed {
		sty := Text(TextSize, w.ink, text.XLeft, text.YBottom)
		c.FillPolygon(color.White, Corners(vg.Rectangle{
			Min: vg.Point{X: w.box.Min.X + 1, Y: w.box.Min.Y + 1},
			Max: vg.Point{X: w.box.Max.X - 1, Y: w.box.Max.Y - 1},
		}))
		c.FillText(sty, vg.Point{
			X: w.box.Min.X + LabelPad,
			Y: w.box.Min.Y + 2 + sty.FontExtents().Descent,
		}, w.text)
	}
}

// Overlapped returns a box that overlaps b, or nil.
func (l *Labels) Overlapped(b vg.Rectangle) *vg.Rectangle {
	for i, t := range l.Taken {
		if b.Min.X < t.Max.X && t.Min.X < b.Max.X && b.Min.Y < t.Max.Y && t.Min.Y < b.Max.Y {
			return &l.Taken[i]
		}
	}
	return nil
}

// Corners returns the corners of a rectangle in order.
func Corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}
