package check

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// The checks, in the order in which a report lists them.
const (
	Recovery      = "recovery"
	Leak          = "leak"
	Fragmentation = "fragmentation"
	DarkGrowth    = "dark-memory"
	Drift         = "drift"
	Throughput    = "throughput"
	Peak          = "peak"
	OutOfMemory   = "out-of-memory"
	Completeness  = "completeness"
	Regression    = "regression" // found by package compare, where there is an earlier run: see Report.Join
	Consistency   = "consistency"
	CleanStart    = "clean-start"
)

// Checks are the names that a policy may gate on or require.
var Checks = []string{
	Recovery, Leak, Fragmentation, DarkGrowth, Drift, Throughput, Peak, OutOfMemory, Completeness, Regression, Consistency,
	CleanStart,
}

// Of applies every check to a timeline. The report depends on nothing else.
func Of(tl *timeline.Timeline, policy Policy) *Report {
	j := New(policy)
	j.all, j.Trends, j.Measures = true, true, true
	for f := range tl.InOrder() {
		j.Add(f)
	}
	return j.Report(tl)
}

// A Judge applies the checks to the files of a log while it is read, so that their checkpoints need not be kept.
type Judge struct {
	// Trends and Measures ask for these parts of the report. Of a long log they are large.
	Trends, Measures bool

	policy Policy
	kept   int  // checkpoints of the files whose recoveries are kept
	all    bool // of all files
	// files and outside are what is left of each file, and of each stretch between files, as in the timeline.
	files, outside []summary
	ledgers        []*ledger
	open           []*ledger // of the file that is judged
	byLane         map[record.Lane]*ledger
	plan           plan
	names          map[string]naming
	closed         int // pairs
	paired         map[pairName]bool
	lost           []lostBefore
	begun          map[record.Lane]lostBefore // the first of a cleanup that is lost
	missing        []missingName
	highWater      HighWater
	deciding       decidingPeak
	recoveries     []Recovered

	// Of the report.

	tl      *timeline.Timeline
	ranks   bool         // the log has some
	tells   map[int]bool // runs whose log says how their files ended
	longest int          // see longestProcess; -1 where it is not known yet
	named   map[int]bool // processes that work on files that the log names
	failed  []*ledger    // of devices without a checkpoint: see addFailures
	gathering
	trends []Trend
}

// New is a judge who has seen nothing yet.
func New(policy Policy) *Judge {
	return &Judge{policy: policy, byLane: map[record.Lane]*ledger{}, begun: map[record.Lane]lostBefore{}, paired: map[pairName]bool{}, names: map[string]naming{}}
}

// A fileRef is a file of the timeline, or a stretch between files.
type fileRef struct {
	n       int32
	outside bool
}

func (j *Judge) file(r fileRef) *timeline.File {
	if r.outside {
		return j.tl.Outside[r.n]
	}
	return j.tl.Files[r.n]
}

// A summary is what the report needs of a file's checkpoints.
type summary struct {
	name  string // of the last checkpoint; "" where there is none
	begun string // of the last that is no cleanup's and no After: see lastBegun
	work  int    // line of the last that is no cleanup's
}

// Add judges the next file, or stretch between files, in the order of the log. What it says of the file's cleanups and stages is
// good until the next one.
func (j *Judge) Add(f *timeline.File) []Recovered {
	ref := fileRef{int32(len(j.files)), f.Outside}
	all := &j.files
	if f.Outside {
		all = &j.outside
		ref.n = int32(len(j.outside))
	}
	*all = append(room(*all), j.summarize(f))
	j.openLedgers(f)
	var l *ledger
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.lane != c.Lane {
			l = j.byLane[c.Lane]
		}
		l.add(f, ref, c)
		j.highWater.add(&c.Reading)
	}
	j.closeLedgers(f, ref)
	j.complete(f, ref)
	recovered := j.recoveriesOf(f, ref)
	for i := range recovered {
		recovered[i].sum.add(&recovered[i])
	}
	if j.kept += len(f.Checkpoints); j.all || j.kept <= timeline.Kept {
		j.recoveries = append(j.recoveries, recovered...)
	}
	return recovered
}

// room makes room in a slice that may grow to hundreds of thousands: append by itself grows by a quarter only, and copies as
// often.
func room[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(1, len(s)))
	}
	return s
}

// A naming is what the name of a checkpoint says, of which a log has few.
type naming struct {
	cleanup, after bool   // where it is not sampled
	uncounted      string // see parser.Uncounted
}

// namesMax bounds what is remembered: a log may give every checkpoint a name of its own.
const namesMax = 4096

