// Package check judges a timeline: whether each cleanup gave its memory back, whether a ledger
// grows over the files (see [Ledgers]), whether the card was large enough, whether every file
// ended well.
//
//	report := check.Of(timeline, check.DefaultPolicy())
//
// A verdict is pass or fail only where it holds for every value that the log's printed digits
// allow. What the log cannot tell is undecided. A check that has no reading is skipped, with the
// reason. No data is never a pass.
package check

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// The checks.
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
	Regression    = "regression" // by package compare, where there is an earlier run: see Report.Join
	Consistency   = "consistency"
	CleanStart    = "clean-start"
)

// Checks are the names that a policy may gate on or require, in the order in which a report lists
// the checks.
var Checks = slices.Concat([]string{Recovery}, ledgerChecks(), []string{
	Drift, Throughput, Peak, OutOfMemory, Completeness, Regression, Consistency, CleanStart,
})

// Of applies every check to a timeline. The report depends on nothing else.
func Of(tl *timeline.Timeline, policy Policy) *Report {
	j := New(policy)
	j.all, j.Trends, j.Measures = true, true, true
	for f := range tl.InOrder() {
		j.Add(f)
	}
	return j.Report(tl)
}

// A Judge applies the checks to the files of a log while it is read, so that their checkpoints need
// not be kept.
type Judge struct {
	// Trends and Measures ask for these parts of the report. Of a long log they are large.
	Trends, Measures bool

	policy Policy
	kept   int  // checkpoints of the files whose recoveries are kept
	all    bool // the recoveries of all files are kept
	// files and outside sum up each file, and each stretch between files, as in the timeline.
	files, outside []summary
	lanes          []*lane
	open           []*lane // of the file that is judged
	byLane         map[record.Lane]*lane
	plan           plan
	names          map[string]naming
	closed         int // pairs
	paired         map[pairName]bool
	lost           []lostBefore
	firstLost      map[record.Lane]lostBefore // of a cleanup
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
	failed  []*lane      // of devices without a checkpoint: see addFailures
	gathering
	trends []Trend
}

// New returns a judge who has seen nothing yet.
func New(policy Policy) *Judge {
	return &Judge{
		policy: policy, byLane: map[record.Lane]*lane{}, firstLost: map[record.Lane]lostBefore{},
		paired: map[pairName]bool{}, names: map[string]naming{},
	}
}

// A summary is what the report needs of a file's checkpoints.
type summary struct {
	name  string // of the last checkpoint; "" where there is none
	begun string // of the last that is no cleanup's and no After: see lastBegun
	work  int    // line of the last that is no cleanup's
}

// Add judges the next file, or stretch between files, in the order of the log. It returns the
// file's cleanups and stages, which are overwritten by the next call.
func (j *Judge) Add(f *timeline.File) []Recovered {
	all := &j.files
	if f.Outside {
		all = &j.outside
	}
	n := int32(len(*all))
	*all = append(room(*all), j.summarize(f))
	j.openLanes(f)
	var l *lane
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.id != c.Lane {
			l = j.byLane[c.Lane]
		}
		l.add(f, n, c)
		j.highWater.add(&c.Reading)
	}
	j.closeLanes(f, n)
	j.notePairs(f)
	recovered := j.recoveriesOf(f, n)
	for i := range recovered {
		recovered[i].sum.add(&recovered[i])
	}
	if j.kept += len(f.Checkpoints); j.all || j.kept <= timeline.KeptCheckpoints {
		j.recoveries = append(j.recoveries, recovered...)
	}
	return recovered
}

// room doubles the room of a slice that may grow to hundreds of thousands of items. append grows it
// by a quarter only, and copies as often.
func room[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(1, len(s)))
	}
	return s
}

// A naming is what the name of a checkpoint says. A log has few names.
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
		n = naming{named.InCleanup(), named.IsAfter(), timeline.WithoutNumbers(c.Name)}
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
	j.begin(tl)
	j.addFailures()
	driver := j.driver()
	j.readDarkSamples(driver)
	j.addSamples(driver)
	for _, l := range j.lanes {
		j.marks[laneMark(l.id, j.ranks)] = true
	}
	j.peaks(driver)
	for _, l := range j.lanes {
		j.recovery(l)
		for i := range Ledgers {
			j.growth(l, &Ledgers[i])
		}
		j.neverUsed(l)
		j.drift(l)
		j.consistency(l)
	}
	j.throughput()
	j.outOfMemory()
	j.completeness()
	j.unreadable()
	j.cleanStart()
	unread := j.noReadings()
	mark := j.highWater
	for i := range tl.Samples {
		mark.Used = max(mark.Used, tl.Samples[i].Bytes(record.Used))
		mark.Total = max(mark.Total, tl.Samples[i].Bytes(record.Total))
	}
	report := &Report{
		Schema: Schema, Files: len(tl.LastAttempts()), Checkpoints: tl.Checkpoints, HighWater: mark,
		PeakBy: j.deciding.by, Recoveries: j.recoveries, Policy: j.policy, Trends: j.trends,
		Notes: j.notes(), Unread: unread,
	}
	if j.Measures {
		report.Measured = j.measure()
	}
	report.Join(j.gathered()...)
	return report
}

// begin notes what the whole timeline tells.
func (j *Judge) begin(tl *timeline.Timeline) {
	j.tl, j.gathering, j.trends, j.longest = tl, newGathering(), nil, -1
	j.tells, j.named = map[int]bool{}, map[int]bool{}
	for _, f := range tl.Files {
		if f.Supervised || f.Status != record.StatusUnknown {
			j.tells[f.Run] = true
		}
		if f.Supervised || f.Path != "" {
			j.named[f.Process] = true
		}
	}
	slices.SortFunc(j.lanes, byLane)
	j.ranks = slices.ContainsFunc(j.lanes, func(l *lane) bool { return l.id.Rank != 0 })
}

// driver returns the harness's samples of the lanes.
func (j *Judge) driver() *timeline.DriverLedgers {
	lanes := make([]record.Lane, len(j.lanes))
	for i, l := range j.lanes {
		lanes[i] = l.id
	}
	return timeline.NewDriverLedgers(j.tl, lanes)
}

func byLane(a, b *lane) int {
	return cmp.Or(a.id.Rank-b.id.Rank, a.id.Device-b.id.Device)
}

// subject names what a finding is about, with its lane where the log has several.
func (j *Judge) subject(name string, id record.Lane) string {
	if len(j.lanes) < 2 {
		return name
	}
	return name + laneMark(id, j.ranks)
}

func laneMark(id record.Lane, ranks bool) string { return " (" + id.Name(ranks) + ")" }

// fileName is how a message names a file: "file 12 (0012.wav)".
func fileName(f *timeline.File) string {
	switch {
	case f.Outside:
		return "outside of files"
	case f.Path == "":
		return f.Name()
	case f.Index == 0:
		return filepath.Base(f.Path) + " (which was not fed)"
	}
	return fmt.Sprintf("file %d (%s)", f.Index, filepath.Base(f.Path))
}

// inFile is where in the batch something happened: "in file 12 (0012.wav)", "outside of files".
func inFile(f *timeline.File) string {
	if f.Outside {
		return fileName(f)
	}
	return "in " + fileName(f)
}

// endedWell reports whether nothing speaks against the file's end: it then leaves behind what a
// good file does. In a log that tells how files ended, a file without an end was cut short.
func (j *Judge) endedWell(f *timeline.File) bool {
	return f.Status == record.StatusOK || f.Status == record.StatusUnknown && !j.tells[f.Run]
}
