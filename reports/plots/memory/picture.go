package memory

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A picture is a chart that is being drawn.
type picture struct {
	*Chart
	plots.Page
	columns int // the width of the data in pixels, roughly
	limits  []limitLine
	brief   int       // how many words are left out, from 0 to shortest
	edgesOf []float64 // see columnEdges
	// labels are the failed cleanups that have a text, and mostRows is how many labels fit above the
	// data, or 0 if that is not known yet.
	labels   []plots.Note
	mostRows int
	// sides are the small plots, in sideColumns columns. They take sidesHeight of the canvas.
	sides       []*side
	sideColumns int
	sidesHeight vg.Length
	hides       bool // see onlyIdle
	hidesKnown  bool
	small       bool // this is a small plot; its lines have no dots
}

// A limitLine is a limit of the device that is drawn as a line.
type limitLine struct {
	value float64
	label string
	style draw.LineStyle
}

// perFile returns roughly the width of a file in pixels. The width decides how files and stages are
// drawn.
func (p *picture) perFile() float64 { return float64(p.columns) / float64(max(1, len(p.files))) }

// tinted reports whether stages are drawn over the whole height.
func (p *picture) tinted() bool { return len(p.files) <= 12 }

// stripped reports whether stages are drawn in a strip below the data.
func (p *picture) stripped() bool { return !p.tinted() && p.perFile() >= 10 }

// dense reports whether series are drawn as bands instead of lines.
func (p *picture) dense() bool { return p.perFile() < 6 && len(p.files) > 0 }

// pixel returns the width of a pixel on the x axis.
func (p *picture) pixel() float64 { return p.clock.end / float64(max(1, p.columns)) }

// columnEdges returns where the columns of bands begin.
func (p *picture) columnEdges() []float64 {
	if p.edgesOf == nil {
		p.edgesOf = p.edges(2 * p.pixel())
	}
	return p.edgesOf
}

// banded reports whether a series is drawn as a band. A series with less than two readings in a
// column is drawn as a line, because its band would show chance.
func (p *picture) banded(s *series) bool {
	return p.dense() && s.count() >= 2*len(p.columnEdges())
}

func (p *picture) draw(c draw.Canvas) {
	c = plots.Blank(c)
	p.chooseLimits()
	for _, n := range p.failed {
		if n.Text != "" {
			p.labels = append(p.labels, n)
		}
	}
	if p.tinted() || p.stripped() {
		p.dropHidden()
	}
	if !p.dense() {
		p.notes = append(p.notes,
			"Lines join readings; memory between two readings is not known.")
	}
	p.chooseSides(c)
	c = p.drawWords(c)
	p.drawSides(draw.Crop(c, 0, 0, 0, p.sidesHeight-c.Size().Y))
	c.Min.Y += p.sidesHeight
	const axis, numbers = 36, 18 // the height of the x axis, and of the numbers above the data
	top := p.scale(c.Size().Y - axis - numbers)

	g := plots.NewAxes()
	g.Y.Min, g.Y.Max = 0, top
	g.Y.Tick.Marker = plot.ConstantTicks(plots.ValueTicks(0, top, check.Bytes,
		max(2, min(7, int((c.Size().Y-axis-numbers)/(1.8*plots.TextSize))))))
	g.X.Min, g.X.Max = 0, p.clock.end
	if p.clock.timed {
		ticks, unit := plots.TimeTicks(p.clock.end)
		g.X.Tick.Marker = plot.ConstantTicks(ticks)
		g.X.Label.Text = "time from the start (" + unit + ")"
	} else {
		g.X.Min, g.X.Max = 0.5, p.clock.end+0.5 // what follows the last checkpoint lies there
		g.X.Tick.Marker = plot.ConstantTicks(plots.CountTicks(1, p.clock.end, 10))
		g.X.Label.Text = "checkpoint (the log has no times)"
		if p.clock.alike {
			g.X.Label.Text = "checkpoint (the log has a single time)"
		}
	}
	if p.stripped() {
		g.X.Padding = 16
	}
	lines := []plot.Plotter{plots.Layer(p.drawSeries), plots.Layer(p.drawIdle)}
	if p.onlyIdle() { // over the readings, the idle level would hide them
		slices.Reverse(lines)
	}
	g.Add(plots.Layer(p.drawFiles), plots.Layer(plots.DrawGrid), plots.Layer(p.drawGaps),
		plots.Layer(p.drawStarts))
	g.Add(lines...)
	g.Add(plots.Layer(p.drawLimits), plots.Layer(p.drawShortages), plots.Layer(p.drawNotes))
	right := vg.Length(10)
	if len(p.limits) > 0 {
		right = 96
	}
	g.Draw(draw.Crop(c, 0, -right, 0, -numbers))
}

// chooseLimits chooses which limits of the device are drawn as lines. A limit far above the data
// would make the data flat, so a note below the plot gives it.
func (p *picture) chooseLimits() {
	if p.total <= 0 {
		return
	}
	dash := []vg.Length{6, 4}
	bounds := []limitLine{
		{0.70 * p.total, "70 %: ", draw.LineStyle{Color: plots.SoftInk, Width: 1, Dashes: dash}},
		{0.85 * p.total, "85 %: ", draw.LineStyle{
			Color: plots.FailedColor, Width: 1.2,
			Dashes: dash,
		}},
		{p.total, "total: ", draw.LineStyle{Color: plots.Ink, Width: 1.2}},
	}
	for i, b := range bounds {
		if i < 2 && b.value > 1.7*p.high || i == 2 && p.high < 0.8*p.total {
			break
		}
		b.label += wording.Bytes(b.value)
		p.limits = append(p.limits, b)
	}
	if len(p.limits) == 0 {
		p.notes = append(p.notes,
			"The 70 % line ("+wording.Bytes(0.70*p.total)+" of "+wording.Bytes(p.total)+
				") lies above this plot: the highest reading is "+wording.Share(p.high/p.total)+".")
	}
}

