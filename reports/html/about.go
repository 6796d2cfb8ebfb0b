package html

import (
	"path"
	"strings"
	"time"

	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// aboutMax is how many logs the top of a page names.
const aboutMax = 12

// about returns what the logs say of the run: its command, when it began, which logs were read.
func (e *encoder) about(soFar string) (rows []summaryRow) {
	add := func(name string, lines ...string) {
		for i := range lines {
			lines[i] = sink.Name(lines[i])
		}
		rows = append(rows, summaryRow{Name: name, Lines: lines, Finding: -1})
	}
	var logs []string
	for _, l := range e.doc.Logs {
		logs = append(logs, l.Name)
	}
	if more := len(logs) - aboutMax; more > 0 {
		logs = append(logs[:aboutMax:aboutMax], "and "+wording.Count(more)+" more")
	}
	if len(logs) > 0 {
		add("Log", strings.Join(logs, ", "))
	}
	if len(e.doc.Tracks) == 1 { // of several, the charts have a choice
		device := e.doc.Tracks[0].Label
		if total := e.doc.Tracks[0].Total; total > 0 {
			device += ", " + check.Quantity(float64(total), check.Bytes)
		}
		add("Device", device)
	}
	if len(e.tl.Runs) == 0 {
		return rows
	}
	r := &e.tl.Runs[0]
	if r.Start.Command != "" {
		add("Command", wording.Shorten(r.Start.Command, 300))
	}
	if began := clockOf(r.Start.Time); began != "" {
		add("Began", began)
	}
	if soFar != "" {
		add("So far", soFar)
	} else {
		add("Ended", ended(r))
	}
	return rows
}

// logNames names the logs in a few words: "a.log", "rank0.log and 3 more". So the pages in several
// tabs of a browser have different titles.
func (e *encoder) logNames() string {
	if len(e.doc.Logs) == 0 {
		return ""
	}
	name := path.Base(e.doc.Logs[0].Name)
	if more := len(e.doc.Logs) - 1; more > 0 {
		name += " and " + wording.Count(more) + " more"
	}
	return name
}

// ended says how and when a run ended.
func ended(r *timeline.Run) string {
	if r.End == nil {
		return "the log has no end of the run"
	}
	text := r.End.Reason
	if at := clockOf(r.End.Time); at != "" {
		text = at + ", " + text
	}
	if r.End.Error != "" {
		text += ": " + wording.Shorten(r.End.Error, 200)
	}
	return text
}

// clockOf returns a time as "2026-11-20 02:00:00 UTC", or "" if it is unknown.
func clockOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}
