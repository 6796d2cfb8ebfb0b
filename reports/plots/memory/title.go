package memory

import (
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// takeVerdict sets the title from the report, and the lines below it.
func (c *Chart) takeVerdict(rep *check.Report) {
	c.title, c.titleInk = plots.Headline(rep), plots.VerdictInk(rep.Verdict)
	c.facts = sink.Line(wording.Facts(rep))
	if f := plots.Decisive(rep); f != nil {
		c.details = details(f)
	}
}

// details returns a finding as a sentence: "leak, idle level: grows by 4.00 MiB a file; ...". It
// leaves out the advice to draw this plot.
func details(f *check.Finding) string {
	found := f.Found()
	if !strings.HasPrefix(found, f.Subject) {
		found = f.Subject + ": " + found
	}
	clauses := wording.Clauses(sink.Line(f.Check + ", " + found))
	return strings.Join(slices.DeleteFunc(clauses, func(clause string) bool {
		return strings.HasPrefix(clause, "run vramsoak plot LOG -o memory.png")
	}), "; ")
}

// shortest is the largest value of [picture.brief].
const shortest = 3

// drawWords draws what is above and below the plot, and returns the rest of the canvas. In a low
// picture it leaves out words, so that the plot has half of the height. The title is always there.
func (p *picture) drawWords(c draw.Canvas) draw.Canvas {
	for p.brief = 0; p.brief < shortest; p.brief++ {
		tried := draw.Canvas{Canvas: &recorder.Canvas{}, Rectangle: c.Rectangle}
		if p.drawAround(tried).Size().Y-p.sidesHeight >= (c.Size().Y-p.sidesHeight)/2 {
			break
		}
	}
	return p.drawAround(c)
}

func (p *picture) drawAround(c draw.Canvas) draw.Canvas {
	details, facts, notes := 3, 2, p.notes
	switch p.brief {
	case 1:
		details = 0
	case 2:
		details, facts, notes = 0, 1, notes[:min(1, len(notes))]
	case shortest:
		details, facts, notes = 0, 0, nil
	}
	c = p.DrawTitle(c, p.titleInk, p.title, p.brief >= 2)
	if p.details != "" && details > 0 {
		c = p.DrawClauses(c, plots.TextSize, plots.Ink, p.details, details)
	}
	if facts > 0 {
		c = p.DrawClauses(c, plots.TextSize, plots.SoftInk, p.facts, facts)
	}
	c.Max.Y -= 5
	return p.DrawFoot(p.DrawLegend(c, p.legend()), notes)
}
