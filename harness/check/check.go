// Package check judges a timeline. It answers four main questions: Did each cleanup free its
// memory? Does memory grow from file to file (see [Ledgers])? Was the GPU large enough? Did every
// file end well?
//
//	report := check.Of(timeline, check.DefaultPolicy())
//
// A log prints rounded numbers: "1.25GB" may be any value from 1.245 to 1.255 GB. A check passes or
// fails only if its verdict is the same for every value that the printed digits allow. Otherwise
// the check is undecided. A check without readings is skipped, and its finding says why. A log
// without data never passes.
package check

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// These are the names of the checks.
const (
	Recovery      = "recovery"
	Leak          = "leak"
	Fragmentation = "fragmentation"
	DarkGrowth    = "dark-memory"
	DeviceGrowth  = "device-used"
	PinnedGrowth  = "pinned-memory"
	// The following checks are on ledgers of the machine.
	HostGrowth       = "host-memory"
	SharedGrowth     = "shared-memory"
	DescriptorGrowth = "file-descriptors"
	ThreadGrowth     = "threads"
	ProcessGrowth    = "processes"
	// DeviceRecovery shows how much of the device a file gives back, in a log without an allocator.
	DeviceRecovery = "device-recovery"

	Drift        = "drift"
	Throughput   = "throughput"
	Peak         = "peak"
	OutOfMemory  = "out-of-memory"
	Fallbacks    = "fallbacks"
	Completeness = "completeness"
	Regression   = "regression" // added by package compare: see Report.Join
	Consistency  = "consistency"
	CleanStart   = "clean-start"
)

// Checks lists the names of the checks, which a policy may gate on or require, in the order of a
// report.
var Checks = slices.Concat([]string{Recovery}, ledgerChecks(), []string{
	DeviceRecovery, Drift, Throughput, Peak, OutOfMemory, Fallbacks, Completeness, Regression,
	Consistency, CleanStart,
})

// Of returns the report on a timeline, to which it applies every check.
func Of(tl *timeline.Timeline, policy Policy) *Report {
	j := New(policy)
	j.all, j.Trends, j.Measures = true, true, true
	for f := range tl.InOrder() {
		j.Add(f)
	}
	return j.Report(tl)
}

// A Judge applies the checks to a log while the log is read, file by file. If the caller needs the
// checkpoints of a file no longer, it can drop them after [Judge.Add].
type Judge struct {
	// Set Trends and Measures to get these two parts of the report. They are left out by default,
	// because they are large for a long log.
	Trends, Measures bool
	// Look is the number of a look at a run that goes on, from 1. It is 0 to judge the whole run. See
	// lookLevel.
	Look int
	// Share is the part of a run's rate of false alarms that this log may use, if the log is one of
	// the many logs of a run; 0 stands for 1.
	Share float64

	policy Policy
	kept   int  // number of checkpoints so far: see timeline.KeptCheckpoints
	all    bool // keeps the recoveries of all files
	// files holds a summary for each file. outside holds a summary for each part of the log between
	// two files. Both are in the order of the timeline.
	files, outside []summary
	lanes          []*lane
	open           []*lane // lanes with readings in the current file
	byLane         map[record.Lane]*lane
	plan           plan
	names          map[string]naming
	closed         int // number of Before/After pairs
	paired         map[pairName]bool
	lost           []lostBefore
	firstLost      map[record.Lane]lostBefore // the first cleanup of a lane without its After
	missing        []missingName
	highWater      HighWater
	deciding       decidingPeak
	recoveries     []Recovered

	printed printedMark

	// Report sets the following fields.

	tl      *timeline.Timeline
	worked  *Work        // cache of work
	ranks   bool         // the log has a rank other than 0
	tells   map[int]bool // batches whose log says how their files ended
	longest int          // cache of longestProcess; -1 before its first call
	named   map[int]bool // processes with files that the log names
	failed  []*lane      // lanes of devices that have no checkpoint: see addFailures
	sampled []*lane      // lanes of devices that have only samples: see readDeviceSamples
	// failedAt holds the places of the failed allocations that decide the verdicts on files.
	failedAt map[*timeline.File]failedPlace

	gathering
	trends  []Trend
	judged  []Growth // all series that were judged for growth
	growths []grownLedger
	series  int   // number of series that may fail the run: see countSeries
	held    *held // nil if the log does not say what the processes held of the machine
}

