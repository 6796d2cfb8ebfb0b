package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Validation writes the answer of a validation, what fails first and why, and the smallest change
// that helps. Then it writes what each stage needs, and the other findings. The text is as wide as
// the terminal, or 100 columns wide without a terminal.
func Validation(w io.Writer, v *validation.Report, opts Options) error {
	t := newWriter(opts)
	t.headline(v.Checks.Verdict, v.Answer.String(), validationHeadline(v), "  ")
	t.liveFailures(v.LiveFailed)
	t.firstFailure(v)
	byChecks := v.Answer == validation.Fails || v.Answer == validation.Unsure
	if byChecks {
		t.otherFindings(v)
	}
	if err := t.proposals(v); err != nil {
		return err
	}
	if err := t.stageNeeds(v); err != nil {
		return err
	}
	t.headroom(v)
	if !byChecks {
		t.otherFindings(v)
	}
	if err := t.footprints("Measured by the profile", v.Footprints); err != nil {
		return err
	}
	if err := t.footprints("Measured live", v.Live); err != nil {
		return err
	}
	return t.flush(w)
}

// validationHeadline returns the summary of a validation: "long batch on RTX 5080 (15.5 GiB), 200
// files: 49 fail, the first is file 52".
func validationHeadline(v *validation.Report) string {
	s := fmt.Sprintf("%s on %s, %s", sink.Line(v.Scenario), cardName(v),
		wording.Plural(v.Files, "file"))
	switch {
	case v.Failed > 0 && v.Failed == v.Files:
		s += ": all fail; "
	case v.Failed == 1:
		s += ": file " + wording.Count(v.FirstFailed) + " fails; "
	case v.Failed > 0:
		s += fmt.Sprintf(": %s fail, the first is file %s; ", wording.Count(v.Failed),
			wording.Count(v.FirstFailed))
	case len(v.Stages) > 0:
		s += ": "
	}
	if len(v.Stages) > 0 {
		most := highest(v.Stages)
		s += fmt.Sprintf("needs up to %s (%s), in %s", record.FormatBytes(most.Need),
			wording.Share(most.Share), sink.Line(most.Stage))
	}
	switch l := v.Larger; {
	case l == nil:
	case l.Card == "":
		s += "; no card of up to " + l.UpTo + " holds these files"
	default:
		s += fmt.Sprintf("; a card of %s holds these files (%s)", l.Card, wording.Share(l.Share))
	}
	if v.Why != "" {
		s += "; " + sink.Line(v.Why)
	}
	return s
}

func cardName(v *validation.Report) string {
	total := record.FormatBytes(v.Total)
	if size, err := lex.ParseSize(v.Card); v.Card == "" || v.Card == total ||
		err == nil && size.Bytes == v.Total {
		return total
	}
	return sink.Line(v.Card) + " (" + total + ")"
}

// highest returns the stage with the highest requirement.
func highest(stages []validation.StageNeed) validation.StageNeed {
	most := stages[0]
	for _, s := range stages[1:] {
		if s.Need > most.Need {
			most = s
		}
	}
	return most
}

// headroom writes how much of the card is left, how fragmented the allocator's memory is after all
// files, and from which file on memory is short.
func (t *writer) headroom(v *validation.Report) {
	blank := "\n"
	write := func(s string) {
		t.WriteString(blank)
		blank = ""
		t.wrap(s, "  ")
	}
	if (v.Failure == nil || v.Failure.Recovered) && v.Headroom >= 0 {
		write(fmt.Sprintf("headroom: %s of %s", record.FormatBytes(v.Headroom),
			record.FormatBytes(v.Total)))
	}
	if f := v.Fragmentation; f != nil {
		text := fmt.Sprintf("fragmentation (reserved - allocated): %s after file 1, %s after "+
			"file %s", record.FormatBytes(f.First),
			record.FormatBytes(f.Last), wording.Count(f.Files))
		if f.Most > max(f.First, f.Last) {
			text += fmt.Sprintf(", at most %s", record.FormatBytes(f.Most))
		}
		trend := fmt.Sprintf("%+.2f MiB/file", f.PerFile/float64(record.MiB))
		if trend == "+0.00 MiB/file" || trend == "-0.00 MiB/file" {
			trend = "no trend"
		}
		write(text + "; " + trend + "; then the largest free block is " +
			record.FormatBytes(f.LargestFree))
	}
	if len(v.Retries) > 0 {
		write(pressure(v))
	}
	for _, note := range v.Notes {
		write("note: " + sink.Line(note))
	}
}