// scale returns the largest value of the y axis. It leaves room for the limits, and for the labels
// above the data. In a low picture, labels may take at most a third of the height: some are left
// out.
func (p *picture) scale(height vg.Length) float64 {
	base, top := p.top, 0.0
	for _, l := range p.limits {
		top = max(top, 1.02*l.value)
		if l.value < 1.2*p.top { // the labels go above it
			base = max(base, l.value)
		}
	}
	words := func() float64 { return plots.MarkHeight + plots.LabelHeight*float64(p.rows()) + 10 }
	for p.mostRows = p.rows(); p.mostRows > 1 && words() > float64(height)/3; {
		p.mostRows--
	}
	return max(1, top, base/(1-min(0.6, words()/float64(height))))
}

// rows returns how many labels lie above the data: that of a shortage, that of the high-water mark
// and those of failed cleanups, in the order of their importance.
func (p *picture) rows() int {
	n := p.shortageRows() + 1 + min(len(p.labels), 3)
	if p.mostRows > 0 {
		return min(n, p.mostRows)
	}
	return n
}

func (p *picture) shortageRows() int {
	if p.shortageNote.Text != "" {
		return 1
	}
	return 0
}

// labelled returns the failures that get a label: the first of each cleanup, as many as there is
// room for.
func (p *picture) labelled() []plots.Note {
	return p.labels[:min(len(p.labels), max(0, p.rows()-1-p.shortageRows()))]
}

// legend returns the entries of the legend.
func (p *picture) legend() []plots.LegendEntry {
	var out []plots.LegendEntry
	add := func(name string, thumb func(c draw.Canvas, r vg.Rectangle)) {
		out = append(out, plots.LegendEntry{Name: name, Thumb: thumb})
	}
	for _, s := range slices.Backward(p.series) {
		name := s.name
		band := p.banded(&s)
		if band {
			name += " (lowest to highest)"
		}
		add(name, func(c draw.Canvas, r vg.Rectangle) {
			if band {
				plots.DrawBandThumb(c, r, s.color)
				return
			}
			y := (r.Min.Y + r.Max.Y) / 2
			c.StrokeLine2(s.style(), r.Min.X, y, r.Max.X, y)
		})
	}
	if len(p.idle.pieces) > 0 {
		name := p.idle.name
		if p.brief >= 2 {
			name, _, _ = strings.Cut(name, ",")
		}
		add(name, drawIdleThumb)
	}
	if len(p.dark) > 0 && !p.dense() && p.brief < shortest {
		add("dark memory, at checkpoints", func(c draw.Canvas, r vg.Rectangle) {
			x := plots.Middle(r).X
			c.StrokeLine2(draw.LineStyle{
				Color: plots.Tint(plots.UsedColor, gapTint),
				Width: gapWidth,
			}, x, r.Min.Y, x, r.Max.Y)
		})
	}
	if p.tinted() || p.stripped() {
		for i, name := range p.names {
			stage := func(c draw.Canvas, r vg.Rectangle) {
				c.FillPolygon(p.stageColor(i), plots.Corners(r))
			}
			if i >= len(plots.StageColors) {
				add("other stages", stage)
				break
			}
			add(wording.Shorten(sink.Line(name), 40), stage)
		}
	}
	upright := func(style draw.LineStyle) func(draw.Canvas, vg.Rectangle) {
		return func(c draw.Canvas, r vg.Rectangle) {
			x := plots.Middle(r).X
			c.StrokeLine2(style, x, r.Min.Y-2, x, r.Max.Y+2)
		}
	}
	for _, recovered := range []bool{false, true} {
		name := "out of memory"
		if recovered {
			name += ", recovered"
		}
		if slices.ContainsFunc(p.shortages, func(n shortage) bool {
			return n.recovered == recovered
		}) {
			add(name, upright(shortageStyle(recovered)))
		}
	}
	if n := len(p.starts); n > 0 && n <= mostStarts && p.brief < shortest {
		add("a new process", upright(startStyle))
	}
	if len(p.failed) > 0 {
		add("failed recovery", func(c draw.Canvas, r vg.Rectangle) {
			plots.DrawCross(c, plots.Middle(r))
		})
	}
	if p.mark != nil && p.brief < shortest {
		add("high-water mark", func(c draw.Canvas, r vg.Rectangle) {
			at := plots.Middle(r)
			at.Y -= plots.MarkHeight / 2
			drawMark(c, at)
		})
	}
	return out
}

// stageColor returns the colour of the stage with name number i. The colour is light if the stage
// is drawn behind the data.
func (p *picture) stageColor(i int) color.Color {
	c := color.Color(color.Gray{Y: 0xC8})
	if i < len(plots.StageColors) {
		c = plots.StageColors[i]
	}
	if p.tinted() {
		return plots.Tint(c, 0.28)
	}
	return c
}

func (s series) style() draw.LineStyle {
	sty := draw.LineStyle{Color: s.color, Width: 1.6}
	if s.dashed {
		sty.Dashes = []vg.Length{5, 3}
	}
	return sty
}
