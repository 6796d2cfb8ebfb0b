package check

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"vramsoak/harness/shape"
	"vramsoak/harness/waiver"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Schema is the value of "schema" in the JSON form of a [Report].
const Schema = "vramsoak.verdict/1"

// A Report is the judgement of a timeline under a policy. Its JSON form is verdict.json.
type Report struct {
	Schema      string    `json:"schema"`
	Verdict     Verdict   `json:"verdict"`
	Files       int       `json:"files"`
	Checkpoints int       `json:"checkpoints"`
	HighWater   HighWater `json:"peak"`
	PeakBy      *PeakBy   `json:"peak_by,omitempty"` // nil if no peak was judged
	Findings    []Finding `json:"findings"`
	// Notes are further facts for the reader, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Work is what the pipeline did beside its checkpoints. It is nil if the log says nothing of it.
	Work *Work `json:"work,omitempty"`
	// Shards says how many shards the run has, if several tasks shared its batch. It is nil otherwise.
	Shards *ShardCount `json:"shards,omitempty"`

	// The following fields are not in verdict.json.

	// Logs is the number of logs that were judged together.
	Logs int `json:"-"`
	// Unread lists the gating memory checks that could not be made because the log has no memory
	// reading.
	Unread []string `json:"-"`
	// Recoveries holds what each cleanup and each stage of each file freed, in the order of the log.
	// It leaves out files whose checkpoints the timeline does not keep.
	Recoveries []Recovered `json:"-"`
	// Policy is the policy under which the findings were made.
	Policy Policy `json:"-"`
	// Trends holds each series that was judged for growth, in the process that decided its finding. It
	// is nil unless [Judge.Trends] was set.
	Trends []Trend `json:"-"`
	// Growths holds each series that was judged for growth: of each ledger, in each process, on each
	// device of each rank. Series is the number of those that share the rate of false alarms:
	// constants and checks that do not gate do not count.
	Growths []Growth `json:"-"`
	Series  int      `json:"-"`
	// Level is the rate of false alarms that these series share: 0.001, or less in a run with
	// --fail-fast.
	Level float64 `json:"-"`
	// Measured holds what the run measured, file by file. It is nil unless [Judge.Measures] was set.
	Measured *Measurements `json:"-"`
	// found holds the findings before [Policy.Waive] and [Policy.Require] are applied.
	found []Finding
	// ended is when the run ended, by its log; zero if the log does not say it.
	ended time.Time
	// waiving holds those of Notes that are about waivers.
	waiving []string
}

// HighWater holds, for each quantity, the largest reading in the log, in bytes. It is 0 if the log
// has no reading of the quantity. The readings may come from different devices.
type HighWater struct {
	Allocated int64 `json:"allocated"`
	Reserved  int64 `json:"reserved"`
	Used      int64 `json:"used,omitempty"` // on the device, from checkpoints or samples
	Total     int64 `json:"total"`
}

func (h *HighWater) add(r *record.Reading) {
	h.Allocated = max(h.Allocated, r.Bytes(record.Allocated), r.Bytes(record.Peak))
	h.Reserved = max(h.Reserved, r.Bytes(record.Reserved), r.Bytes(record.PeakReserved))
	h.Used = max(h.Used, r.Bytes(record.Used))
	h.Total = max(h.Total, r.Bytes(record.Total))
}

// A PeakBy is the reading that decided the worst finding on a peak. Its bytes and its total belong
// to one device, unlike the values of a [HighWater].
type PeakBy struct {
	Quantity string `json:"quantity"` // as in [Finding]
	Bytes    int64  `json:"bytes"`
	Total    int64  `json:"total,omitempty"` // total of the device; 0 if unknown
}

// A Trend is a series of values over the files, or over the readings, of one process.
type Trend struct {
	Finding Finding // the finding on the series
	Unit    string
	Files   []*timeline.File
	Values  []float64 // one for each file, or for each block of readings
	// Every is 0 for a series over files. For a series over readings, each value is the lowest of
	// Every consecutive readings.
	Every int
	// Falls is set if a fall of the values is bad. Result is then the shape of the values times -1.
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

// Join adds findings to the report and updates the verdict. If a finding has Gates set, it decides
// the verdict even if the policy does not gate on its check, unless the policy waives it.
func (r *Report) Join(findings ...Finding) {
	r.found = append(r.found, findings...)
	slices.SortStableFunc(r.found, byCheck)
	r.Findings = slices.Clone(r.found)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Gates = f.Gates || slices.Contains(r.Policy.Gate, f.Check)
	}
	unused := r.Policy.waive(r.Findings, r.ended)
	r.Findings = summed(required(r.Policy.Require, r.Findings))
	attribute(r.Findings)
	r.Verdict = whole(r.Findings)
	r.noteWaivers(unused)
}

