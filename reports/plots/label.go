package plots

import (
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Note is a marked point. If it has text, the text becomes a label.
type Note struct {
	Point
	Text string
}

// Labels puts labels into the free space above the data. A thin line connects each label with its
// point. No label covers the data or another label.
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
	// solid is set for a label in white on its colour.
	solid bool
}

// LabelHeight is the height of a row of labels, and LabelPad the space around the text of a label,
// in points.
const (
	LabelHeight = TextSize * 1.5
	LabelPad    = 4
)

// Place puts the label s at the lowest free position above its point.
func (l *Labels) Place(ink color.Color, at vg.Point, s string) { l.place(ink, at, s, false) }

// PlaceSolid places a label like Place, in white on its colour. It cannot be missed.
func (l *Labels) PlaceSolid(ink color.Color, at vg.Point, s string) { l.place(ink, at, s, true) }

func (l *Labels) place(ink color.Color, at vg.Point, s string, solid bool) {
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
	l.placed = append(l.placed, label{box, at, ink, s, solid})
}

// Draw draws the lines, and over them the labels on white.
func (l *Labels) Draw(c draw.Canvas) {
	for _, w := range l.placed {
		c.StrokeLine2(draw.LineStyle{Color: w.ink, Width: 0.8}, w.at.X, w.at.Y, w.at.X,
			w.box.Max.Y-2)
	}
	for _, w := range l.placed {
		front, back := w.ink, color.Color(Paper)
		if w.solid {
			front, back = back, front
		}
		sty := Text(TextSize, front, text.XLeft, text.YBottom)
		c.FillPolygon(back, Corners(vg.Rectangle{
			Min: vg.Point{X: w.box.Min.X + 1, Y: w.box.Min.Y + 1},
			Max: vg.Point{X: w.box.Max.X - 1, Y: w.box.Max.Y - 1},
		}))
		c.FillText(sty, vg.Point{
			X: w.box.Min.X + LabelPad,
			Y: w.box.Min.Y + 2 + sty.FontExtents().Descent,
		}, w.text)
	}
}

// Overlapped returns a taken rectangle that overlaps b, or nil.
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
