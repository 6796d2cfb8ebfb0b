package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// A Comparison is a run held against an earlier one, metric by metric.
type Comparison struct {
	Base RunInfo `json:"base"`
	New  RunInfo `json:"new"`
	// Files are those that both runs have; BaseFiles and NewFiles all that ended well.
	Files     int `json:"paired_files"`
	BaseFiles int `json:"base_files"`
	NewFiles  int `json:"new_files"`
	// NewlyFailed are the files that ended well in the base, and failed in the new run.
	NewlyFailed []check.MeasuredFile `json:"newly_failed,omitempty"`
	// NoCommonFile says that both runs name their files, and have none in common: they are runs of
	// different batches.
	NoCommonFile bool `json:"no_common_file,omitempty"`
	// Remarks say where the runs differ otherwise, by host, GPU, driver or command, and that the base failed.
	Remarks []string `json:"remarks,omitempty"`
	Changes []Change `json:"metrics"`

	baseName, newName string // a file of each, where they have none in common
}

// A Change is by how much a metric is another than in the earlier run.
type Change struct {
	Name           string        `json:"name"`
	Unit           string        `json:"unit"` // of every amount here, as in check.Metric
	Rank           int           `json:"rank,omitempty"`
	Device         int           `json:"device,omitempty"`
	HigherIsBetter bool          `json:"higher_is_better,omitempty"`
	Verdict        check.Verdict `json:"verdict"`
	// Message is one sentence for a person.
	Message string `json:"message"`
	// Paired says that each file was compared with itself. Files is how many were, or else how many the run with fewer has.
	Paired bool `json:"paired"`
	Files  int  `json:"files"`
	// Base and New are the medians of the compared files.
	Base float64 `json:"base"`
	New  float64 `json:"new"`
	// Difference is by how much the new run is above the base, below where it is negative, of a usual file. It is no
	// difference of the medians.
	Difference float64 `json:"difference"`
	// Interval holds the true difference with the probability Confidence, whatever the printed digits hide; nil where there are
	// too few files for any, and where metrics are compared exactly.
	Interval *Interval `json:"interval,omitempty"`
	// Relative is the difference over Base, 0 where Base is.
	Relative float64 `json:"relative"`
	// Limit is by how much the metric may be worse.
	Limit float64 `json:"limit"`
	// P is the probability that chance makes a metric look that much worse than Limit, corrected for the number of metrics;
	// nil where nothing was tested.
	P *float64 `json:"p,omitempty"`
	// File is the first file, by its place in the batch, that an exact comparison found worse.
	File int `json:"file,omitempty"`

	// Only is the run that alone has the metric: "base" or "new".
	Only string `json:"only,omitempty"`

	lanes *lanes // of all metrics of the comparison; nil is a single one
}

// lanes says whether the metrics of a comparison are of several devices and of several ranks.
// Subjects then name them. All changes of a comparison share one value.
type lanes struct{ several, ranks bool }

// The runs that may alone have a metric, as in [Change.Only].
const (
	OnlyBase = "base"
	OnlyNew  = "new"
)

// An Interval is from Low to High.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Compare holds a run against an earlier one.
func Compare(base, now *Baseline, policy check.RegressionPolicy) *Comparison {
	c := &Comparison{
		Base: base.Run, New: now.Run, BaseFiles: len(base.Files), NewFiles: len(now.Files), Remarks: remarks(base.Run, now.Run),
	}
	paired := c.pair(base, now)
	both := matched(base.Metrics, now.Metrics)
	c.Changes = make([]Change, len(both)) // a log may have a million
	var tests []*test
	lanes := lanesOf(both)
	for i, m := range both {
		of := cmp.Or(m.new, m.base)
		change := &c.Changes[i]
		*change = Change{
			Name: of.Name, Unit: of.Unit, Rank: of.Rank, Device: of.Device, HigherIsBetter: of.HigherIsBetter,
			lanes: lanes,
		}
		if m.base == nil || m.new == nil || m.base.Unit != m.new.Unit {
			change.skipUnmatched(m)
			continue
		}
		t := &test{policy: policy, Change: change}
		tests = append(tests, t)
		t.sample(m.base, m.new, paired)
		switch enough := min(c.BaseFiles, c.NewFiles) >= leastFiles; {
		case t.Files == 0:
			t.skip("no file that ended well has it in both runs")
		case t.exact():
			t.compareExactly(now.Files)
		case t.Files < leastFiles && enough:
			t.skip(fmt.Sprintf("%s have it in both runs, and %d are the least to judge by", check.Plural(t.Files, "file"), leastFiles))
		default:
			t.run()
		}
	}
	correct(tests)
	for _, t := range tests {
		t.decide()
	}
	return c
}

