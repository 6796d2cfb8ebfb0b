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

// nameLength is the most runes of a name that the title shows. A longer name would leave no room
// for the size of what was found.
const nameLength = 60

// takeVerdict sets the title from the report, and the lines below it.
func (c *Chart) takeVerdict(rep *check.Report) {
	c.title, c.titleInk = verdictLine(rep), plots.VerdictInk(rep.Verdict)
	c.facts = sink.Line(wording.Facts(rep))
	if f := decides(rep); f != nil {
		_, c.details, _ = strings.Cut(sink.Line(f.Found()), "; ")
	}
}

// verdictLine returns the title: the verdict, its cause and how large it is.
func verdictLine(rep *check.Report) string {
	verdict := strings.ToUpper(string(rep.Verdict))
	short := *rep
	short.Findings = slices.Clone(rep.Findings)
	for i := range short.Findings {
		f := &short.Findings[i]
		f.Subject = wording.Shorten(sink.Line(f.Subject), nameLength)
	}
	switch f := decides(&short); {
	case rep.Verdict == check.Pass:
		return verdict + ": " + wording.Plural(len(wording.WithVerdict(rep.Findings, check.Pass)),
			"check") + " passed"
	case f == nil:
		return verdict
	case rep.Verdict == check.Fail:
		return verdict + ": " + sink.Line(wording.Cause(&short))
	default:
		return verdict + ": " + sink.Line(wording.Brief(*f))
	}
}

// decides returns the finding that the title is about, or nil.
func decides(rep *check.Report) *check.Finding {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if f.Verdict == rep.Verdict && f.Verdict != check.Pass && f.Gates && f.Waived == nil {
			return f
		}
	}
	return nil
}

// shortest is the largest value of [picture.brief].
const shortest = 3

// drawWords draws what is above and below the plot, and returns the rest of the canvas. In a low
// picture it leaves out words, so that the plot has half of the height. The title is always there.
func (p *picture) drawWords(c draw.Canvas) draw.Canvas {
	for p.brief = 0; p.brief < shortest; p.brief++ {
		tried := draw.Canvas{Canvas: &recorder.Canvas{}, Rectangle: c.Rectangle}
		if p.drawAround(tried).Size().Y >= c.Size().Y/2 {
			break
		}
	}
	return p.drawAround(c)
}

func (p *picture) drawAround(c draw.Canvas) draw.Canvas {
	details, facts, notes := 2, 2, p.notes
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
