package memory

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// A unit is a part of the x axis: a file, several files, or a part of a file. In the last case,
// files is 0 or 1.
type unit struct {
	from, to float64
	files    int
}

// collectUnits finds the stretches of the x axis that a narrow column of a band must not cut: the
// files, or in a long log the stretches of the sketch. A column with a part of a file would show no
// peak, where the file has one.
func (c *Chart) collectUnits(tl *timeline.Timeline, kept *places) {
	var of *timeline.File
	for f, at := range tl.All() {
		if at.Lane != c.lane || f.Outside {
			continue
		}
		x := c.clock.at[at.Pos]
		begins := f != of
		if kept != nil {
			begins = kept.begins[at.Pos]
		}
		if begins || len(c.units) == 0 {
			c.units = append(c.units, unit{from: x, to: x})
		}
		last := &c.units[len(c.units)-1]
		last.from, last.to = min(last.from, x), max(last.to, x)
		if f != of {
			of = f
			last.files++
		}
	}
	slices.SortStableFunc(c.units, func(a, b unit) int { return cmp.Compare(a.from, b.from) })
}

// edges returns where the columns of a band begin. A column is at least `least` wide. It holds at
// least two whole units, or a part of a file that is much longer than the others, or of the time
// between two files.
func (c *Chart) edges(least float64) []float64 {
	edges := []float64{0}
	wide := 20 * least
	split := func(from, to float64) {
		n := int((to - from) / least)
		for i := range n {
			edges = append(edges, from+float64(i)*(to-from)/float64(n))
		}
	}
	first := 0 // the first unit of the last column
	for i, u := range c.units {
		next := c.clock.end
		if i+1 < len(c.units) {
			next = c.units[i+1].from
		}
		last := edges[len(edges)-1]
		switch {
		case u.from < last: // two processes work at the same time
			continue
		case u.files <= 1 && u.to-u.from > wide:
			split(u.from, u.to)
			first = i + 1
		case u.from-last >= least && endBefore(c.units[first:i], u.from) >= 2:
			edges = append(edges, u.from)
			first = i
		}
		if next-u.to > wide {
			split(math.Nextafter(u.to, next), next) // u.to belongs to the unit
			first = i + 1
		}
	}
	if len(c.units) == 0 {
		split(0, c.clock.end)
	}
	return edges
}

// endBefore returns how many units end before x. A unit that ends at x may have its peak there.
func endBefore(units []unit, x float64) (n int) {
	for _, u := range units {
		if u.to < x {
			n++
		}
	}
	return n
}

// A band is a series in columns: the lowest and the highest point of each.
type band struct{ lows, highs []plots.Point }

// bands returns a series as bands, one for each piece. Pieces that are less than gap apart become
// one band.
func (s *series) bands(edges []float64, gap float64) []band {
	var out []band
	end := 0.0
	for _, piece := range s.pieces {
		if len(out) == 0 || piece[0].X-end > gap {
			out = append(out, band{})
		}
		end = max(end, piece[len(piece)-1].X)
		last := &out[len(out)-1]
		at := 0
		for from, to := 0, 0; from < len(piece); from = to {
			for at+1 < len(edges) && edges[at+1] <= piece[from].X {
				at++
			}
			to = from + 1
			for to < len(piece) && (at+1 == len(edges) || piece[to].X < edges[at+1]) {
				to++
			}
			low, high := plots.Extremes(piece[from:to])
			last.lows = append(last.lows, piece[from+low])
			last.highs = append(last.highs, piece[from+high])
		}
	}
	return out
}

// drawBands draws a series as bands.
func (p *picture) drawBands(c draw.Canvas, bands []band, style draw.LineStyle,
	place func([]plots.Point) []vg.Point,
) {
	style.Width = 1.2
	for _, b := range bands {
		low, high := place(b.lows), place(b.highs)
		if len(low) == 1 {
			c.StrokeLine2(style, low[0].X, low[0].Y, high[0].X, high[0].Y)
			continue
		}
		outline := slices.Clone(high)
		for _, at := range slices.Backward(low) {
			outline = append(outline, at)
		}
		c.FillPolygon(plots.Tint(style.Color, 0.3), outline)
		c.StrokeLines(style, low, high)
	}
}
