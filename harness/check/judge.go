package check

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"vramsoak/parser"
)

// The checks, in the order in which a report lists them.
const (
	Recovery     = "recovery"
	Leak         = "leak"
	Peak         = "peak"
	OutOfMemory  = "out-of-memory"
	Completeness = "completeness"
	Consistency  = "consistency"
)

// Checks are the names that a policy may gate on or require.
var Checks = []string{Recovery, Leak, Peak, OutOfMemory, Completeness, Consistency}

// Judge applies every check to the timeline. The report depends on nothing else.
func Judge(tl *parser.Timeline, policy Policy) *Report {
	j := &judge{tl: tl, policy: policy, readings: map[parser.Lane][]reading{}, levels: map[ledger]parser.Quantity{}, tells: map[int]bool{}}
	j.sortReadings()
	for i := range tl.Files {
		if f := &tl.Files[i]; f.Supervised || f.Status != parser.StatusUnknown {
			j.tells[f.Run] = true
		}
	}
	recovered := j.recoveries()
	byLane := map[parser.Lane][]Recovered{}
	for _, r := range recovered {
		byLane[r.Lane] = append(byLane[r.Lane], r)
	}
	for _, lane := range j.lanes {
		j.recovery(lane, byLane[lane])
		j.peak(lane)
		j.leak(lane)
		j.consistency(lane)
	}
	j.outOfMemory()
	j.completeness()
	j.unreadable()
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return slices.Index(Checks, a.Check) - slices.Index(Checks, b.Check)
	})
	for i := range j.findings {
		f := &j.findings[i]
		f.Gates = slices.Contains(policy.Gate, f.Check)
	}
	j.require()
	return &Report{
		Schema: Schema, Verdict: whole(j.findings), Files: len(tl.Files), Checkpoints: tl.Checkpoints,
		HighWater: highWater(tl), Findings: j.findings, Recoveries: recovered,
	}
}

// whole is the verdict of all: fail if a gating check fails, else undecided if one is, else pass if one was judged.
func whole(findings []Finding) Verdict {
	verdict := Undecided // no data is never a pass
	for _, want := range []Verdict{Pass, Undecided, Fail} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Gates && f.Verdict == want }) {
			verdict = want
		}
	}
	return verdict
}

// judge collects the findings about one timeline.
type judge struct {
	tl       *parser.Timeline
	policy   Policy
	lanes    []parser.Lane // that the log has readings of, in order
	readings map[parser.Lane][]reading
	// levels is the quantity by which a lane is judged in a run: the one that most of its readings have, allocated before
	// what the driver says. One for all, because allocated and reserved are not to be compared.
	levels map[ledger]parser.Quantity
	// tells says of a run that the log tells how its files ended.
	tells    map[int]bool
	findings []Finding
}

// A ledger is one device of one rank in one run.
type ledger struct {
	run  int
	lane parser.Lane
}

// A reading is a checkpoint and the file, or the stretch between files, that it is in.
type reading struct {
	file *parser.File
	*parser.Checkpoint
}

func (j *judge) add(f Finding) { j.findings = append(j.findings, f) }

// require turns what the policy requires and the log could not give into undecided. A check that was judged anywhere was
// given.
func (j *judge) require() {
	for _, check := range j.policy.Require {
		of := func(f Finding) bool { return f.Check == check }
		if !slices.ContainsFunc(j.findings, of) {
			j.add(Finding{
				Check: check, Verdict: Undecided, Subject: "the log", Gates: true,
				Message: "required by the policy, and the log has nothing to judge it by",
			})
			continue
		}
		if slices.ContainsFunc(j.findings, func(f Finding) bool { return of(f) && f.Verdict != Skipped }) {
			continue
		}
		for i := range j.findings {
			if f := &j.findings[i]; of(*f) {
				f.Verdict, f.Gates = Undecided, true
				f.Message = "required by the policy, but " + f.Message
			}
		}
	}
}

// sortReadings sorts the checkpoints by their lanes; within a lane they stay in order, those outside of files first.
func (j *judge) sortReadings() {
	candidates := [...]parser.Quantity{parser.Allocated, parser.Used, parser.Reserved}
	counts := map[ledger]*[len(candidates)]int{}
	for file, c := range j.tl.All() {
		j.readings[c.Lane] = append(j.readings[c.Lane], reading{file, c})
		l := ledger{file.Run, c.Lane}
		if counts[l] == nil {
			counts[l] = new([len(candidates)]int)
		}
		for i, q := range candidates {
			if _, has := c.Get(q); has {
				counts[l][i]++
			}
		}
	}
	for l, count := range counts {
		best := 0
		for i, n := range count {
			if n > count[best] {
				best = i
			}
		}
		j.levels[l] = candidates[best]
	}
	j.lanes = slices.SortedFunc(maps.Keys(j.readings), func(a, b parser.Lane) int {
		return cmp.Or(a.Rank-b.Rank, a.Device-b.Device)
	})
}

// subject names what a finding is about, with its lane where the log has several.
func (j *judge) subject(name string, lane parser.Lane) string {
	if len(j.lanes) < 2 {
		return name
	}
	return fmt.Sprintf("%s (rank %d, device %d)", name, lane.Rank, lane.Device)
}

// fileName is how a message names a file: "file 12 (0012.wav)".
func fileName(f *parser.File) string {
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
func (j *judge) sound(f *parser.File) bool {
	return f.Status == parser.StatusOK || f.Status == parser.StatusUnknown && !j.tells[f.Run]
}

// level is what a file's checkpoint holds, by the quantity of its ledger.
func (j *judge) level(f *parser.File, c *parser.Checkpoint) (parser.Size, bool) {
	return c.Get(j.levels[ledger{f.Run, c.Lane}])
}

func highWater(tl *parser.Timeline) HighWater {
	var h HighWater
	for _, c := range tl.All() {
		h.Allocated = max(h.Allocated, c.Bytes(parser.Allocated), c.Bytes(parser.Peak))
		h.Reserved = max(h.Reserved, c.Bytes(parser.Reserved))
		h.Used = max(h.Used, c.Bytes(parser.Used))
		h.Total = max(h.Total, c.Bytes(parser.Total))
	}
	for i := range tl.Samples {
		h.Used = max(h.Used, tl.Samples[i].Bytes(parser.Used))
		h.Total = max(h.Total, tl.Samples[i].Bytes(parser.Total))
	}
	return h
}
