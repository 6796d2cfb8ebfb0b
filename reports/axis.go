package reports

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"

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

// byteTicks are the marks of an axis from 0 to top bytes, at round numbers of one IEC unit.
func byteTicks(top float64) []plot.Tick {
	units := []struct {
		name  string
		bytes int64
	}{{"TiB", parser.TiB}, {"GiB", parser.GiB}, {"MiB", parser.MiB}, {"KiB", parser.KiB}}
	unit := units[len(units)-1]
	for _, u := range units {
		if top >= 1.5*float64(u.bytes) {
			unit = u
			break
		}
	}
	step := niceStep(top/float64(unit.bytes), 7)
	var ticks []plot.Tick
	for i := 0; ; i++ {
		value := float64(i) * step
		if value*float64(unit.bytes) > top*(1+1e-9) {
			return ticks
		}
		label := strconv.FormatFloat(value, 'f', max(0, -int(math.Floor(math.Log10(step)))), 64) + " " + unit.name
		if i == 0 {
			label = "0"
		}
		ticks = append(ticks, plot.Tick{Value: value * float64(unit.bytes), Label: label})
	}
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

// countTicks are the marks of an axis of checkpoint numbers.
func countTicks(last float64) []plot.Tick {
	step := max(1, niceStep(last, 10))
	var ticks []plot.Tick
	for x := step; x <= last; x += step {
		ticks = append(ticks, plot.Tick{Value: x, Label: number(int(x))})
	}
	return ticks
}
