package fragmentation

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A picture draws the segments of a device. The upper panel shows the reserved memory over the
// files, the lower panel the free memory. The most interesting moment is drawn to their right.
type picture struct {
	plots.Page
	*laneSegments
	moment    *frame
	partial   bool
	files     int // 0 if the log has none; the axis then counts maps
	notes     []string
	total     float64 // the largest size of the device in the maps, in bytes; 0 if unknown
	top, free float64 // the highest values of the upper and the lower panel, in bytes
	others    bool    // other processes or CUDA contexts use memory of the device
}

func newPicture(f *Maps, l *laneSegments) *picture {
	p := &picture{laneSegments: l, moment: l.moment(), partial: f.Partial, files: f.files}
	waits := false
	for _, f := range l.frames {
		p.total = max(p.total, float64(f.total))
		p.top = max(p.top, float64(f.total), float64(f.sums.Reserved))
		p.free = max(p.free, float64(f.free()), float64(f.requested))
		p.others = p.others || f.others() > 0
		waits = waits || f.used == 0
	}
	if len(f.lanes) > 1 || f.other > 0 {
		n := wording.Count(len(f.lanes))
		if f.other > 0 {
			n = "more than " + n
		}
		p.notes = append(p.notes, fmt.Sprintf("The picture shows %s of %s devices.",
			wording.Lane(l.lane), n))
	}
	if l.maps > len(l.frames) {
		p.notes = append(p.notes,
			fmt.Sprintf("The picture shows %s of %s segment maps, among them the extreme values "+
				"and, if any, the first and the last failed allocation.",
				wording.Count(len(l.frames)), wording.Count(l.maps)))
	}
	switch {
	case p.total == 0:
		p.notes = append(p.notes,
			"The segment maps do not give the size of the card (total=), so the driver's free "+
				"memory is not counted.")
	case waits:
		p.notes = append(p.notes,
			"Some segment maps do not give the memory in use on the card (used=), so all memory "+
				"that is not reserved counts as free.")
	}
	return p
}

// others returns the bytes in use on the device that this allocator did not reserve.
func (f *frame) others() int64 { return max(0, f.used-f.sums.Reserved) }

// where returns the name of a frame's file or segment map.
func (p *picture) where(f *frame) string {
	if p.files == 0 || f.of.file == 0 {
		s := "segment map " + wording.Count(f.number)
		if f.requested == 0 && f.name != "" {
			s += ", " + wording.Shorten(sink.Line(f.name), 40)
		}
		return s
	}
	return "file " + wording.Count(f.of.file)
}

// title returns a sentence that says what the picture shows, and its colour.
func (p *picture) title() (string, color.Color) {
	f := p.moment
	free, piece, asked := wording.Bytes(float64(f.free())), wording.Bytes(float64(f.piece())),
		wording.Bytes(float64(f.requested))
	if f.requested == 0 {
		nothing, ink := "No allocation failed", color.Color(plots.AllocatedColor)
		if p.partial {
			nothing, ink = "No segment map of a failed allocation", plots.Ink
		}
		if f.stranded() == 0 {
			return nothing + "; all free memory was in one piece", ink
		}
		return fmt.Sprintf("%s; at the worst moment, %s were free in sum, %s in one piece (%s)",
			nothing, free, piece, p.where(f)), ink
	}
	s := fmt.Sprintf("Out of memory in %s: asked for %s; %s free in sum, ", p.where(f), asked, free)
	switch {
	case f.requested > f.free():
		s += "too little"
	case f.requested > f.piece():
		s += piece + " in one piece"
	default:
		s += piece + " in one piece, which should have been enough"
	}
	return s, plots.FailedColor
}

func (p *picture) subtitle() string {
	var parts []string
	if p.files > 0 {
		parts = append(parts, wording.Plural(p.files, "file"))
	}
	parts = append(parts, wording.Plural(p.maps, "segment map"))
	s := strings.Join(parts, ", ") + "; reserved up to " + wording.Bytes(float64(p.high))
	if p.total > 0 {
		s += " of " + wording.Bytes(p.total)
	}
	if p.failures > 1 {
		s += "; " + wording.Count(p.failures) + " allocations failed, the first one is shown"
	}
	return s
}

