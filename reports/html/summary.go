package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A summary is the top of a page: what a reader must know if they read nothing else.
type summary struct {
	Verdict string // "fail"
	Sign    string
	Title   string // the cause, or the extent of a run that does not fail
	Facts   string
	Rows    []summaryRow
}

// A summaryRow answers one question: cause, stage, first file, rate, consequence, what to do next.
type summaryRow struct {
	Name  string
	Lines []string
	// Finding is the number of the finding that a link on the row leads to, or -1.
	Finding int
	Link    string // another place on the page, such as "#series-0"
}

// add adds a row, without empty lines. A row without lines is left out. It returns the row, or an
// empty one.
func (s *summary) add(name string, lines ...string) *summaryRow {
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	if len(lines) == 0 {
		return &summaryRow{}
	}
	for i := range lines {
		lines[i] = sink.Line(lines[i])
	}
	s.Rows = append(s.Rows, summaryRow{Name: name, Lines: lines, Finding: -1})
	return &s.Rows[len(s.Rows)-1]
}

// summarize returns the top of the page. The parameter open holds the findings that did not pass.
func (e *encoder) summarize(open []findingView) summary {
	s := summary{
		Verdict: string(e.rep.Verdict), Sign: signs[string(e.rep.Verdict)],
		Facts: sink.Line(wording.Facts(e.rep)),
		Title: sink.Line(cmp.Or(wording.Cause(e.rep), wording.Extent(e.rep))),
	}
	lead := leading(e.rep)
	if lead == nil {
		return s
	}
	s.Title = sink.Line(wording.Brief(*lead))
	e.doc.Lead = numberOf(open, lead)
	s.add("Cause", e.cause(lead)...).Finding = e.doc.Lead
	s.add("Stage", cmp.Or(lead.Stage, where(lead)))
	s.add("First file", e.firstFile(lead))
	s.add("Rate", e.rateOf(lead), limitText(lead))
	s.add("Consequence", e.consequences(lead)...)
	s.add("What to do next", e.next(lead)...)
	return s
}

// numberOf returns the number of a finding on the page, or -1 if the page does not list it.
func numberOf(open []findingView, f *check.Finding) int {
	for _, v := range open {
		if v.Check == sink.Line(f.Check) && v.Subject == sink.Line(f.Subject) {
			return v.Number
		}
	}
	return -1
}

// leading returns the finding that explains the verdict best: of those that fail and gate or, in an
// undecided report, that are undecided and gate, the one whose check comes first in [causes]. It
// returns nil if the report passes.
func leading(rep *check.Report) *check.Finding {
	var lead *check.Finding
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if f.Verdict != rep.Verdict || !f.Gates || f.Waived != nil || rep.Verdict == check.Pass {
			continue
		}
		if lead == nil || causes(f.Check) < causes(lead.Check) {
			lead = f
		}
	}
	return lead
}

// causes orders checks by how near they are to a cause. Memory that grows leads to failed cleanups,
// to a high peak, to failed allocations, and these to files that do not end.
func causes(name string) int {
	for _, l := range check.Ledgers {
		if l.Check == name {
			return 0
		}
	}
	order := []string{
		check.Recovery, check.DeviceRecovery, check.Regression, check.OutOfMemory, check.Peak,
	}
	if i := slices.Index(order, name); i >= 0 {
		return 1 + i
	}
	return 1 + len(order)
}

// cause returns what the leading finding says.
func (e *encoder) cause(lead *check.Finding) []string {
	said := clauses(lead.Found())
	lines := []string{lead.Check + ", " + lead.Subject + ": " + said[0]}
	if w := where(lead); w != "" && lead.Stage != "" {
		lines = append(lines, w)
	}
	if len(lead.Also) > 0 {
		lines = append(lines, "together with: "+strings.Join(lead.Also, ", "))
	}
	return lines
}

// where returns what a finding on growth says about the place where the memory is allocated: "it is
// allocated between Before Whisper Cleanup and After Transcription". It returns "" if it says
// nothing.
func where(f *check.Finding) string {
	for _, c := range clauses(f.Found())[1:] {
		if strings.HasPrefix(c, "it is allocated ") || strings.HasPrefix(c, "it is reserved ") {
			return c
		}
	}
	return ""
}