// New returns a judge without any files.
func New(policy Policy) *Judge {
	return &Judge{
		policy: policy, byLane: map[record.Lane]*lane{}, firstLost: map[record.Lane]lostBefore{},
		paired: map[pairName]bool{}, names: map[string]naming{},
		failedAt: map[*timeline.File]failedPlace{},
	}
}

// A summary holds what the report needs to know of a file's checkpoints, so that the checkpoints
// themselves can be dropped.
type summary struct {
	name  string // name of the last checkpoint, or ""
	begun string // name of the last checkpoint that is no After and in no cleanup: see lastBegun
	work  int    // line of the last checkpoint in no cleanup that shows work: see worksOn
}

// Add judges the next file, or the next part of the log between two files. The caller adds them in
// the order of the log. Add returns the recoveries of the cleanups and stages in f; the next call
// overwrites them.
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
		if !f.Outside {
			l.mix.add(c)
		}
		j.highWater.add(&c.Reading)
	}
	j.notePairs(f)
	j.closeLanes(f, n)
	if len(f.OOMs) > 0 {
		oom := decisive(f)
		j.failedAt[f] = failedPlace{oom.Pos.Line, j.placeBefore(f, oom.Lane, oom.Pos.Line)}
	}
	j.notePrinted(f)
	recovered := j.recoveriesOf(f, n)
	for i := range recovered {
		recovered[i].sum.add(&recovered[i])
	}
	if j.kept += len(f.Checkpoints); j.all || j.kept <= timeline.KeptCheckpoints {
		j.recoveries = append(j.recoveries, recovered...)
	}
	return recovered
}

// room returns s with room for one more item, by doubling the capacity of a full slice. append
// alone lets a large slice grow by only a quarter, and so copies a slice of hundreds of thousands
// of items more often.
func room[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(1, len(s)))
	}
	return s
}

// A naming holds what a checkpoint's name says. Namings are cached, because a log has few different
// names.
type naming struct {
	cleanup, after bool   // false for samples
	uncounted      string // name with its numbers replaced: see timeline.WithoutNumbers
}

// namesMax is the largest number of namings in the cache, because a log may give every checkpoint
// its own name.
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

// Report returns the report on the files that were added. The timeline tl must hold these files.
func (j *Judge) Report(tl *timeline.Timeline) *Report {
	j.begin(tl)
	j.addFailures()
	driver := j.driver()
	j.readDarkSamples(driver)
	j.readDeviceSamples(driver)
	j.addSamples(driver)
	for _, l := range j.lanes {
		j.marks[j.laneMark(l.id, j.ranks)] = true
	}
	j.peaks(driver)
	j.held = newHeld(tl)
	j.countSeries()
	for _, l := range j.lanes {
		for i := range Ledgers {
			if !Ledgers[i].Machine {
				j.growth(l, &Ledgers[i])
			}
		}
	}
	for _, l := range j.sampled {
		j.growth(l, ledgerNamed(DeviceUsed))
	}
	j.resources()
	j.together()
	for _, l := range j.lanes {
		j.recovery(l)
		j.neverUsed(l)
		j.drift(l)
		j.consistency(l)
	}
	for _, l := range j.sampled {
		j.deviceRecovery(l)
	}
	j.successive()
	j.throughput()
	j.outOfMemory()
	j.fallbacks()
	j.completeness()
	j.mixedWriters()
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
		Notes: j.notes(), Unread: unread, ended: tl.Latest(),
		Logs: countLogs(tl), Growths: j.judged, Series: j.series,
		Level: j.runLevel() / j.share(),
	}
	if w := j.work(); !w.isEmpty() {
		report.Work = w
	}
	if j.Measures {
		report.Measured = j.measure()
	}
	j.findCauses()
	report.Join(j.gathered()...)
	return report
}