// The colours and names of the states of memory.
var (
	useColors = [uses]color.NRGBA{
		inUse: plots.AllocatedColor, pending: plots.RssColor, pinned: plots.ReservedColor,
		releasable: {R: 0x9B, G: 0xD9, B: 0xC4, A: 0xFF},
	}
	useNames = [uses]string{
		inUse: "in use", pending: "freed, waits for a stream",
		pinned: "free, but pinned", releasable: "free, can be given back",
	}
	othersColor = color.NRGBA{R: 0xD4, G: 0xD4, B: 0xD4, A: 0xFF}
	voidColor   = color.NRGBA{R: 0xFF, G: 0xFF, B: 0xFF, A: 0xFF} // not reserved
)

// The sizes of the picture's parts, in points or as fractions.
const (
	sideShare, sideMax = 0.32, 350 // share of the width for the moment, and its largest width
	lowShare, lowLeast = 0.33, 120 // share of the height for the lower panel, and its least height
	markRow            = 20        // the height above the data for the marks of failed allocations
)

func (p *picture) draw(c draw.Canvas) {
	c = plots.Blank(c)
	title, ink := p.title()
	const low = 380 // points
	lines := 2
	if c.Size().Y < low {
		lines = 1
	}
	c = p.DrawTitle(c, ink, title, lines == 1)
	c = p.DrawClauses(c, plots.TextSize, plots.Ink, p.subtitle(), lines)
	c.Max.Y -= 5
	c = p.DrawLegend(c, p.legend())
	c = p.DrawFoot(c, p.notes)
	side := min(sideMax, sideShare*c.Size().X)
	cut := c.Min.Y + min(max(lowShare*c.Size().Y, lowLeast), c.Size().Y/2)
	const names = 2.6 * plots.TextSize // the height of the bars' names, below the data
	upper, lower, table := c, c, c
	upper.Max.X, lower.Max.X, table.Min.X = c.Max.X-side, c.Max.X-side, c.Max.X-side+14
	upper.Min.Y, lower.Max.Y, table.Max.Y = cut, cut, cut-names
	upper = p.DrawLine(upper, plots.TextSize, plots.Ink,
		"memory of the card by segment, the oldest at the bottom")
	upper.Max.Y -= markRow

	above, below := p.axes(p.top, upper), p.axes(p.free, lower)
	above.HideX()
	ticks, label := p.ticks(lower.Size().X)
	below.X.Tick.Marker, below.X.Label.Text = plot.ConstantTicks(ticks), label
	above.Add(plots.Layer(p.drawMap), plots.Layer(p.drawCard), plots.Layer(p.drawMarks))
	below.Add(plots.Layer(plots.DrawGrid), plots.Layer(p.drawFree), plots.Layer(p.drawMark))
	lower = p.DrawLegend(draw.Crop(lower, 0, 0, 0, -8), p.freeLegend())
	lower.Max.Y -= 2
	upper, lower = aligned(above, upper, below, lower)
	above.Draw(upper)
	below.Draw(lower)
	data := above.DataCanvas(upper)
	_, y := above.Transforms(&data)
	data.Min.X, data.Max.X = table.Min.X, c.Max.X
	p.drawMoment(data, y)
	p.drawTable(draw.Crop(table, 0, 0, 0, -4))
}

// aligned crops the canvases of two plots, one above the other, so that the areas of their data
// have the same left and right edges.
func aligned(
	above *plot.Plot, upper draw.Canvas, below *plot.Plot, lower draw.Canvas,
) (u, l draw.Canvas) {
	a, b := above.DataCanvas(upper), below.DataCanvas(lower)
	left, right := max(a.Min.X, b.Min.X), min(a.Max.X, b.Max.X)
	return draw.Crop(upper, left-a.Min.X, right-a.Max.X, 0, 0),
		draw.Crop(lower, left-b.Min.X, right-b.Max.X, 0, 0)
}

// axes returns the axes of a panel with values up to top.
func (p *picture) axes(top float64, c draw.Canvas) *plot.Plot {
	g := plots.NewAxes()
	g.Y.Min, g.Y.Max = 0, max(1, 1.02*top)
	g.Y.Tick.Marker = plot.ConstantTicks(plots.ValueTicks(0, top, check.Bytes,
		max(2, int(c.Size().Y/40))))
	g.X.Min, g.X.Max = p.ends()
	return g
}

// ends returns the first and the last value of the x axis. File n is drawn from n-1 to n.
func (p *picture) ends() (from, to float64) {
	from = p.at(p.frames[0]) - 1
	if p.files > 0 {
		from = float64(max(1, p.frames[0].of.file) - 1)
	}
	return from, max(p.at(p.frames[len(p.frames)-1]), from+1)
}

