package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"vramsoak/harness/waiver"
	"vramsoak/parser/strictyaml"
)

// A WaivePolicy waives findings that are known. It covers a finding that fails or is undecided if
// the check and the subject are the same, and nothing that the finding measured is worse than UpTo.
type WaivePolicy struct {
	waiver.Waiver
	Check string
	// Subject is the subject of the findings, with or without the device, the rank and the reference
	// at its end. It is "" for all subjects of the check.
	Subject string
	// UpTo is the worst value that is waived, nil if every value is. Its unit is Unit: [Bytes],
	// [Ratio], or [Count] for the unit of any other finding.
	UpTo *float64
	Unit string
}

// waive marks the findings that the policy's waivers cover. A covered finding keeps its verdict and
// does not gate. If a waiver has ended, or does not cover so much, the finding's message says so.
// waive returns a note for each waiver that was not used.
//
// The parameter at is the time of the log's last line. Waivers end by it, so that a log always has
// the verdict that it had after the run. For a log without a date it is zero, and the present day
// counts.
func (p *Policy) waive(findings []Finding, at time.Time) (notes []string) {
	if len(p.Waive) > 0 && at.IsZero() {
		at = time.Now()
	}
	met := make([]bool, len(p.Waive))
	for i := range findings {
		f := &findings[i]
		if f.Verdict != Fail && f.Verdict != Undecided || f.noData {
			continue
		}
		var said []string
		for n := range p.Waive {
			w := &p.Waive[n]
			if !w.names(f) {
				continue
			}
			met[n] = true
			reason := w.refusal(f, at)
			if reason == "" {
				f.Waived, f.Gates, said = &w.Waiver, false, []string{w.String()}
				break
			}
			said = append(said, reason)
		}
		if len(said) > 0 { // first, because a report may cut off the end of a message
			f.found = f.Message
			f.Message = strings.Join(said, "; ") + ": " + f.Message
		}
	}
	for n := range p.Waive {
		if !met[n] {
			notes = append(notes, p.Waive[n].unused(findings, at))
		}
	}
	return notes
}

// noteWaivers replaces the report's notes on waivers. It adds a note if every finding that could
// decide the verdict is waived.
func (r *Report) noteWaivers(notes []string) {
	waived := func(f Finding) bool { return f.Waived != nil }
	undecided := func(f Finding) bool { return f.Verdict == Undecided && f.Gates }
	if r.Verdict == Undecided && slices.ContainsFunc(r.Findings, waived) &&
		!slices.ContainsFunc(r.Findings, undecided) {
		notes = append(notes,
			"every finding that could decide the verdict is waived, so the verdict is undecided")
	}
	r.Notes = slices.DeleteFunc(r.Notes, func(note string) bool {
		return slices.Contains(r.waiving, note)
	})
	r.Notes, r.waiving = append(r.Notes, notes...), notes
}

// names reports whether the waiver is of the finding's check and subject, and of its unit.
func (w *WaivePolicy) names(f *Finding) bool {
	unit, _, _ := strings.Cut(f.Unit, "/") // the growth of bytes is in bytes/file
	if f.Unit != "" && unit != Bytes && unit != Ratio {
		unit = Count
	}
	return w.Check == f.Check && (w.UpTo == nil || unit == "" || unit == w.Unit) &&
		(w.Subject == "" || slices.Contains(shortened(f.Subject), w.Subject))
}

// refusal returns why the waiver, which names the finding, does not cover it. It returns "" if the
// waiver covers it.
func (w *WaivePolicy) refusal(f *Finding, at time.Time) string {
	if !w.Holds(at) {
		return w.Ended()
	}
	if w.UpTo == nil {
		return ""
	}
	bound := "up to "
	if f.HigherIsBetter() {
		bound = "at least "
	}
	switch worst := cmp.Or(f.worst, f.Measured); {
	case worst == nil:
		return fmt.Sprintf("the waiver covers only %s%s, and nothing was measured", bound,
			Quantity(*w.UpTo, w.Unit))
	case f.worse(*worst, *w.UpTo):
		return fmt.Sprintf("the waiver covers only %s%s, and there is %s", bound,
			Quantity(*w.UpTo, f.Unit), Quantity(*worst, f.Unit))
	}
	return ""
}

// unused returns the note on a waiver that names no finding that fails or is undecided.
func (w *WaivePolicy) unused(findings []Finding, at time.Time) string {
	name := "the waiver of " + w.Check
	if w.Subject != "" {
		name += ", " + w.Subject
	}
	var subjects []string
	judged := false
	for i := range findings {
		if f := &findings[i]; f.Check == w.Check {
			judged = judged || f.Verdict != Skipped
			subjects = append(subjects, shortened(f.Subject)...)
		}
	}
	switch {
	case !w.Holds(at):
		return fmt.Sprintf("%s was not used and ended on %s; take it out of the policy", name, w.Until)
	case !judged:
		return fmt.Sprintf("%s was not used: the log has no data for %s", name, w.Check)
	case w.Subject != "" && !slices.Contains(subjects, w.Subject):
		return fmt.Sprintf("%s was not used: %s has no finding with this subject%s", name, w.Check,
			strictyaml.Meant(w.Subject, subjects))
	}
	return name + " was not used: nothing that it names fails or is undecided; if it stays so, take " +
		"it out of the policy"
}

// deviceMark matches the device and the rank at the end of a subject: see [Judge.laneMark].
var deviceMark = regexp.MustCompile(` \([^()]*\bdevice \d+\)$`)

// shortened returns a subject as a waiver may name it: in full, without the reference of a
// comparison, and without the device and the rank:
//
//	peak (rank 1, device 0), against base.json
//	peak (rank 1, device 0)
//	peak
func shortened(subject string) []string {
	all := []string{subject}
	if metric, compared := withoutReference(subject); compared {
		subject = metric
		all = append(all, subject)
	}
	short := deviceMark.ReplaceAllString(subject, "")
	for i := range Ledgers { // of which some have only the rank at the end, or a process's name
		if name := Ledgers[i].Name; strings.HasPrefix(subject, name+" (") {
			short = name
		}
	}
	if short != subject {
		all = append(all, short)
	}
	return all
}

// worse reports whether a value in the finding's unit is worse than another. For a recovery this is
// a smaller value, for everything else a larger one.
func (f *Finding) worse(value, than float64) bool {
	if f.HigherIsBetter() {
		return value < than
	}
	return value > than
}

// includes notes a value of something that the finding sums up and that does not pass. A waiver
// must cover the worst of them, also if the finding shows another one.
func (f *Finding) includes(value float64) {
	if f.worst == nil || f.worse(value, *f.worst) {
		f.worst = &value
	}
}