// Revise calls change for each finding, which may change it, and updates the verdict. It is for
// callers who know more than the log does, such as a simulator.
func (r *Report) Revise(change func(f *Finding)) {
	for i := range r.found {
		change(&r.found[i])
	}
	r.Join()
}

// Reported returns a finding of [Report.Trends] as the report has it, with what the policy says of
// it. A report does not list more than [MostAlike] findings of a kind.
func (r *Report) Reported(of Finding) Finding {
	for _, f := range r.Findings {
		if f.Check == of.Check && f.Subject == of.Subject {
			return f
		}
	}
	of.Gates = slices.Contains(r.Policy.Gate, of.Check)
	return of
}

// Unsettle makes the failed findings of a check undecided. It is for callers whose data is not good
// enough to fail the check.
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

// whole returns the verdict over all findings: fail if a gating check fails, else undecided if a
// gating check is undecided, else pass if one passes. Some findings pass only because nothing
// speaks against them, such as "no out-of-memory message". They alone do not make the report pass.
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

// required returns the findings, with those checks made undecided that the policy requires and that
// have no data in the log. A check with a judgement on any subject has data.
func required(checks []string, findings []Finding) []Finding {
	for _, check := range checks {
		of := func(f Finding) bool { return f.Check == check || slices.Contains(f.Also, check) }
		if !slices.ContainsFunc(findings, of) {
			f := Finding{
				Check: check, Verdict: Undecided, Subject: "the log", Gates: true, noData: true,
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

// MostAlike is the largest number of findings with the same check and verdict that a report lists
// one by one. One more finding sums up the rest, because a log can have 20,000 devices or 200,000
// cleanups, with a finding for each.
const MostAlike = 256

// A gathering collects findings, and lists at most MostAlike of each kind, so that its memory does
// not grow with their number.
type gathering struct {
	findings []Finding
	marks    map[string]bool // lane suffixes of subjects, such as " (GPU 1)"
	same     map[sameFinding]*alike
	kinds    map[kind]*group
	order    []kind // in the order in which they first appear
}

// A sameFinding is the key by which equal findings on different devices or ranks are merged.
type sameFinding struct {
	check   string
	verdict Verdict
	subject string // without the lane
	message string
}

type alike struct{ at, count int }

// A group holds the findings of one kind: the number of those that are listed, and one finding that
// sums up the rest.
type group struct {
	listed int
	others Finding
}

// A kind is the key of a group. Findings of the same kind beyond MostAlike are summed up.
type kind struct {
	check   string
	verdict Verdict
	gates   bool
	absent  bool
	waived  *waiver.Waiver
}

func newGathering() gathering {
	return gathering{
		marks: map[string]bool{}, same: map[sameFinding]*alike{}, kinds: map[kind]*group{},
	}
}

// add adds a finding. Findings on several devices or ranks that are equal, and that measured
// nothing, are merged into one. Otherwise a job of 64 ranks would say 64 times that it has no
// total.
func (g *gathering) add(f Finding) {
	if i := strings.LastIndex(f.Subject, " ("); i >= 0 && g.marks[f.Subject[i:]] {
		f.Device = strings.TrimSuffix(f.Subject[i+2:], ")")
	}
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
	of := kind{f.Check, f.Verdict, f.Gates, f.absent, f.Waived}
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
		k.others.count, k.others.causeInput, k.others.cause = 0, nil, nil
	}
	k.others.count += max(1, f.count)
}

// summed returns the findings; those of a kind beyond MostAlike are summed up in one finding.
func summed(findings []Finding) []Finding {
	g := newGathering()
	for _, f := range findings {
		g.add(f)
	}
	return g.gathered()
}

// gathered returns the findings sorted by check. For each kind it adds one finding that sums up
// those that are not listed.
func (g *gathering) gathered() []Finding {
	for _, of := range g.order {
		k := g.kinds[of]
		if k.others.count == 0 {
			continue
		}
		k.others.Subject = Grouped(fmt.Sprint(k.others.count)) + " others"
		k.others.Message = fmt.Sprintf("%s: %s besides the %d listed",
			of.verdict, Plural(k.others.count, "finding"), k.listed)
		g.findings = append(g.findings, k.others)
	}
	slices.SortStableFunc(g.findings, byCheck)
	return g.findings
}