// at returns the x value of a frame.
func (p *picture) at(f *frame) float64 {
	if p.files == 0 {
		return float64(f.number)
	}
	if f.of.file == 0 {
		return 0 // before the first file
	}
	return float64(f.of.file-1) + float64(f.place)/float64(f.of.maps[p.lane])
}

func (p *picture) ticks(width vg.Length) ([]plot.Tick, string) {
	from, to := p.ends()
	label := "file"
	if p.files == 0 {
		label = "segment map"
	}
	ticks := plots.CountTicks(from+1, to, max(2, int(width/70)))
	for i := range ticks {
		ticks[i].Value -= 0.5 // in the middle of the file
	}
	return ticks, label
}

func (p *picture) legend() []plots.LegendEntry {
	fill := func(ink color.Color) func(c draw.Canvas, r vg.Rectangle) {
		return func(c draw.Canvas, r vg.Rectangle) {
			c.FillPolygon(ink, plots.Corners(r))
			c.StrokeLines(draw.LineStyle{Color: color.Gray{Y: 0xA0}, Width: 0.5},
				append(plots.Corners(r), r.Min))
		}
	}
	var out []plots.LegendEntry
	names := [uses]string{
		"in use", "freed, a stream may still use it", "free, but pinned by a block in use",
		"free, can be given back",
	}
	for _, use := range []int{inUse, pinned, releasable, pending} {
		if use != pending || p.has(pending) {
			out = append(out, plots.LegendEntry{Name: names[use], Thumb: fill(useColors[use])})
		}
	}
	if p.total > 0 {
		out = append(out, plots.LegendEntry{Name: "not reserved", Thumb: fill(voidColor)})
	}
	if p.others {
		out = append(out, plots.LegendEntry{
			Name:  "other processes, contexts",
			Thumb: fill(othersColor),
		})
	}
	if p.failures > 0 {
		out = append(out, plots.LegendEntry{
			Name: "out of memory",
			Thumb: func(c draw.Canvas, r vg.Rectangle) {
				at := plots.Middle(r)
				at.Y -= plots.MarkHeight / 2
				drawFailure(c, at)
			},
		})
	}
	return out
}

// freeLegend returns the legend of the lower panel.
func (p *picture) freeLegend() []plots.LegendEntry {
	line := func(sty draw.LineStyle) func(c draw.Canvas, r vg.Rectangle) {
		return func(c draw.Canvas, r vg.Rectangle) {
			y := plots.Middle(r).Y
			c.StrokeLine2(sty, r.Min.X, y, r.Max.X, y)
		}
	}
	out := []plots.LegendEntry{
		{Name: "free in sum", Thumb: line(sumStyle)},
		{Name: "in one piece", Thumb: line(pieceStyle)},
		{Name: "in other pieces", Thumb: func(c draw.Canvas, r vg.Rectangle) {
			c.FillPolygon(strandedColor, plots.Corners(r))
		}},
	}
	if p.failures > 0 {
		out = append(out, plots.LegendEntry{
			Name:  "failed request",
			Thumb: func(c draw.Canvas, r vg.Rectangle) { plots.DrawCross(c, plots.Middle(r)) },
		})
	}
	return out
}

var (
	sumStyle      = draw.LineStyle{Color: plots.ReservedColor, Width: 1.6}
	pieceStyle    = draw.LineStyle{Color: plots.Ink, Width: 2}
	strandedColor = plots.Tint(plots.ReservedColor, 0.45)
)

func (p *picture) has(use int) bool {
	for _, f := range p.frames {
		for i := range f.bands {
			if f.bands[i].parts[use] > 0 {
				return true
			}
		}
	}
	return false
}

// drawFailure draws the triangle that marks a failed allocation.
func drawFailure(c draw.Canvas, tip vg.Point) {
	const half = 5
	c.FillPolygon(plots.FailedColor, []vg.Point{
		tip,
		{X: tip.X - half, Y: tip.Y + plots.MarkHeight},
		{X: tip.X + half, Y: tip.Y + plots.MarkHeight},
	})
}

// drawCard draws a line at the size of the card's memory.
func (p *picture) drawCard(c draw.Canvas, g *plot.Plot) {
	if p.total == 0 {
		return
	}
	_, y := g.Transforms(&c)
	at := y(p.total)
	c.StrokeLine2(draw.LineStyle{Color: plots.Ink, Width: 1.2}, c.Min.X, at, c.Max.X, at)
}

