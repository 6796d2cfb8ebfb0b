package reports

import (
	"image/color"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// textStyle is the plot's type at a size in points.
func textStyle(size vg.Length, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

// fit cuts text to a width, with an ellipsis in the place of what is cut.
func fit(sty text.Style, s string, width vg.Length) string {
	if sty.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	shown := sort.Search(len(runes), func(n int) bool {
		return sty.Width(string(runes[:n+1])+"...") > width
	})
	runes = runes[:max(1, shown)]
	return string(runes) + "..."
}

// labels places words in the free space above the data, in rows, each with a thin line to its point, so that none covers
// another and none covers data.
type labels struct {
	frame  vg.Rectangle // from the highest reading to the top of the plot
	taken  []vg.Rectangle
	placed []label
}

type label struct {
	box  vg.Rectangle
	at   vg.Point
	ink  color.Color
	text string
}

const (
	labelHeight = textSize * 1.5 // a row of labels
	labelPad    = 4
)

// place finds room for s, as low as it is free.
func (l *labels) place(ink color.Color, at vg.Point, s string) {
	sty := textStyle(textSize, ink, text.XLeft, text.YBottom)
	s = fit(sty, s, l.frame.Size().X-2*labelPad)
	width := sty.Width(s) + 2*labelPad
	box := vg.Rectangle{Min: vg.Point{X: at.X, Y: l.frame.Min.Y + labelPad}}
	if box.Min.X+width > l.frame.Max.X {
		box.Min.X = max(l.frame.Min.X, at.X-width)
	}
	box.Max = vg.Point{X: box.Min.X + width, Y: box.Min.Y + labelHeight}
	for over := l.overlapped(box); over != nil; over = l.overlapped(box) {
		box.Min.Y = over.Max.Y
		box.Max.Y = box.Min.Y + labelHeight
	}
	l.taken = append(l.taken, box)
	l.placed = append(l.placed, label{box, at, ink, s})
}

// draw draws the lines, and over them the words on white.
func (l *labels) draw(c draw.Canvas) {
	for _, w := range l.placed {
		c.StrokeLine2(draw.LineStyle{Color: w.ink, Width: 0.8}, w.at.X, w.at.Y, w.at.X, w.box.Max.Y-2)
	}
	for _, w := range l.placed {
		sty := textStyle(textSize, w.ink, text.XLeft, text.YBottom)
		c.FillPolygon(color.White, corners(vg.Rectangle{
			Min: vg.Point{X: w.box.Min.X + 1, Y: w.box.Min.Y + 1}, Max: vg.Point{X: w.box.Max.X - 1, Y: w.box.Max.Y - 1},
		}))
		c.FillText(sty, vg.Point{X: w.box.Min.X + labelPad, Y: w.box.Min.Y + 2 + sty.FontExtents().Descent}, w.text)
	}
}

// overlapped is what is in the way of a box, nil where it is free.
func (l *labels) overlapped(b vg.Rectangle) *vg.Rectangle {
	for i, t := range l.taken {
		if b.Min.X < t.Max.X && t.Min.X < b.Max.X && b.Min.Y < t.Max.Y && t.Min.Y < b.Max.Y {
			return &l.taken[i]
		}
	}
	return nil
}

// corners are a rectangle's, in order.
func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}
