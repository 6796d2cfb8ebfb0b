package check

import (
	"encoding/json"
	"io"
	"slices"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Schema names the form of a Report in JSON.
const Schema = "vramsoak.verdict/1"

// A Report is the judgement of a timeline under a policy. Its JSON form is verdict.json.
type Report struct {
	Schema      string    `json:"schema"`
	Verdict     Verdict   `json:"verdict"`
	Files       int       `json:"files"`
	Checkpoints int       `json:"checkpoints"`
	HighWater   HighWater `json:"peak"`
	PeakBy      *PeakBy   `json:"peak_by,omitempty"` // nil where no peak was judged
	Findings    []Finding `json:"findings"`
	// Notes are what a reader should know beside the findings, a sentence each.
	Notes []string `json:"notes,omitempty"`

	// The rest is not in verdict.json.

	// Unread are the checks on memory that would decide the verdict, where the log has no reading of
	// it: none of them was made.
	Unread []string `json:"-"`
	// Recoveries are each cleanup and stage of each file that the timeline has checkpoints of, in the
	// order of the log.
	Recoveries []Recovered `json:"-"`
	// Policy is what it was judged by.
	Policy Policy `json:"-"`
	// Trends are the series that were judged for growth, each in the process that decided its
	// finding; nil where [Judge.Trends] is not set.
	Trends []Trend `json:"-"`
	// Measured is what the run measured, file by file; nil where [Judge.Measures] is not set.
	Measured *Measurements `json:"-"`
	// found are the findings as they were made, before the policy's demands.
	found []Finding
}

// HighWater is the largest reading of each kind in a log, in bytes; 0 where there is none.
type HighWater struct {
	Allocated int64 `json:"allocated"`
	Reserved  int64 `json:"reserved"`
	Used      int64 `json:"used,omitempty"` // of the device, from checkpoints or samples
	Total     int64 `json:"total"`
}

func (h *HighWater) add(r *record.Reading) {
	h.Allocated = max(h.Allocated, r.Bytes(record.Allocated), r.Bytes(record.Peak))
	h.Reserved = max(h.Reserved, r.Bytes(record.Reserved), r.Bytes(record.PeakReserved))
	h.Used = max(h.Used, r.Bytes(record.Used))
	h.Total = max(h.Total, r.Bytes(record.Total))
}

// A PeakBy is the reading that decided the worst finding on a peak. It is of one device, unlike the
// largest readings of a [HighWater].
type PeakBy struct {
	Quantity string `json:"quantity"` // as in [Finding]
	Bytes    int64  `json:"bytes"`
	Total    int64  `json:"total,omitempty"` // the device's; 0 where it is not known
}

// A Trend is a series over the files of one process.
type Trend struct {
	Finding Finding // on it
	Unit    string
	Files   []*timeline.File
	Values  []float64 // one a file
	// Every says that it is over readings instead of files: a value is the lowest of so many readings
	// that follow one another. 0 is over files.
	Every int
	// Falls says that a fall was looked for. Result is then on the values times -1.
	Falls  bool
	Result shape.Result
}

// WriteJSON writes the report as one indented JSON object and a newline.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Join adds findings to those of the log, and gives the verdict of all. A finding that gates does so
// whatever the policy says.
func (r *Report) Join(findings ...Finding) {
	r.found = append(r.found, findings...)
	slices.SortStableFunc(r.found, byCheck)
	r.Findings = slices.Clone(r.found)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Gates = f.Gates || slices.Contains(r.Policy.Gate, f.Check)
	}
	r.Findings = summed(required(r.Policy.Require, r.Findings))
	r.Verdict = whole(r.Findings)
}

// Revise changes findings and gives the verdict anew, for a caller who knows more than the log
// tells, as a simulator does.
func (r *Report) Revise(change func(f *Finding)) {
	for i := range r.found {
		change(&r.found[i])
	}
	r.Join()
}

// Unsettle makes the findings of a check undecided that fail, where what it was judged by does not
// suffice.
func (r *Report) Unsettle(check string) {
	r.Revise(func(f *Finding) {
		if f.Check == check && f.Verdict == Fail {
			f.Verdict = Undecided
		}
	})
}

func byCheck(a, b Finding) int {
	return slices.Index(Checks, a.Check) - slices.Index(Checks, b.Check)
}

// whole returns the verdict of all: fail if a gating check fails, else undecided if one is, else pass
// if one was judged. That no allocation failed and no reading contradicts itself is not enough to
// pass: that is so too in a log that has nothing to judge by.
func whole(findings []Finding) Verdict {
	verdict := Undecided // no data is never a pass
	for _, want := range []Verdict{Pass, Undecided, Fail} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Gates && f.Verdict == want && !f.absent }) {
			verdict = want
		}
	}
	return verdict
}

// required makes the checks undecided that the policy requires and that the log could not give. A
// check that was judged anywhere was given.
func required(checks []string, findings []Finding) []Finding {
	for _, check := range checks {
		of := func(f Finding) bool { return f.Check == check }
		if !slices.ContainsFunc(findings, of) {
			f := Finding{
				Check: check, Verdict: Undecided, Subject: "the log", Gates: true,
				Message: "required by the policy, and the log has nothing to judge it by",
			}
			if check == Regression {
				f.Message = "required by the policy, and there is no earlier run to compare with; give one with --baseline"
			}
			findings = append(findings, f)
			continue
		}
		if slices.ContainsFunc(findings, func(f Finding) bool { return of(f) && f.Verdict != Skipped }) {
			continue
		}
		for i := range findings {
			if f := &findings[i]; of(*f) {
				f.Verdict, f.Gates = Undecided, true
				f.Message = "required by the policy, but " + f.Message
			}
		}
	}
	return findings
}
