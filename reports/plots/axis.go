package plots

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/wording"
)

// NiceStep returns the smallest step that divides a range into at most n parts and is 1, 2 or 5
// times a power of ten.
func NiceStep(length float64, n int) float64 {
	rough := length / float64(n)
	power := math.Pow10(int(math.Floor(math.Log10(rough))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// ValueTicks returns the marks of an axis: at most `most` of them, at round values. For sizes the
// values are round in one IEC unit.
func ValueTicks(bottom, top float64, unit string, most int) []plot.Tick {
	scale, suffix := 1.0, ""
	of, overFiles := strings.CutSuffix(unit, check.PerFile)
	switch of {
	case check.Bytes:
		scale, suffix = byteScale(bottom, top)
	case check.Ratio:
		scale, suffix = 0.01, " %"
	case check.Seconds:
		suffix = " s"
	case check.TimesRealTime:
		suffix = " x"
	}
	if overFiles {
		suffix += check.PerFile
	}
	step := NiceStep((top-bottom)/scale, most)
	if of == check.Count && !overFiles {
		step = max(1, step)
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(bottom/scale/step - 1e-9); i*step*scale <= top+1e-9*(top-bottom); i++ {
		label := check.Grouped(strconv.FormatFloat(i*step, 'f', digits, 64)) + suffix
		if i == 0 {
			label = "0"
		}
		ticks = append(ticks, plot.Tick{Value: i * step * scale, Label: label})
	}
	return ticks
}

// AxisTitle returns what the numbers of an axis are, if the unit at each number does not say it:
// what was counted, or multiples of real time. Else it returns "".
func AxisTitle(unit, counted string) string {
	switch unit {
	case check.Count:
		return counted
	case check.TimesRealTime:
		return "times real time"
	}
	return ""
}

// byteScale returns the unit for an axis of sizes: the largest unit in which all marks have at most
// two decimals.
func byteScale(bottom, top float64) (bytes float64, suffix string) {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{" TiB", record.TiB}, {" GiB", record.GiB}, {" MiB", record.MiB}, {" KiB", record.KiB}} {
		if size := float64(u.bytes); max(math.Abs(bottom), math.Abs(top)) >= 1.5*size &&
			top-bottom >= size/20 {
			return size, u.name
		}
	}
	return 1, " B"
}

// TimeTicks returns the marks of a time axis, and the unit of the marks' labels.
func TimeTicks(seconds float64) ([]plot.Tick, string) {
	const most = 10
	step := NiceStep(seconds, most)
	if step >= 10 {
		step = 86400 * NiceStep(seconds/86400, most)
		for _, s := range []float64{
			10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800,
			21600, 43200, 86400,
		} {
			if seconds/s <= most {
				step = s
				break
			}
		}
	}
	var label func(s float64) string
	var unit string
	switch {
	case step < 60 && seconds < 120:
		digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
		label, unit = func(s float64) string {
			return strconv.FormatFloat(s, 'f', digits, 64)
		}, "seconds"
	case step < 60:
		label, unit = func(s float64) string {
			return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60)
		}, "minutes:seconds"
	case seconds < 2*3600:
		label, unit = func(s float64) string { return strconv.Itoa(int(s) / 60) }, "minutes"
	case step < 3600:
		label, unit = func(s float64) string {
			return fmt.Sprintf("%d:%02d", int(s)/3600, int(s)%3600/60)
		}, "hours:minutes"
	default:
		label, unit = func(s float64) string { return strconv.Itoa(int(s) / 3600) }, "hours"
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= seconds*(1+1e-9); i++ {
		s := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: s, Label: label(s)})
	}
	return ticks, unit
}

// CountTicks returns about `most` marks for an axis that counts files or checkpoints.
func CountTicks(first, last float64, most int) []plot.Tick {
	step := max(1, NiceStep(max(1, last-first), most))
	var ticks []plot.Tick
	for x := math.Ceil(first/step) * step; x <= last; x += step {
		ticks = append(ticks, plot.Tick{Value: x, Label: wording.Count(int(x))})
	}
	return ticks
}

// NewAxes returns a plot without data.
func NewAxes() *plot.Plot {
	g := plot.New()
	g.BackgroundColor = nil
	g.X.Label.TextStyle = Text(TextSize, Ink, text.XCenter, text.YBottom)
	g.X.Label.Padding = 4
	g.X.Tick.Label = Text(TextSize, Ink, text.XCenter, text.YTop)
	g.Y.Tick.Label = Text(TextSize, Ink, text.XRight, text.YCenter)
	g.Y.Label.TextStyle.Font = g.X.Label.TextStyle.Font
	g.Y.Label.TextStyle.Color = Ink
	g.X.Tick.Length, g.Y.Tick.Length = 5, 0
	g.Y.Width = 0
	g.X.Color, g.X.Tick.Color = SoftInk, SoftInk
	g.X.Padding, g.Y.Padding = 0, 4
	return g
}

// DrawGrid draws a line across the data at each mark of the y axis.
func DrawGrid(c draw.Canvas, g *plot.Plot) {
	DrawLinesAt(c, g, g.Y.Tick.Marker.Ticks(g.Y.Min, g.Y.Max))
}

// DrawLinesAt draws a line across the data at each of these marks of the y axis.
func DrawLinesAt(c draw.Canvas, g *plot.Plot, ticks []plot.Tick) {
	_, y := g.Transforms(&c)
	for _, t := range ticks {
		style := draw.LineStyle{Color: GridColor, Width: 0.8}
		if t.Value == 0 {
			style.Color = SoftInk
		}
		c.StrokeLine2(style, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
}

// Placing returns a function that converts points of a plot to positions on a canvas.
func Placing(g *plot.Plot, c *draw.Canvas) func([]Point) []vg.Point {
	x, y := g.Transforms(c)
	return func(points []Point) []vg.Point {
		out := make([]vg.Point, len(points))
		for i, at := range points {
			out[i] = vg.Point{X: x(at.X), Y: y(at.Y)}
		}
		return out
	}
}

// LeastSpan is the shortest axis of each unit. On a shorter one, differences that mean nothing
// would look large: parts of a page of memory, or of a file descriptor.
var LeastSpan = map[string]float64{
	check.Bytes: 64 << 10, check.BytesPerFile: 128 << 10, check.Count: 4,
}

// WithinWhole moves the ends of a y axis down if the axis is of shares and goes beyond 100 %, but
// highest, the highest value on it, does not.
func WithinWhole(bottom, top, highest float64, unit string) (low, high float64) {
	if unit != check.Ratio || highest > 1 || top <= 1 {
		return bottom, top
	}
	return max(min(bottom, 0), bottom-(top-1)), 1
}