// countLogs returns how many logs a timeline was read from.
func countLogs(tl *timeline.Timeline) int {
	paths, last := map[string]bool{}, ""
	for _, files := range [][]*timeline.File{tl.Files, tl.Outside} {
		for _, f := range files {
			if f.Pos.Path != last || len(paths) == 0 { // most are of the log of the one before
				last = f.Pos.Path
				paths[last] = true
			}
		}
	}
	return len(paths)
}

// begin stores the timeline, and what can be known only from the whole timeline.
func (j *Judge) begin(tl *timeline.Timeline) {
	j.tl, j.gathering, j.trends, j.longest, j.worked = tl, newGathering(), nil, -1, nil
	j.growths, j.judged = nil, nil
	for _, l := range j.lanes {
		l.growing = nil
	}
	j.tells, j.named = map[int]bool{}, map[int]bool{}
	for _, f := range tl.Files {
		if f.Supervised || f.Status != record.StatusUnknown {
			j.tells[f.Batch] = true
		}
		if f.Supervised || f.Path != "" {
			j.named[f.Process] = true
		}
	}
	slices.SortFunc(j.lanes, byLane)
	j.ranks = slices.ContainsFunc(j.lanes, func(l *lane) bool { return l.id.Rank != 0 })
}

// driver returns the samples that the harness took, assigned to the devices and ranks of the log.
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

// subject returns the subject of a finding: the name and, if the log has several devices or ranks,
// the device and the rank.
func (j *Judge) subject(name string, id record.Lane) string {
	if len(j.lanes) < 2 {
		return name
	}
	return name + j.laneMark(id, j.ranks)
}

// subjectOf returns the subject of a ledger's findings.
func (j *Judge) subjectOf(of *Ledger, l *lane) string {
	switch {
	case of.ofProcess && j.ranks:
		return of.Name + " (" + cmp.Or(j.tl.Writers[l.id.Rank], fmt.Sprintf("rank %d", l.id.Rank)) + ")"
	case of.ofProcess:
		return of.Name
	case len(j.lanes) == 0 && len(j.sampled) > 1, len(j.lanes) > 0 && slices.Contains(j.sampled, l):
		return of.Name + j.laneMark(l.id, j.ranks)
	}
	return j.subject(of.Name, l.id)
}

// laneMark returns the end of a subject: the device and, if ranks is set, the rank or the name of
// the process, if it is more than a rank:
//
//	idle level (train pid=7, device 0)
func (j *Judge) laneMark(id record.Lane, ranks bool) string {
	if name := j.tl.Writers[id.Rank]; name != "" && ranks {
		return " (" + name + ", " + id.Name(false) + ")"
	}
	return " (" + id.Name(ranks) + ")"
}

// fileName returns a file as messages name it: "file 12 (0012.wav)" or, if the log is of several
// processes, "file 12 (0012.wav) of rank 1".
func fileName(f *timeline.File) string {
	name, of := fmt.Sprintf("file %d (%s)", f.Index, filepath.Base(f.Path)), " of "+f.Writer
	switch {
	case f.Outside:
		name, of = "outside of files", " ("+f.Writer+")"
	case f.Path == "":
		name = f.Name()
	case f.Index == 0:
		name = filepath.Base(f.Path) + " (which was not fed)"
	}
	if f.Writer == "" {
		return name
	}
	return name + of
}

// inFile returns where something happened, as messages say it: "in file 12 (0012.wav)" or "outside
// of files".
func inFile(f *timeline.File) string {
	if f.Outside {
		return fileName(f)
	}
	return "in " + fileName(f)
}

// endedWell reports whether the file ended well, so that its levels show what a good file leaves
// behind. Some logs never say how files ended; in such a log a file of unknown status counts as
// good. In other logs, a file of unknown status was cut short.
func (j *Judge) endedWell(f *timeline.File) bool {
	return f.Status == record.StatusOK || f.Status == record.StatusUnknown && !j.tells[f.Batch]
}
