package memory

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// idleOf returns, for each lane, the index of the file's last checkpoint that has a level and is no
// sample. Its level is the file's idle level.
func idleOf(f *timeline.File) map[record.Lane]int {
	last := map[record.Lane]int{}
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if !c.Sampled && (c.Has(record.Allocated) || c.Has(record.Used) || c.Has(record.Reserved)) {
			last[c.Lane] = i
		}
	}
	return last
}

// collectIdle collects the idle levels of the files that ended well. Under the peaks of the files,
// they show a leak.
func (c *Chart) collectIdle(
	tl *timeline.Timeline, kept *places, isOfOtherLane func(*timeline.File) bool,
) {
	var levels []reading
	var first, last string
	ends := slices.ContainsFunc(tl.Files, func(f *timeline.File) bool {
		return f.Status != record.StatusUnknown
	})
	for _, f := range tl.Files {
		well := f.Status == record.StatusOK || !ends && len(f.OOMs) == 0
		if isOfOtherLane(f) || !well {
			continue
		}
		idle := idleOf(f)
		for i := range f.Checkpoints {
			at := &f.Checkpoints[i]
			is := at.Lane == c.lane && idle[c.lane] == i
			if kept != nil {
				is = at.Lane == c.lane && kept.idle[at.Pos]
			}
			size, ok := at.Get(c.quantity)
			if !is || at.Sampled || !ok {
				continue
			}
			levels = append(levels, reading{
				plots.Point{X: c.clock.at[at.Pos], Y: float64(size.Bytes)},
				process{f.Run, f.Process},
			})
			last = record.FormatBytes(size.Bytes) + " after " + idleFile(f, len(tl.Files))
			if first == "" {
				first = last
			}
		}
	}
	if len(levels) < 2 {
		return
	}
	c.idle = series{
		name:   fmt.Sprintf("idle level, when a file ends: %s, %s", first, last),
		pieces: pieces(levels),
	}
}

// idleFile names a file for the legend.
func idleFile(f *timeline.File, files int) string {
	switch {
	case f.Index > 0:
		return "file " + wording.Count(f.Index)
	case files == 1:
		return "the file"
	}
	return fileLabel(f)
}

var idleStyle = draw.LineStyle{Color: plots.Ink, Width: 2}

// onlyIdle reports whether the readings of a series hardly differ from the idle levels, so that the
// line of the idle level would hide them: with one reading a file, for example.
func (p *picture) onlyIdle() bool {
	if p.hidesKnown {
		return p.hides
	}
	var idle []plots.Point
	for _, piece := range p.idle.pieces {
		idle = append(idle, piece...)
	}
	slices.SortStableFunc(idle, func(a, b plots.Point) int { return cmp.Compare(a.X, b.X) })
	near := p.top / 100 // about the width of the line
	p.hidesKnown, p.hides = true, len(idle) > 0 && slices.ContainsFunc(p.series, func(s series) bool {
		return !s.dashed && !slices.ContainsFunc(slices.Concat(s.pieces...), func(r plots.Point) bool {
			i, _ := slices.BinarySearchFunc(idle, r.X, func(at plots.Point, x float64) int {
				return cmp.Compare(at.X, x)
			})
			before, after := idle[max(0, min(i, len(idle))-1)].Y, idle[min(i, len(idle)-1)].Y
			return r.Y < min(before, after)-near || r.Y > max(before, after)+near
		})
	})
	return p.hides
}

// idleStyle returns the style of the idle level. Below the line of the readings it is wider, so
// that both can be seen.
func (p *picture) idleStyle() draw.LineStyle {
	style := idleStyle
	if p.onlyIdle() {
		style.Width = 4.5
	}
	return style
}

// drawIdle draws the idle levels as a line over the other lines, with a white edge.
func (p *picture) drawIdle(c draw.Canvas, g *plot.Plot) {
	place := plots.Placing(g, &c)
	style := p.idleStyle()
	edge := style
	edge.Color, edge.Width = plots.Paper, style.Width+idleStyle.Width
	lines := make([][]vg.Point, 0, len(p.idle.pieces))
	for _, piece := range p.idle.pieces {
		lines = append(lines, place(plots.Thin(piece, p.columns)))
	}
	for _, style := range []draw.LineStyle{edge, style} {
		for _, line := range lines {
			c.StrokeLines(style, strokes(line)...)
		}
	}
	many := p.small || p.onlyIdle() || p.idle.count() > mostDots
	if many && !slices.ContainsFunc(lines, isDot) {
		return
	}
	for _, line := range lines {
		if !isDot(line) && many {
			continue
		}
		for _, at := range line {
			drawDot(c, at, idleStyle.Color)
		}
	}
}

// isDot reports whether a line is a single point, which a stroke would not show.
func isDot(line []vg.Point) bool { return len(line) == 1 }

// drawIdleThumb draws the idle level for the legend.
func drawIdleThumb(c draw.Canvas, r vg.Rectangle) {
	y := plots.Middle(r).Y
	c.StrokeLine2(idleStyle, r.Min.X, y, r.Max.X, y)
	for _, x := range []vg.Length{r.Min.X, plots.Middle(r).X, r.Max.X} {
		drawDot(c, vg.Point{X: x, Y: y}, idleStyle.Color)
	}
}
