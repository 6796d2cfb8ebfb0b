package memory

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// A shortage is a place at which memory ran out.
type shortage struct {
	x    float64
	lane record.Lane
	// recovered is set if the file ended ok, or the pipeline went on with less memory.
	recovered bool
}

// findShortages finds where memory ran out, on any device. The first fatal failure gets a label; if
// none is fatal, the first one does.
func (c *Chart) findShortages(tl *timeline.Timeline) {
	labelled, asked := -1, ""
	failures := pattern.NewFailures(c.lanes)
	for f := range tl.InOrder() {
		at, ok := decisive(f)
		if !ok {
			continue
		}
		at.Lane = failures.Lane(at.Lane)
		n := shortage{c.clock.at[at.Pos], at.Lane, f.Status == record.StatusOK || at.Fallback}
		c.shortages = append(c.shortages, n)
		if labelled >= 0 && (n.recovered || !c.shortages[labelled].recovered) {
			continue
		}
		labelled = len(c.shortages) - 1
		text := "out of memory"
		if n.recovered {
			text += ", recovered"
		}
		text += " in " + fileLabel(f)
		if f.Outside {
			text = "out of memory " + fileLabel(f)
		}
		if len(c.lanes) > 1 {
			text += ", " + c.laneName(at.Lane)
		}
		c.shortageNote, asked = plots.Note{Point: plots.Point{X: n.x}, Text: text}, ""
		if at.HasRequested {
			asked = ", asked for " + at.Requested.String()
		}
	}
	if more := len(c.shortages) - 1; more > 0 {
		c.shortageNote.Text += fmt.Sprintf(", and %s more", wording.Count(more))
	}
	c.shortageNote.Text += asked
}

// decisive returns the failed allocation that decided how a file ended: the first one from which
// the pipeline did not go on with less memory. ok is false if memory did not run out.
func decisive(f *timeline.File) (at record.OutOfMemory, ok bool) {
	for _, o := range f.OOMs {
		if !o.Fallback {
			return o, true
		}
	}
	if f.Status == record.StatusOOM { // the log has no message
		return record.OutOfMemory{Header: record.Header{Pos: f.EndPos}}, true
	}
	if len(f.OOMs) > 0 {
		return f.OOMs[0], true
	}
	return at, false
}

// shortageStyle returns the line that marks a shortage.
func shortageStyle(recovered bool) draw.LineStyle {
	if recovered {
		return draw.LineStyle{
			Color: plots.FailedColor, Width: 1.6, Dashes: []vg.Length{2, 3},
		}
	}
	return draw.LineStyle{Color: plots.FailedColor, Width: 3}
}

// drawShortages draws a line over the whole height where memory ran out.
func (p *picture) drawShortages(c draw.Canvas, g *plot.Plot) {
	x, _ := g.Transforms(&c)
	const apart = 4 // points; more lines would merge
	for _, recovered := range []bool{true, false} {
		last := vg.Length(-apart)
		for _, n := range p.shortages {
			if at := x(n.x); n.recovered == recovered && at-last >= apart {
				c.StrokeLine2(shortageStyle(recovered), at, c.Min.Y, at, c.Max.Y+8)
				last = at
			}
		}
	}
}
