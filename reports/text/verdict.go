package text

import (
	"strings"

	"vramsoak/harness/check"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// headline writes the first line of a report: the answer in capitals, and the summary.
func (t *writer) headline(v check.Verdict, answer, summary, indent string) {
	t.wrap(t.paint(v, strings.ToUpper(answer))+": "+summary, indent)
}

// judged writes a line about one subject: the verdict, the subject and the message.
func (t *writer) judged(v check.Verdict, word, subject, message string) {
	t.wrap(t.paint(v, word)+" "+sink.Line(subject)+": "+sink.Line(message), "  ")
}

// verdictCell returns a finding's verdict as a cell of a table.
func (t *writer) verdictCell(f check.Finding) string {
	return t.paint(f.Verdict, t.verdictWord(f))
}

// verdictWord returns a finding's verdict. On a terminal a sign precedes the word.
func (t *writer) verdictWord(f check.Finding) string {
	word := wording.Verdict(f)
	switch {
	case word == string(f.Verdict):
		return t.signedVerdict(f.Verdict)
	case !t.Terminal:
		return word
	}
	return "! " + word
}

func (t *writer) signedVerdict(v check.Verdict) string {
	if !t.Terminal {
		return string(v)
	}
	return t.sign(v) + " " + string(v)
}

func (t *writer) sign(v check.Verdict) string {
	switch v {
	case check.Pass:
		return "✓"
	case check.Fail:
		return "✗"
	case check.Undecided:
		return "?"
	default:
		return "-"
	}
}

// paint colours text by a verdict.
func (t *writer) paint(v check.Verdict, s string) string {
	code := map[check.Verdict]string{
		check.Pass: "32", check.Fail: "31", check.Undecided: "33",
		check.Skipped: "2",
	}[v]
	if !t.Color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
