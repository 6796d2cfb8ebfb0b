package reports

import (
	"fmt"
	"io"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// ValidationText writes a validation: the answer, what fails first and why, and the smallest change; below that what each stage
// needs, and what else was found. It is as wide as the terminal, and 100 columns elsewhere.
func ValidationText(w io.Writer, v *validation.Report, opts TextOptions) error {
	t := newTextWriter(opts)
	t.fold = true
	t.wrap(t.paint(v.Checks.Verdict, strings.ToUpper(v.Answer.String()))+": "+validationHeadline(v), "  ")
	t.liveFailures(v.LiveFailed)
	t.refusal(v)
	byChecks := v.Answer == validation.Fails || v.Answer == validation.Unsure
	if byChecks {
		t.found(v)
	}
	if err := t.proposals(v); err != nil {
		return err
	}
	if err := t.stageNeeds(v); err != nil {
		return err
	}
	t.room(v)
	if !byChecks {
		t.found(v)
	}
	if err := t.footprints("Measured by the profile", v.Footprints); err != nil {
		return err
	}
	if err := t.footprints("Measured live", v.Live); err != nil {
		return err
	}
	return t.flush(w)
}

// validationHeadline is "long batch on RTX 5080 (15.5 GiB), 200 files: 49 fail, the first is file 52".
func validationHeadline(v *validation.Report) string {
	s := fmt.Sprintf("%s on %s, %s", sink.Line(v.Scenario), cardName(v), wording.Plural(v.Files, "file"))
	switch {
	case v.Failed > 0 && v.Failed == v.Files:
		s += ": all fail; "
	case v.Failed == 1:
		s += ": file " + wording.Count(v.FirstFailed) + " fails; "
	case v.Failed > 0:
		s += fmt.Sprintf(": %s fail, the first is file %s; ", wording.Count(v.Failed), wording.Count(v.FirstFailed))
	case len(v.Stages) > 0:
		s += ": "
	}
	if len(v.Stages) > 0 {
		most := highest(v.Stages)
		s += fmt.Sprintf("needs up to %s (%s), in %s", record.FormatBytes(most.Need), wording.Share(most.Share), sink.Line(most.Stage))
	}
	switch l := v.Larger; {
	case l == nil:
	case l.Card == "":
		s += "; no card of up to " + l.UpTo + " holds it"
	default:
		s += fmt.Sprintf("; a card of %s holds it (%s)", l.Card, wording.Share(l.Share))
	}
	if v.Why != "" {
		s += "; " + sink.Line(v.Why)
	}
	return s
}

func cardName(v *validation.Report) string {
	total := record.FormatBytes(v.Total)
	if size, err := record.ParseSize(v.Card); v.Card == "" || err == nil && size.Bytes == v.Total {
		return total
	}
	return sink.Line(v.Card) + " (" + total + ")"
}

// highest is the stage with the highest need.
func highest(stages []validation.StageNeed) validation.StageNeed {
	most := stages[0]
	for _, s := range stages[1:] {
		if s.Need > most.Need {
			most = s
		}
	}
	return most
}
