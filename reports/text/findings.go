package text

import (
	"vramsoak/harness/check"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// findings writes the table of findings. If there is room, the messages are its last column. Else
// the messages that the report does not have yet follow the table.
func (t *writer) findings(all []check.Finding) error {
	shown := wording.WithVerdict(all, check.Fail, check.Undecided, check.Pass)
	if len(shown) == 0 {
		return nil
	}
	rows := [][]string{{"Verdict", "Check", "Subject", "File", "Measured", "Limit"}}
	for _, f := range shown {
		file, subject := "", sink.Line(f.Subject)
		if f.Subject == f.Check {
			subject = ""
		}
		if f.File > 0 {
			file = wording.Count(f.File)
		}
		rows = append(rows, []string{
			t.verdictCell(f), sink.Line(f.Check), subject,
			file, wording.Measured(f), wording.Limit(f),
		})
	}
	rows = t.asciiCells(rows)
	t.WriteByte('\n')
	const subjectColumn = 2
	numbers := []int{3, 4}  // the columns File and Measured
	const messageWidth = 40 // in fewer columns, a sentence would have too many lines
	if room := t.Width - t.tableWidth(rows) - t.gap(); room >= messageWidth {
		rows[0] = append(rows[0], "Message")
		for i, f := range shown {
			rows[i+1] = append(rows[i+1], withLocation(f))
		}
		return t.table(rows, numbers, len(rows[0])-1)
	}
	if err := t.table(rows, numbers, subjectColumn); err != nil {
		return err
	}
	first := true
	for _, f := range shown {
		if isWhole(f) {
			continue
		}
		if first {
			t.WriteByte('\n')
			first = false
		}
		t.judged(f.Verdict, t.verdictWord(f), wording.Named(f), f.Message)
	}
	return nil
}

// isWhole reports whether the report has the whole message of a finding above the table.
func isWhole(f check.Finding) bool {
	return f.Verdict == check.Fail && f.Cause == nil || f.Waived != nil ||
		f.Gates && f.Verdict == check.Undecided
}

// otherAdvice writes the advice that the report does not have yet, such as the advice on an
// allocation that failed and was recovered.
func (t *writer) otherAdvice(findings []check.Finding) {
	first := true
	for _, f := range findings {
		if isWhole(f) || f.Verdict == check.Fail {
			continue
		}
		for _, text := range f.Advice {
			if first {
				t.WriteByte('\n')
				first = false
			}
			t.wrap("advice, "+wording.Named(f)+": "+sink.Line(text), "  ")
		}
	}
}
