package overshards

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// A picture is a chart that is being drawn.
type picture struct {
	*Chart
	plots.Page
	columns int
}

// Sizes in points: of a row, of the band of the shards without a row, of the axis, and of the title
// of a panel. The others are in pixels: the least width of a panel, and what is around the panels.
const (
	rowHeight, bandHeight  = 15, 120
	axisHeight, headHeight = 30, 40
	panelWidth, around     = 520, 130
	pointsAPixel           = 0.75
)

// arrange places the panels, and chooses the plot's height if it is 0.
func (p *picture) arrange(opts plots.Options) plots.Options {
	p.columns = 1
	if len(p.panels) > 1 && opts.PixelsWide() >= 2*panelWidth {
		p.columns = 2
	}
	highest := vg.Length(0)
	for _, panel := range p.panels {
		highest = max(highest, panel.height())
	}
	if opts.Height == 0 {
		rows := (len(p.panels) + p.columns - 1) / p.columns
		opts.Height = max(plots.MinHeight, around+rows*int((highest+12)/pointsAPixel))
	}
	return opts
}

// height returns the height that a panel needs.
func (p *panel) height() vg.Length {
	h := vg.Length(headHeight + axisHeight + rowHeight*(min(len(p.rows), rowsMax)+1))
	if len(p.rows) > rowsMax {
		h += bandHeight
	}
	return h
}

func (p *picture) draw(c draw.Canvas) {
	c = plots.Blank(c)
	c = p.DrawTitle(c, plots.VerdictInk(p.verdict), p.title, false)
	c = p.DrawLine(c, plots.TextSize, plots.SoftInk, p.extent)
	c.Max.Y -= 4
	c = p.DrawLegend(c, legend())
	c.Max.Y -= 4
	tiles := draw.Tiles{
		Cols: p.columns, Rows: (len(p.panels) + p.columns - 1) / p.columns, PadX: 24, PadY: 12,
	}
	for i, panel := range p.panels {
		p.drawPanel(tiles.At(c, i%p.columns, i/p.columns), panel)
	}
}

// inks are the colours of the verdicts of shards.
var inks = map[check.Verdict]color.Color{
	check.Fail: plots.FailedColor, check.Undecided: plots.SoftInk, check.Pass: plots.AllocatedColor,
}

var (
	limitStyle = draw.LineStyle{Color: plots.FailedColor, Width: 1.4, Dashes: []vg.Length{5, 3}}
	zeroStyle  = draw.LineStyle{Color: plots.SoftInk, Width: 1}
)

func legend() []plots.LegendEntry {
	shard := func(name string, v check.Verdict) plots.LegendEntry {
		return plots.LegendEntry{Name: name, Thumb: func(c draw.Canvas, r vg.Rectangle) {
			y := plots.Middle(r).Y
			c.StrokeLine2(draw.LineStyle{Color: inks[v], Width: 1.4}, r.Min.X, y, r.Max.X, y)
			drawPoint(c, v, plots.Middle(r))
		}}
	}
	return []plots.LegendEntry{
		shard("a shard that grows, 95 % interval", check.Fail),
		shard("undecided", check.Undecided), shard("passes", check.Pass),
		{Name: "all shards together", Thumb: func(c draw.Canvas, r vg.Rectangle) {
			drawDiamond(c, r.Min.X, plots.Middle(r).X, r.Max.X, plots.Middle(r).Y)
		}},
		{Name: "allowed", Thumb: func(c draw.Canvas, r vg.Rectangle) {
			x := plots.Middle(r).X
			c.StrokeLine2(limitStyle, x, r.Min.Y, x, r.Max.Y)
		}},
	}
}

// drawPoint draws the estimate of a shard. Its shape says the verdict too.
func drawPoint(c draw.Canvas, v check.Verdict, at vg.Point) {
	switch v {
	case check.Fail:
		c.DrawGlyph(draw.GlyphStyle{Color: inks[v], Radius: 3.2, Shape: draw.BoxGlyph{}}, at)
	case check.Undecided:
		c.DrawGlyph(draw.GlyphStyle{Color: plots.Paper, Radius: 3, Shape: draw.CircleGlyph{}}, at)
		c.DrawGlyph(draw.GlyphStyle{Color: inks[v], Radius: 3, Shape: draw.RingGlyph{}}, at)
	default:
		c.DrawGlyph(draw.GlyphStyle{Color: inks[check.Pass], Radius: 3, Shape: draw.CircleGlyph{}}, at)
	}
}

// drawDiamond draws the growth over all shards with its interval.
func drawDiamond(c draw.Canvas, low, middle, high, y vg.Length) {
	const half = 5
	low, high = min(low, middle-3), max(high, middle+3)
	c.FillPolygon(plots.Ink, []vg.Point{
		{X: low, Y: y}, {X: middle, Y: y + half}, {X: high, Y: y}, {X: middle, Y: y - half},
	})
}

