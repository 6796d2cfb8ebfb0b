package check

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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

// Join adds findings to those of the log, and gives the verdict of all. A finding that gates does
// so whatever the policy says.
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

// whole returns the verdict of all: fail if a gating check fails, else undecided if one is, else
// pass if one was judged. That no allocation failed and no reading contradicts itself is not
// enough to pass: that is so too in a log that has nothing to judge by.
func whole(findings []Finding) Verdict {
	verdict := Undecided // no data is never a pass
	for _, want := range []Verdict{Pass, Undecided, Fail} {
		if slices.ContainsFunc(findings, func(f Finding) bool {
			return f.Gates && f.Verdict == want && !f.absent
		}) {
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
				f.Message = "required by the policy, and there is no earlier run to compare with; give one " +
					"with --baseline"
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

// MostAlike is how many findings of one check that have the same verdict a report lists one by
// one. The rest are summed in one more, the others: a log can name 20,000 devices, or 200,000
// cleanups, and each is judged.
const MostAlike = 256

// A gathering holds findings as they are made, in memory that does not grow with their number.
type gathering struct {
	findings []Finding
	marks    map[string]bool // what subjects end with where there are several lanes
	same     map[sameFinding]*alike
	kinds    map[kind]*group
	order    []kind // in which they came up
}

// A sameFinding is what two findings on different lanes have in common if they say the same.
type sameFinding struct {
	check   string
	verdict Verdict
	subject string // without the lane
	message string
}

type alike struct{ at, count int }

// A group is the findings of a kind.
type group struct {
	listed int
	others Finding
}

// A kind is what findings that are summed together have in common.
type kind struct {
	check   string
	verdict Verdict
	gates   bool
	absent  bool
}

func newGathering() gathering {
	return gathering{
		marks: map[string]bool{}, same: map[sameFinding]*alike{}, kinds: map[kind]*group{},
	}
}

// add adds a finding. One that says the same of several lanes is kept once, where nothing is
// measured: a job of 64 ranks has no total 64 times.
func (g *gathering) add(f Finding) {
	subject, ofLane := f.Subject, false
	foldable := f.Verdict == Skipped || f.Verdict == Pass && f.Check == Consistency
	if i := strings.LastIndex(f.Subject, " ("); foldable && i >= 0 && g.marks[f.Subject[i:]] {
		subject, ofLane = f.Subject[:i], true
	}
	key := sameFinding{f.Check, f.Verdict, subject, f.Message}
	if first := g.same[key]; foldable && ofLane && first != nil {
		first.count++
		g.findings[first.at].Subject = fmt.Sprintf("%s (%d alike)", subject, first.count)
		return
	}
	of := kind{f.Check, f.Verdict, f.Gates, f.absent}
	k := g.kinds[of]
	if k == nil {
		k = &group{}
		g.kinds[of], g.order = k, append(g.order, of)
	}
	if k.listed < MostAlike && f.count == 0 {
		k.listed++
		if foldable {
			g.same[key] = &alike{len(g.findings), 1}
		}
		g.findings = append(g.findings, f)
		return
	}
	if k.others.Check == "" { // the first of them shows where they are
		k.others = f
		k.others.Measured, k.others.Limit, k.others.Unit, k.others.Stage = nil, nil, "", ""
		k.others.count = 0
	}
	k.others.count += max(1, f.count)
}

// summed returns the findings with those beyond MostAlike of each kind summed in one.
func summed(findings []Finding) []Finding {
	g := newGathering()
	for _, f := range findings {
		g.add(f)
	}
	return g.gathered()
}

// gathered returns the findings by their checks, with one for the others of each kind.
func (g *gathering) gathered() []Finding {
	for _, of := range g.order {
		k := g.kinds[of]
		if k.others.count == 0 {
			continue
		}
		k.others.Subject = Grouped(fmt.Sprint(k.others.count)) + " others"
		k.others.Message = fmt.Sprintf("%s: %s more than the %d listed",
			of.verdict, Plural(k.others.count, "finding"), k.listed)
		g.findings = append(g.findings, k.others)
	}
	slices.SortStableFunc(g.findings, byCheck)
	return g.findings
}
