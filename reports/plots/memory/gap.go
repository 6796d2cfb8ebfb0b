package memory

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// A gap is the dark memory at a checkpoint: the difference between device used and reserved.
// Between two checkpoints it is unknown, because the allocator prints nothing.
type gap struct{ at, reserved, used float64 }

// gaps returns the gaps at the lane's checkpoints. If a checkpoint lacks device used, the driver's
// samples before and after give a lower bound.
func (c *Chart) gaps(tl *timeline.Timeline, beside *timeline.DriverLedgers) []gap {
	var out []gap
	for f, at := range tl.All() {
		reserved, ok := at.Get(record.Reserved)
		if !ok || at.Lane != c.lane {
			continue
		}
		used, ok := at.Get(record.Used)
		if !ok {
			if driver := beside.OfLane(f.Run, c.lane); driver != nil {
				used, ok = driver.At(at.Header)
			}
		}
		g := gap{
			c.clock.at[at.Pos], float64(reserved.Bytes + reserved.Resolution),
			float64(used.Bytes - used.Resolution),
		}
		if ok && g.used > g.reserved {
			out = append(out, g)
		}
	}
	return out
}

// drawGaps draws a bar for the gap at each checkpoint, unless the files are too narrow.
func (p *picture) drawGaps(c draw.Canvas, g *plot.Plot) {
	if p.dense() || p.brief == shortest {
		return
	}
	x, y := g.Transforms(&c)
	style := draw.LineStyle{Color: plots.Tint(plots.UsedColor, gapTint), Width: gapWidth}
	last := vg.Length(-gapWidth)
	for _, d := range p.dark {
		if at := x(d.at); at-last >= 1 { // more bars would hide each other
			c.StrokeLine2(style, at, y(d.reserved), at, y(d.used))
			last = at
		}
	}
}

// The looks of a bar.
const (
	gapTint  = 0.45
	gapWidth = 3.5
)