// drawPanel draws a panel: the shards that grow most with a row each, a band with the others, and
// the growth over all shards.
func (p *picture) drawPanel(c draw.Canvas, of *panel) {
	c = p.DrawLine(c, plots.TextSize+1, plots.VerdictInk(of.verdict), of.title)
	words := "allowed: " + check.Quantity(of.limit, of.unit)
	if of.words != "" {
		words = "all shards together: " + of.words + "; " + words
	}
	c = p.DrawLine(c, plots.TextSize, plots.SoftInk, words)
	own := min(len(of.rows), rowsMax)
	room := c.Size().Y - axisHeight - rowHeight
	if band := vg.Length(bandHeight); len(of.rows) > own {
		own = max(1, min(own, int((room-band)/rowHeight)))
	} else if fit := int(room / rowHeight); fit < own {
		own = max(1, int((room-band)/rowHeight))
	}
	name := plots.Text(plots.SmallSize, plots.Ink, text.XLeft, text.YCenter)
	widest := name.Width("all shards")
	for _, r := range of.rows[:own] {
		widest = max(widest, name.Width(r.name))
	}
	widest = min(widest, 0.3*c.Size().X)
	data := vg.Rectangle{
		Min: vg.Point{X: c.Min.X + widest + 12, Y: c.Min.Y + axisHeight},
		Max: vg.Point{X: c.Max.X - 8, Y: c.Max.Y - 4},
	}
	x := func(v float64) vg.Length {
		share := (max(of.low, min(of.high, v)) - of.low) / (of.high - of.low)
		return data.Min.X + vg.Length(share)*(data.Max.X-data.Min.X)
	}
	p.drawAxis(c, data, of, x)
	label := func(s string, y vg.Length) {
		c.FillText(name, vg.Point{X: c.Min.X, Y: y}, p.Encode(plots.Fit(name, s, widest)))
	}
	y := data.Max.Y - rowHeight/2
	for _, r := range of.rows[:own] {
		label(r.name, y)
		drawRow(c, r, x, y, 1.4)
		drawPoint(c, r.verdict, vg.Point{X: x(r.slope), Y: y})
		y -= rowHeight
	}
	if rest := of.rows[own:]; len(rest) > 0 {
		bottom := data.Min.Y + rowHeight
		top := y + rowHeight/2 - 3
		label(wording.Count(len(rest))+" others", (top+bottom)/2)
		drawBand(c, rest, x, top, bottom)
	}
	if t := of.together; t != nil {
		y := data.Min.Y + rowHeight/2
		label("all shards", y)
		drawDiamond(c, x(t.Low), x(t.Estimate), x(t.High), y)
	}
}

// drawRow draws the interval of a shard.
func drawRow(c draw.Canvas, r row, x func(float64) vg.Length, y, width vg.Length) {
	if math.IsInf(r.half, 0) {
		return
	}
	ink := inks[r.verdict]
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: width}, x(r.slope-r.half), y, x(r.slope+r.half),
		y)
}

// bandMost is how many shards a band shows. Of more, it shows every second one, or every third and
// so on.
const bandMost = 240

// drawBand draws shards without a row of their own as thin lines, one below the other.
func drawBand(c draw.Canvas, rows []row, x func(float64) vg.Length, top, bottom vg.Length) {
	each := (len(rows) + bandMost - 1) / bandMost
	shown := (len(rows) + each - 1) / each
	step := (top - bottom) / vg.Length(shown)
	for i := range shown {
		r := rows[i*each]
		y := top - step*(vg.Length(i)+0.5)
		drawRow(c, r, x, y, min(1, 0.8*step))
		at := x(r.slope)
		c.StrokeLine2(draw.LineStyle{Color: inks[r.verdict], Width: 2.5}, at, y-step/2, at, y+step/2)
	}
}

// drawAxis draws the axis of a panel below its data: round values, 0, and what is allowed.
func (p *picture) drawAxis(c draw.Canvas, data vg.Rectangle, of *panel, x func(float64) vg.Length,
) {
	below := plots.Text(plots.SmallSize, plots.Ink, text.XCenter, text.YTop)
	grid := draw.LineStyle{Color: plots.GridColor, Width: 0.8}
	var taken plots.Labels
	for _, t := range plots.ValueTicks(of.low, of.high, of.unit, 6) {
		at := x(t.Value)
		c.StrokeLine2(grid, at, data.Min.Y, at, data.Max.Y)
		half := below.Width(t.Label)/2 + 4
		box := vg.Rectangle{Min: vg.Point{X: at - half}, Max: vg.Point{X: at + half, Y: 1}}
		if taken.Overlapped(box) == nil && at+half < c.Max.X+12 {
			taken.Taken = append(taken.Taken, box)
			c.FillText(below, vg.Point{X: at, Y: data.Min.Y - 4}, p.Encode(t.Label))
		}
	}
	c.StrokeLine2(zeroStyle, x(0), data.Min.Y, x(0), data.Max.Y)
	c.StrokeLine2(limitStyle, x(of.limit), data.Min.Y, x(of.limit), data.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: plots.SoftInk, Width: 0.8}, data.Min.X, data.Min.Y,
		data.Max.X, data.Min.Y)
	if t := plots.AxisTitle(of.unit, of.title); t != "" {
		c.FillText(below, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: c.Min.Y + 11},
			p.Encode(t))
	}
}