// pressure says how often the allocator had to release its cache, and when.
func pressure(v *validation.Report) string {
	var each, in []string
	all := 0
	for _, r := range v.Retries {
		if r.Count == 0 {
			continue
		}
		files := "in files " + wording.Count(r.From) + " to " + wording.Count(r.To)
		if r.From == r.To {
			files = "in file " + wording.Count(r.From)
		}
		in, each = append(in, files), append(each, wording.Count(r.Count)+" "+files)
		all += r.Count
	}
	when, list := "", ": "+strings.Join(each, ", ")
	if len(in) == 1 {
		when, list = ", "+in[0]+",", ""
	}
	times := wording.Count(all) + " times"
	if all == 1 {
		times = "once"
	}
	return fmt.Sprintf("pressure: %s%s an allocation failed at first, and the allocator released its "+
		"cache and tried again%s", times, when, list)
}

// otherFindings writes the findings that the text above does not mention. If the answer depends on
// a finding, its message is written in full, else only its numbers.
func (t *writer) otherFindings(v *validation.Report) {
	// These checks are part of the answer and of the first failure.
	said := []string{check.Peak, check.OutOfMemory, check.Completeness}
	var open []string
	blank := "\n"
	write := func(f check.Finding, message string) {
		t.WriteString(blank)
		blank = ""
		t.judged(f.Verdict, t.verdictWord(f), f.Check+", "+f.Subject, message)
	}
	for _, f := range wording.WithVerdict(wording.Sorted(v.Checks), check.Fail, check.Undecided) {
		switch {
		case f.Verdict == check.Fail && slices.Contains(said, f.Check):
		case v.Answer == validation.Fails && f.Verdict == check.Fail, v.Answer == validation.Unsure,
			f.Check == check.Peak:
			write(f, f.Message)
		case f.Verdict == check.Fail:
			write(f, findingFigures(f))
		default:
			open = append(open, sink.Line(f.Check+" of "+f.Subject))
		}
	}
	if len(open) > 0 {
		t.WriteString(blank)
		t.judged(check.Undecided, t.signedVerdict(check.Undecided), strings.Join(open, ", "),
			"these files do not decide it; --format json says more")
	}
}

// findingFigures returns a finding's numbers: "20.0 %, limit ≥ 95 %". If the finding has no
// numbers, it returns the message.
func findingFigures(f check.Finding) string {
	switch {
	case f.Measured == nil:
		return f.Message
	case f.Limit == nil:
		return wording.Measured(f)
	}
	return wording.Measured(f) + ", limit " + wording.Limit(f)
}

// footprints writes a table of measured and estimated requirements.
func (t *writer) footprints(title string, all []profile.Comparison) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{title, "Measured", "Estimated", "Ratio", "Used", "Note"}}
	noted := false
	for _, f := range all {
		row := []string{sink.Line(f.Stage), "", "", "", f.Used, sink.Line(f.Note)}
		if f.Measured > 0 {
			row[1] = record.FormatBytes(f.Measured)
		}
		if f.Estimated > 0 {
			row[2] = record.FormatBytes(f.Estimated)
		}
		if f.Ratio > 0 {
			row[3] = fmt.Sprintf("%.2f", f.Ratio)
		}
		noted = noted || f.Note != ""
		rows = append(rows, row)
	}
	if !noted {
		for i := range rows {
			rows[i] = rows[i][:5]
		}
	}
	t.WriteByte('\n')
	return t.tableWithFoldedColumn(rows, []int{1, 2, 3}, words, " ", "  ")
}