// lanesOf returns what all changes of the metrics share.
func lanesOf(metrics []match) *lanes {
	all := &lanes{}
	for _, m := range metrics {
		of, first := cmp.Or(m.new, m.base), cmp.Or(metrics[0].new, metrics[0].base)
		all.several = all.several || of.Rank != first.Rank || of.Device != first.Device
		all.ranks = all.ranks || of.Rank != 0
	}
	return all
}

// leastFiles is how many files it takes for an interval: the 6 signs of 6 differences agree by chance in one of 64 times at
// each end, which is less than the 2.5 % that an interval leaves out there.
const leastFiles = 6

// A match is a metric of both runs; one of them is nil where only the other has it.
type match struct{ base, new *check.Metric }

// matched are the metrics by name, rank and device, in the order of the base, then those that are new.
func matched(base, now []check.Metric) []match {
	type key struct {
		name         string
		rank, device int
		nth          int // of that name
	}
	var all []match
	at := map[key]int{}
	find := func(m *check.Metric, has func(match) bool) int {
		for k := (key{name: m.Name, rank: m.Rank, device: m.Device}); ; k.nth++ {
			i, known := at[k]
			if !known {
				at[k] = len(all)
				all = append(all, match{})
				return at[k]
			}
			if !has(all[i]) {
				return i
			}
		}
	}
	for i := range base {
		all[find(&base[i], func(m match) bool { return m.base != nil })].base = &base[i]
	}
	for i := range now {
		all[find(&now[i], func(m match) bool { return m.new != nil })].new = &now[i]
	}
	return all
}

// remarks are what is to be known of two runs beside the measurements.
func remarks(base, now RunInfo) []string {
	var all []string
	add := func(what, was, is string) {
		if was != "" && is != "" && was != is {
			all = append(all, fmt.Sprintf("another %s: %q, in the base %q", what, is, was))
		}
	}
	if base.Verdict == check.Fail {
		all = append(all, "the base failed when it was judged by itself")
	}
	add("host", base.Host, now.Host)
	add("GPU", base.GPU, now.GPU)
	add("driver", base.Driver, now.Driver)
	add("command", strings.Join(base.Command, " "), strings.Join(now.Command, " "))
	return all
}

// correct gives every test its probability among all of them, by Holm (A Simple Sequentially Rejective Multiple Test
// Procedure, 1979): the least one is multiplied by their number, the next by one less, and so on, and none gets less than
// the one before.
func correct(tests []*test) {
	var tested []*test
	for _, t := range tests {
		if t.P != nil {
			tested = append(tested, t)
		}
	}
	slices.SortStableFunc(tested, func(a, b *test) int { return cmp.Compare(*a.P, *b.P) })
	least := 0.0
	for i, t := range tested {
		least = max(least, math.Min(1, *t.P*float64(len(tested)-i)))
		*t.P = least
		t.tests = len(tested)
	}
}

// Findings are those of the check "regression": those on files, then one a metric. If a run is held
// against several earlier ones, reference names this one; else it is empty.
func (c *Comparison) Findings(reference string) []check.Finding {
	files := c.FileFindings(reference)
	all := make([]check.Finding, 0, len(files)+len(c.Changes)+1)
	all = append(all, files...)
	for i := range c.Changes {
		all = append(all, c.Changes[i].finding(reference))
	}
	if len(all) == 0 {
		all = append(all, check.Finding{
			Check: check.Regression, Verdict: check.Skipped, Subject: against("metrics", reference),
			Message: "neither run has a file that ended well with anything measured",
		})
	}
	return all
}

func (c *Change) finding(reference string) check.Finding {
	f := check.Finding{
		Check: check.Regression, Verdict: c.Verdict, Subject: against(c.Subject(), reference), File: c.File, Message: c.Message,
	}
	switch {
	case c.Verdict != check.Undecided:
	case c.Unit == check.Seconds || c.Unit == check.TimesRealTime:
		f.Check = check.Throughput // which does not gate by default: few machines are steady enough to tell
	case c.Unit == check.BytesPerFile:
		f.Check = check.Drift // nor does this: few runs are long enough to tell small growth from noise
	}
	if c.Verdict != check.Skipped {
		f.Measured, f.Limit, f.Unit = new(c.Worse()), new(c.Limit), c.Unit
	}
	return f
}

func against(subject, reference string) string {
	if reference == "" {
		return subject
	}
	return subject + ", against " + reference
}

// Subject is the name of the metric, with its device, and its rank, where there are several.
func (c *Change) Subject() string {
	if c.lanes == nil || !c.lanes.several {
		return c.Name
	}
	lane := record.Lane{Device: c.Device, Rank: c.Rank}
	return fmt.Sprintf("%s (%s)", c.Name, lane.Name(c.lanes.ranks))
}

// Worse is the difference in the bad direction: negative where the new run is better.
func (c *Change) Worse() float64 {
	if c.HigherIsBetter {
		return 0 - c.Difference
	}
	return c.Difference
}
