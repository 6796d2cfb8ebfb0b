package memory

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// A gap is dark memory at a checkpoint: what is known to lie between reserved and device used. Between checkpoints it is not
// known, because the allocator does not tell there what it holds.
type gap struct{ at, reserved, used float64 }

// gaps are those of the lane's checkpoints. Where a checkpoint has no device used, the driver's samples beside it say how much
// there was at least.
func (c *Chart) gaps(tl *timeline.Timeline, beside *timeline.Beside) []gap {
	var out []gap
	for f, at := range tl.All() {
		reserved, ok := at.Get(record.Reserved)
		if !ok || at.Lane != c.lane {
			continue
		}
		used, ok := at.Get(record.Used)
		if !ok {
			if driver := beside.Of(f.Run, c.lane); driver != nil {
				used, ok = driver.At(at.Header)
			}
		}
		g := gap{c.clock.at[at.Pos], float64(reserved.Bytes + reserved.Resolution), float64(used.Bytes - used.Resolution)}
		if ok && g.used > g.reserved {
			out = append(out, g)
		}
	}
	return out
}

// drawGaps draws a bar at each checkpoint, where there is room to see it.
func (p *picture) drawGaps(c draw.Canvas, g *plot.Plot) {
	if p.dense() {
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

// How the bars look.
const (
	gapTint  = 0.45
	gapWidth = 3.5
)