// rateOf returns how fast the leading finding's series grows, or what it measured.
func (e *encoder) rateOf(lead *check.Finding) string {
	for i := range e.rep.Trends {
		t := &e.rep.Trends[i]
		if t.Finding.Check == lead.Check && t.Finding.Subject == lead.Subject {
			if text := rate(t); text != "" {
				return text
			}
		}
	}
	return wording.Measured(*lead)
}

func limitText(f *check.Finding) string {
	if limit := wording.Limit(*f); limit != "" {
		return "allowed: " + limit
	}
	return ""
}

// consequencesMax is how many further findings the consequence lists.
const consequencesMax = 4

// consequences returns what follows from the leading finding, as far as the log shows it.
func (e *encoder) consequences(lead *check.Finding) (lines []string) {
	for _, c := range clauses(lead.Found())[1:] {
		if strings.HasPrefix(c, "memory ran out") || strings.HasPrefix(c, "files until out of memory") {
			lines = append(lines, c)
		}
	}
	if bad := notOK(e.tl); len(bad) > 0 {
		first := bad[0]
		lines = append(lines, fmt.Sprintf("%s of %s did not end ok; the first is %s (%s)",
			wording.Count(len(bad)), wording.Plural(e.rep.Files, "file"),
			cmp.Or(fileLabel(first.Index, first.Path), first.Name()), statusText(first.Status)))
	}
	more := 0
	for i := range e.rep.Findings {
		f := &e.rep.Findings[i]
		if f.Verdict != check.Fail || !f.Gates || f.Waived != nil || f == lead ||
			f.Check == check.Completeness {
			continue
		}
		if more++; more <= consequencesMax {
			lines = append(lines, "also "+wording.Brief(*f))
		}
	}
	if more > consequencesMax {
		lines = append(lines, "and "+wording.Plural(more-consequencesMax, "more finding"))
	}
	return lines
}

func statusText(s record.Status) string {
	if s == record.StatusOOM {
		return "out of memory"
	}
	return string(s)
}

// next returns what to do about the leading finding: the advice of the log's own numbers first.
func (e *encoder) next(lead *check.Finding) (lines []string) {
	lines = append(lines, lead.Advice...)
	if lead.Verdict == check.Undecided {
		for _, c := range clauses(lead.Found()) {
			if strings.Contains(c, "would decide") || strings.Contains(c, "would show whether") {
				lines = append(lines, c)
			}
		}
		return append(lines, "Decide an undecided verdict: docs/how-to/undecided.md")
	}
	lines = append(lines, nextSteps(lead)...)
	for i := range e.rep.Findings {
		if f := &e.rep.Findings[i]; f != lead && f.Verdict == check.Fail && len(f.Advice) > 0 {
			return append(lines, f.Advice[0])
		}
	}
	return lines
}

// nextSteps returns what to do about a failed check, in the order in which one would try it.
func nextSteps(f *check.Finding) []string {
	where := "the work on one file"
	if f.Stage != "" {
		where = f.Stage
	}
	switch f.Check {
	case check.Leak, check.DeviceGrowth, check.DeviceRecovery:
		return []string{
			"Find what holds the memory: take a memory snapshot in the 10th file, after " + where +
				", and run: vramsoak snapshot FILE (docs/how-to/snapshot.md)",
			"In Python, vramlog.freeing around what should be freed names the objects that still refer " +
				"to it (docs/reference/vramlog.md)",
		}
	case check.Recovery:
		return []string{"In Python, vramlog.freeing around the cleanup names the objects that still " +
			"refer to the memory (docs/reference/vramlog.md)"}
	case check.Fragmentation:
		return []string{
			"Draw what the allocator holds: vramsoak plot LOG --fragmentation",
			"Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True and run the batch again " +
				"(docs/explanation/fragmentation.md)",
		}
	case check.OutOfMemory, check.Peak:
		return []string{"Find the smallest change with which the batch fits: vramsoak validate " +
			"PIPELINE.yaml (docs/how-to/validate.md)"}
	case check.Regression:
		return []string{"Find the night with which it began: vramsoak history (docs/how-to/history.md)"}
	case check.DescriptorGrowth:
		return []string{"List what stays open: ls -l /proc/PID/fd"}
	}
	return nil
}
