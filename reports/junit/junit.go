// Package junit writes junit.xml: the findings and the files of a run as test cases, for the test
// view of a CI system.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/waiver"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Write writes a judged run as JUnit XML. A suite has a test case for each finding. If the log has
// files, a second suite has a test case for each file.
//
// A finding that fails becomes a failure, an undecided finding an error, and a skipped or waived
// finding a skipped test. A finding that does not gate passes, with its message in system-out. So
// the XML has failures or errors exactly if the verdict is not pass.
func Write(w io.Writer, tl *timeline.Timeline, rep *check.Report) error {
	stamp := timestamp(tl)
	suites := suites{Name: "vramsoak", Suites: []suite{checksSuite(rep, stamp)}}
	if last := tl.LastAttempts(); len(last) > 0 {
		files := suite{Name: "vramsoak files", Timestamp: stamp}
		gates, waived := filesGate(rep)
		var sum float64
		times := map[string]int{}
		for _, f := range last {
			c := fileCase(f, gates, waived)
			if times[c.Name]++; times[c.Name] > 1 { // CI systems merge cases of one name
				c.Name = fmt.Sprintf("%s (%d)", c.Name, times[c.Name])
			}
			files.add(c)
			sum += f.Seconds
		}
		suites.Suites = append(suites.Suites, files.done(sum))
	}
	return suites.write(w)
}

// checksSuite returns the suite with a test case for each finding.
func checksSuite(rep *check.Report, stamp string) suite {
	checks := suite{Name: "vramsoak checks", Timestamp: stamp}
	for _, f := range wording.Sorted(rep) {
		checks.add(findingCase(f))
	}
	if rep.Verdict != check.Pass && checks.Failures+checks.Errors == 0 { // nothing was judged
		why := "no check that gates could be judged"
		if slices.ContainsFunc(rep.Findings, func(f check.Finding) bool { return f.Waived != nil }) {
			why = "every finding that could decide the verdict is waived"
		}
		checks.add(testCase{
			Name: "verdict", Classname: "vramsoak", Time: inSeconds(0),
			Error: &result{Message: why, Type: string(rep.Verdict)},
		})
	}
	return checks.done(0)
}

// write writes the suites.
func (suites suites) write(w io.Writer) error {
	for _, s := range suites.Suites {
		suites.Tests += s.Tests
		suites.Failures += s.Failures
		suites.Errors += s.Errors
	}
	suites.Time = suites.Suites[len(suites.Suites)-1].Time
	out, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return fmt.Errorf("encode JUnit XML: %w", err)
	}
	if _, err := sink.XML(w).Write(append([]byte(xml.Header), append(out, '\n')...)); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

func findingCase(f check.Finding) testCase {
	c := testCase{
		Name: sink.Line(subjectName(f)), Classname: "vramsoak." + sink.Line(f.Check),
		Time: inSeconds(0),
	}
	outcome := &result{Message: sink.Line(f.Message), Type: sink.Line(f.Check), Body: evidence(f)}
	switch {
	case f.Verdict == check.Skipped, f.Waived != nil:
		c.Skipped = &result{Message: outcome.Message}
	case f.Verdict == check.Pass:
		c.SystemOut = outcome.Body
	case !f.Gates:
		c.SystemOut = "does not gate: " + string(f.Verdict) + "\n" + outcome.Body
	case f.Verdict == check.Fail:
		c.Failure = outcome
	default:
		outcome.Type = string(f.Verdict)
		c.Error = outcome
	}
	return c
}

// subjectName returns the finding's subject, or the name of its check if the subject is empty. A
// test case needs a name.
func subjectName(f check.Finding) string {
	if f.Subject == "" {
		return f.Check
	}
	return f.Subject
}

// evidence describes a finding in full. It has a line for each of the message, the numbers, the
// file and the position in the log.
func evidence(f check.Finding) string {
	lines := []string{sink.Line(f.Message)}
	if f.Cause != nil {
		lines = append(lines, "follows from "+sink.Line(f.Cause.Check+", "+f.Cause.Subject))
	}
	if f.Measured != nil {
		line := "measured " + wording.Measured(f)
		if f.Limit != nil {
			line += ", limit " + wording.Limit(f)
		}
		lines = append(lines, line)
	}
	if f.File > 0 {
		lines = append(lines, "file "+wording.Count(f.File))
	}
	if f.Shard > 0 {
		lines = append(lines, strings.TrimSpace(wording.InShard(f)))
	}
	if f.At != nil {
		lines = append(lines, "at "+wording.Location(f))
	}
	for _, text := range f.Advice {
		lines = append(lines, "advice: "+sink.Line(text))
	}
	return strings.Join(lines, "\n")
}

// filesGate reports whether a file that did not end well counts as a failure. It does not if the
// policy says that the check completeness does not gate, or waives the finding on the files; waived
// is then that waiver.
func filesGate(rep *check.Report) (gates bool, waived *waiver.Waiver) {
	judged := false
	for _, f := range rep.Findings {
		if f.Check != check.Completeness {
			continue
		}
		if f.Waived != nil && f.Subject == check.Files {
			return false, f.Waived
		}
		gates, judged = gates || f.Gates, true
	}
	return gates || !judged, nil
}

// fileCase returns the test case of a file. For gates and waived see filesGate.
func fileCase(f *timeline.File, gates bool, waived *waiver.Waiver) testCase {
	c := testCase{Name: sink.Line(f.Name()), Classname: "vramsoak.file", Time: inSeconds(f.Seconds)}
	status := sink.Line(string(f.Status))
	switch {
	case f.Status == record.StatusOK:
		return c
	case f.Status == record.StatusUnknown && !f.Supervised:
		c.Skipped = &result{Message: "the log does not say how the file ended"}
		return c
	case f.Status == record.StatusUnknown:
		status = "no end"
	}
	message := fmt.Sprintf("file %d: %s", f.Index, status)
	if f.Error != "" {
		message += ": " + sink.Line(f.Error)
	}
	body := fmt.Sprintf("%s\nat %s to line %d", message, sink.Line(f.Pos.String()), f.EndPos.Line)
	switch {
	case waived != nil:
		c.Skipped = &result{Message: message + "; " + sink.Line(waived.String())}
	case gates:
		c.Failure = &result{Message: message, Type: status, Body: body}
	default:
		c.SystemOut = "does not gate: " + body
	}
	return c
}

// inSeconds returns seconds with three decimals and without an exponent, as the schema requires.
func inSeconds(seconds float64) string { return strconv.FormatFloat(max(0, seconds), 'f', 3, 64) }

// timestamp returns the time of the log's beginning, in the schema's form without a zone. It
// returns "" if the log has no dates.
func timestamp(tl *timeline.Timeline) string {
	var first time.Time
	consider := func(t time.Time) {
		if wording.HasDate(t) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, r := range tl.Runs {
		consider(r.Start.Time)
	}
	if first.IsZero() {
		for f := range tl.InOrder() {
			consider(f.Start)
		}
	}
	return stampOf(first)
}

// stampOf returns a time in the schema's form, or "" if it is zero.
func stampOf(first time.Time) string {
	if first.IsZero() {
		return ""
	}
	return first.UTC().Format("2006-01-02T15:04:05")
}
