package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// niceStep is the least of 1, 2 and 5 times a power of ten that divides a range into at most n parts.
func niceStep(length float64, n int) float64 {
	rough := length / float64(n)
	power := math.Pow10(int(math.Floor(math.Log10(rough))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// valueTicks are at most about so many marks of an axis of values in a unit of findings, at round numbers of one IEC unit where
// they are bytes.
func valueTicks(bottom, top float64, unit string, most int) []plot.Tick {
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
	step := niceStep((top-bottom)/scale, most)
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

// byteScale is the unit for an axis of so many bytes: the largest in which its marks have two digits behind the point at most.
func byteScale(bottom, top float64) (bytes float64, suffix string) {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{" TiB", parser.TiB}, {" GiB", parser.GiB}, {" MiB", parser.MiB}, {" KiB", parser.KiB}} {
		if size := float64(u.bytes); max(math.Abs(bottom), math.Abs(top)) >= 1.5*size && top-bottom >= size/20 {
			return size, u.name
		}
	}
	return 1, " B"
}

// timeTicks are the marks of an axis of so many seconds, and what their labels are in.
func timeTicks(seconds float64) ([]plot.Tick, string) {
	const most = 10
	step := niceStep(seconds, most)
	if step >= 10 {
		step = 86400 * niceStep(seconds/86400, most)
		for _, s := range []float64{10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400} {
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
		label, unit = func(s float64) string { return strconv.FormatFloat(s, 'f', digits, 64) }, "seconds"
	case step < 60:
		label, unit = func(s float64) string { return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60) }, "minutes:seconds"
	case seconds < 2*3600:
		label, unit = func(s float64) string { return strconv.Itoa(int(s) / 60) }, "minutes"
	case step < 3600:
		label, unit = func(s float64) string { return fmt.Sprintf("%d:%02d", int(s)/3600, int(s)%3600/60) }, "hours:minutes"
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

// countTicks are at most about so many marks of an axis of numbers of files or checkpoints.
func countTicks(first, last float64, most int) []plot.Tick {
	step := max(1, niceStep(max(1, last-first), most))
	var ticks []plot.Tick
	for x := math.Ceil(first/step) * step; x <= last; x += step {
		ticks = append(ticks, plot.Tick{Value: x, Label: number(int(x))})
	}
	return ticks
}
