package memory

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// A side is a further lane of a log. Each is drawn in a small plot below the large one.
type side struct {
	*Chart           // of the lane, without words
	failing []string // the checks that fail in the lane
	reading int64    // the largest reading, bytes
}

const (
	mostSides  = 16  // the most small plots
	sideRows   = 2   // the most rows of them
	sideWidth  = 140 // the least width of a small plot, points
	sideHeight = 120 // of a row, points: the words, the plot, and the space around them
)

// laneName returns the name of a lane, with its rank if any lane of the log has one.
func (c *Chart) laneName(l record.Lane) string { return l.Name(c.ranks) }

// collectSides collects the other lanes. It takes the lanes that fail first, and then those with
// the largest readings. Those that it takes are sorted by rank and device.
func (c *Chart) collectSides(tl *timeline.Timeline, rep *check.Report, kept *places) {
	failing := pattern.Failing(tl, rep, c.lanes)
	others := slices.Clone(c.lanes[1:])
	slices.SortStableFunc(others, func(a, b pattern.Lane) int {
		return cmp.Compare(min(1, len(failing[b.Lane])), min(1, len(failing[a.Lane])))
	})
	for _, l := range others[min(mostSides, len(others)):] {
		c.rest = max(c.rest, l.Top)
	}
	for _, l := range others[:min(mostSides, len(others))] {
		s := &side{
			failing: failing[l.Lane], reading: l.Top,
			Chart: &Chart{clock: c.clock, lane: l.Lane, lanes: c.lanes, ranks: c.ranks},
		}
		c.others = append(c.others, s)
		s.collectLane(tl, rep, kept)
		s.shortages = slices.DeleteFunc(s.shortages, func(n shortage) bool { return n.lane != s.lane })
		s.shortageNote = plots.Note{}
	}
}

// sideLayout returns how many small plots a picture has, and in how many columns and rows.
func (c *Chart) sideLayout(width vg.Length) (n, columns, rows int) {
	most := max(1, int(width/sideWidth))
	n = min(len(c.others), sideRows*most)
	if n == 0 {
		return 0, 0, 0
	}
	rows = (n + most - 1) / most
	return n, (n + rows - 1) / rows, rows
}

// noteLanes adds a note that says which device the large plot shows, and what the small plots and
// the devices without a plot are. The parameter n is the number of small plots.
func (p *picture) noteLanes(n int) {
	if len(p.lanes) < 2 {
		return
	}
	which := "the busiest"
	if p.fails {
		which = "the failing one"
	}
	note := fmt.Sprintf("The plot shows %s, %s of %d devices.", p.laneName(p.lane), which,
		len(p.lanes))
	if n > 0 {
		note = strings.Replace(note, "The plot", "The large plot", 1)
	}
	switch {
	case n == 1 && len(p.lanes) == 2:
		note += " The small plot shows the other over the same time, with a scale of its own."
	case n > 0:
		note += " The small plots show others over the same time, with a scale of their own."
	}
	most := p.rest
	for _, s := range p.others[n:] {
		most = max(most, s.reading)
	}
	if left := len(p.lanes) - 1 - n; left > 0 && n > 0 {
		note += fmt.Sprintf(" Not drawn: %s, all at most %s.", wording.Plural(left, "device"),
			record.FormatBytes(most))
	}
	p.notes = slices.Insert(p.notes, 0, note)
}

// chooseSides chooses the small plots of a picture on this canvas: those with failures first, then
// those with the largest readings. A low picture has none.
func (p *picture) chooseSides(c draw.Canvas) {
	n, columns, rows := p.sideLayout(c.Size().X)
	height := vg.Length(rows) * sideHeight
	if height > c.Size().Y/2.5 {
		n, height = 0, 0
	}
	p.noteLanes(n)
	p.sides, p.sideColumns, p.sidesHeight = slices.Clone(p.others[:n]), columns, height
	slices.SortStableFunc(p.sides, func(a, b *side) int {
		return cmp.Or(cmp.Compare(min(1, len(b.failing)), min(1, len(a.failing))),
			cmp.Compare(a.lane.Rank, b.lane.Rank), cmp.Compare(a.lane.Device, b.lane.Device))
	})
}

// drawSides draws the small plots. All have the same scale, whose numbers are at the left.
func (p *picture) drawSides(c draw.Canvas) {
	if len(p.sides) == 0 {
		return
	}
	const above, words, below, between = 14, 3 * plots.SmallSize, 8, 12
	top := 1.0
	for _, s := range p.sides {
		top = max(top, 1.05*s.top)
	}
	ticks := plots.ValueTicks(0, top, check.Bytes, 2)
	numbers := vg.Length(0)
	style := plots.Text(plots.SmallSize, plots.SoftInk, text.XRight, text.YCenter)
	for _, t := range ticks {
		numbers = max(numbers, style.Width(t.Label)+6)
	}
	width := (c.Size().X - numbers + between) / vg.Length(p.sideColumns)
	for i, s := range p.sides {
		row, column := i/p.sideColumns, i%p.sideColumns
		box := vg.Rectangle{Min: vg.Point{X: c.Min.X + numbers + vg.Length(column)*width}}
		box.Max = vg.Point{X: box.Min.X + width - between, Y: c.Max.Y - vg.Length(row)*sideHeight - above}
		box.Min.Y = box.Max.Y + above + below - sideHeight
		p.drawSideWords(draw.Canvas{Canvas: c.Canvas, Rectangle: box}, s)

		area := draw.Canvas{Canvas: c.Canvas, Rectangle: box}
		area.Max.Y -= words
		small := &picture{
			Chart: s.Chart, Page: p.Page, columns: int(area.Size().X * 96 / 72), small: true,
		}
		g := plots.NewAxes()
		g.HideAxes()
		g.X.Min, g.X.Max = 0, s.clock.end
		if !s.clock.timed {
			g.X.Min, g.X.Max = 0.5, s.clock.end+0.5
		}
		g.Y.Min, g.Y.Max = 0, top
		g.Add(plots.Layer(func(c draw.Canvas, g *plot.Plot) {
			plots.DrawLinesAt(c, g, ticks)
		}), plots.Layer(small.drawSeries),
			plots.Layer(small.drawIdle), plots.Layer(small.drawShortages),
			plots.Layer(small.drawCrosses))
		g.Draw(area)
		if column == 0 {
			_, y := g.Transforms(&area)
			for _, t := range ticks {
				area.FillText(style, vg.Point{X: area.Min.X - 4, Y: y(t.Value)}, p.Encode(t.Label))
			}
		}
	}
}

// drawSideWords writes the name of the device and its highest reading, or the checks that fail.
func (p *picture) drawSideWords(c draw.Canvas, s *side) {
	ink, facts := color.Color(plots.Ink), "highest "+record.FormatBytes(s.reading)
	if len(s.failing) > 0 {
		ink, facts = plots.FailedColor, "FAIL: "+strings.Join(s.failing, ", ")
	}
	c = p.DrawLine(c, plots.SmallSize, ink, p.laneName(s.lane))
	if ink == plots.Ink {
		ink = plots.SoftInk
	}
	p.DrawLine(c, plots.SmallSize, ink, facts)
}

// heightWithSides returns the height in pixels of a picture that has room for the small plots.
func (c *Chart) heightWithSides(opts plots.Options) int {
	_, _, rows := c.sideLayout(vg.Length(opts.PixelsWide())*vg.Inch/96 - plots.Margins)
	return opts.PixelsHigh() + int(math.Ceil(float64(rows)*sideHeight*96/72))
}