// drawMarks marks the failed allocations.
func (p *picture) drawMarks(c draw.Canvas, g *plot.Plot) {
	x, _ := g.Transforms(&c)
	last := vg.Length(-100)
	for _, f := range p.frames {
		if at := x(p.at(f)); f.requested > 0 && at-last >= 3 {
			drawFailure(c, vg.Point{X: at, Y: c.Max.Y})
			last = at
		}
	}
	p.drawMark(c, g)
}

// drawMark marks the moment that is shown to the right of the panels.
func (p *picture) drawMark(c draw.Canvas, g *plot.Plot) {
	x, _ := g.Transforms(&c)
	ink := color.Color(plots.Ink)
	if p.moment.requested > 0 {
		ink = plots.FailedColor
	}
	at := x(p.at(p.moment))
	c.StrokeLine2(draw.LineStyle{Color: color.White, Width: 2.6}, at, c.Min.Y, at, c.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, at, c.Min.Y, at, c.Max.Y)
}

// drawFree draws all free memory and the largest piece as lines. A large request cannot use the
// memory between the two lines.
func (p *picture) drawFree(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	var sums, pieces []vg.Point
	before := c.Min.X
	for _, f := range p.frames { // each as wide as in the map above
		at := x(p.at(f))
		for _, at := range []vg.Length{before, at} {
			sums = append(sums, vg.Point{X: at, Y: y(float64(f.free()))})
			pieces = append(pieces, vg.Point{X: at, Y: y(float64(f.piece()))})
		}
		before = at
	}
	around := slices.Clone(sums)
	for _, at := range slices.Backward(pieces) {
		around = append(around, at)
	}
	c.FillPolygon(strandedColor, around)
	c.StrokeLines(sumStyle, sums)
	c.StrokeLines(pieceStyle, pieces)
	last := vg.Length(-100)
	for _, f := range p.frames {
		if at := x(p.at(f)); f.requested > 0 && at-last >= 6 {
			plots.DrawCross(c, vg.Point{X: at, Y: y(float64(f.requested))})
			last = at
		}
	}
}

// drawTable lists how much memory is in each state at the moment that is drawn.
func (p *picture) drawTable(c draw.Canvas) {
	f := p.moment
	type row struct {
		ink   color.Color
		name  string
		bytes int64
	}
	rows := []row{
		{ink: useColors[inUse], name: useNames[inUse], bytes: f.sums.Allocated},
		{ink: useColors[pending], name: useNames[pending], bytes: f.sums.Pending},
		{ink: useColors[pinned], name: useNames[pinned], bytes: f.sums.Pinned()},
		{ink: useColors[releasable], name: useNames[releasable], bytes: f.sums.Releasable},
		{ink: voidColor, name: "not reserved", bytes: f.unreserved},
		{ink: othersColor, name: "other processes, contexts", bytes: f.others()},
	}
	name, value := plots.Text(plots.TextSize, plots.Ink, text.XLeft, text.YCenter),
		plots.Text(plots.TextSize, plots.Ink, text.XRight, text.YCenter)
	const line = plots.TextSize * 1.5
	y := c.Max.Y
	for _, r := range rows {
		if told := r.name == useNames[releasable] ||
			r.name == "not reserved" && p.total > 0; r.bytes == 0 && !told {
			continue
		}
		if y -= line; y < c.Min.Y {
			return
		}
		box := vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: y - 5},
			Max: vg.Point{X: c.Min.X + 16, Y: y + 5},
		}
		c.FillPolygon(r.ink, plots.Corners(box))
		c.StrokeLines(draw.LineStyle{Color: color.Gray{Y: 0xA0}, Width: 0.5},
			append(plots.Corners(box), box.Min))
		size := record.FormatBytes(r.bytes)
		c.FillText(value, vg.Point{X: c.Max.X, Y: y}, p.Encode(size))
		const left, gap = 22, 8
		const next = plots.TextSize * 1.2
		width := c.Size().X - left - gap - value.Width(size)
		lines := plots.Wrap(name, r.name, width)
		if y-next*vg.Length(len(lines)-1) < c.Min.Y {
			lines = []string{plots.Fit(name, r.name, width)}
		}
		for i, words := range lines {
			if i > 0 {
				y -= next
			}
			c.FillText(name, vg.Point{X: c.Min.X + left, Y: y}, p.Encode(words))
		}
	}
}