func (j *Judge) naming(c *record.Checkpoint) naming {
	n, known := j.names[c.Name]
	if !known {
		named := record.Checkpoint{Name: c.Name}
		n = naming{named.OfCleanup(), named.IsAfter(), timeline.Uncounted(c.Name)}
		if len(j.names) >= namesMax {
			clear(j.names)
		}
		j.names[c.Name] = n
	}
	n.cleanup, n.after = n.cleanup && !c.Sampled, n.after && !c.Sampled
	return n
}

// Report sums up. The timeline is that of the files that were added.
func (j *Judge) Report(tl *timeline.Timeline) *Report {
	j.tl, j.tells, j.gathering, j.trends, j.longest = tl, map[int]bool{}, newGathering(), nil, -1
	j.named = map[int]bool{}
	for i := range tl.Files {
		f := tl.Files[i]
		if f.Supervised || f.Status != record.StatusUnknown {
			j.tells[f.Run] = true
		}
		if f.Supervised || f.Path != "" {
			j.named[f.Process] = true
		}
	}
	slices.SortFunc(j.ledgers, byLane)
	j.ranks = slices.ContainsFunc(j.ledgers, func(l *ledger) bool { return l.lane.Rank != 0 })
	j.addFailures()
	beside := j.joinSamples()
	j.addSamples(beside)
	for _, l := range j.ledgers {
		j.marks[laneMark(l.lane, j.ranks)] = true
	}
	j.peaks(beside)
	for _, l := range j.ledgers {
		j.recovery(l)
		j.leak(l)
		j.drifts(l)
		j.consistency(l)
	}
	j.throughput()
	j.outOfMemory()
	j.completeness()
	j.unreadable()
	j.cleanStart()
	unread := j.noReadings()
	for i := range j.recoveries {
		j.recoveries[i].File = j.file(j.recoveries[i].ref)
	}
	mark := j.highWater
	for i := range tl.Samples {
		mark.Used = max(mark.Used, tl.Samples[i].Bytes(record.Used))
		mark.Total = max(mark.Total, tl.Samples[i].Bytes(record.Total))
	}
	report := &Report{
		Schema: Schema, Files: len(tl.LastAttempts()), Checkpoints: tl.Checkpoints, HighWater: mark, PeakBy: j.deciding.by,
		Recoveries: j.recoveries, Policy: j.policy, Trends: j.trends, Notes: j.notes(), Unread: unread,
	}
	if j.Measures {
		report.Measured = j.measure()
	}
	report.Join(j.gathered()...)
	return report
}

// Join adds findings to those of the log, and gives the verdict of all. A finding that gates does so whatever the policy says.
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

func byLane(a, b *ledger) int {
	return cmp.Or(a.lane.Rank-b.lane.Rank, a.lane.Device-b.lane.Device)
}

func byCheck(a, b Finding) int {
	return slices.Index(Checks, a.Check) - slices.Index(Checks, b.Check)
}

// Unsettle has what fails of a check be undecided, where what it was judged by does not suffice.
func (r *Report) Unsettle(of string) {
	for i := range r.found {
		if f := &r.found[i]; f.Check == of && f.Verdict == Fail {
			f.Verdict = Undecided
		}
	}
	r.Join()
}

// whole is the verdict of all: fail if a gating check fails, else undecided if one is, else pass if one was judged. That no
// allocation failed and no reading contradicts itself is not enough to pass: so it is in a log that has nothing to judge by.
func whole(findings []Finding) Verdict {
	verdict := Undecided // no data is never a pass
	for _, want := range []Verdict{Pass, Undecided, Fail} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Gates && f.Verdict == want && !f.absent }) {
			verdict = want
		}
	}
	return verdict
}

// required turns what the policy requires and the log could not give into undecided. A check that was judged anywhere was
// given.
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

// subject names what a finding is about, with its lane where the log has several.
func (j *Judge) subject(name string, lane record.Lane) string {
	if len(j.ledgers) < 2 {
		return name
	}
	return name + laneMark(lane, j.ranks)
}

func laneMark(lane record.Lane, ranks bool) string { return " (" + lane.Name(ranks) + ")" }

// fileName is how a message names a file: "file 12 (0012.wav)".
func fileName(f *timeline.File) string {
	switch {
	case f.Outside:
		return "what was logged outside of files"
	case f.Path == "":
		return f.Name()
	case f.Index == 0:
		return filepath.Base(f.Path) + " (which was not fed)"
	}
	return fmt.Sprintf("file %d (%s)", f.Index, filepath.Base(f.Path))
}

// sound says that nothing speaks against the file's end: what it leaves behind is what a good file leaves behind. In a log
// that tells how files ended, one without an end was cut short.
func (j *Judge) sound(f *timeline.File) bool {
	return f.Status == record.StatusOK || f.Status == record.StatusUnknown && !j.tells[f.Run]
}
