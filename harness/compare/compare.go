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

// A Comparison is the result of comparing a run with an earlier one, the base, metric by metric.
type Comparison struct {
	Base RunInfo `json:"base"`
	New  RunInfo `json:"new"`
	// Files is the number of files that succeeded in both runs. BaseFiles and NewFiles are the numbers
	// of files that succeeded in each run.
	Files     int `json:"paired_files"`
	BaseFiles int `json:"base_files"`
	NewFiles  int `json:"new_files"`
	// OnlyBase and OnlyNew are the numbers of files that succeeded in one run and that the other run
	// does not have.
	OnlyBase int `json:"only_base,omitempty"`
	OnlyNew  int `json:"only_new,omitempty"`
	// NewlyFailed are the files that succeeded in the base and failed in the new run.
	NewlyFailed []check.MeasuredFile `json:"newly_failed,omitempty"`
	// NoCommonFile is set if both runs name their files and no file is in both. Such runs worked on
	// different batches.
	NoCommonFile bool `json:"no_common_file,omitempty"`
	// Remarks list other differences between the runs: host, GPU, driver, command. A remark also says
	// so if the base failed.
	Remarks []string `json:"remarks,omitempty"`
	Changes []Change `json:"metrics"`

	baseName, newName string // the name of one file of each run, if no file is in both
}

// A Change is the result of comparing one metric of two runs.
type Change struct {
	Name           string        `json:"name"`
	Unit           string        `json:"unit"` // of all amounts in this struct; see check.Metric
	Rank           int           `json:"rank"`
	Device         int           `json:"device"`
	HigherIsBetter bool          `json:"higher_is_better,omitempty"`
	Verdict        check.Verdict `json:"verdict"`
	// Message is one sentence for a person.
	Message string `json:"message"`
	// Paired is set if each file was compared with the same file of the base. Files is then the number
	// of these files. If Paired is not set, all values of one run were compared with all values of the
	// other, and Files is the number of files in the smaller run.
	Paired bool `json:"paired"`
	Files  int  `json:"files"`
	// Base and New are the medians of the compared files.
	Base float64 `json:"base"`
	New  float64 `json:"new"`
	// Difference is how much a typical file rose from the base to the new run; it is negative for a
	// fall. It may differ from New - Base, because those are medians over all files.
	Difference float64 `json:"difference"`
	// Interval contains the true difference with the probability Confidence, whatever digits were lost
	// when the values were printed. It is nil if there are too few files, and in an exact comparison.
	Interval *Interval `json:"interval,omitempty"`
	// Relative is the difference divided by Base, or 0 if Base is 0.
	Relative float64 `json:"relative"`
	// Limit is how much worse the metric may get without failing.
	Limit float64 `json:"limit"`
	// P is the probability that a metric which got worse by Limit only looks this much worse by
	// chance. It is corrected for the number of metrics. It is nil if no test was made.
	P *float64 `json:"p,omitempty"`
	// File is the batch number of the first file that is worse, in an exact comparison.
	File int `json:"file,omitempty"`

	// Cause is the subject of the metric that this one is worse for, such as "growth of idle level"
	// for a peak. It is "" if the metric is not worse, or has a cause of its own.
	Cause string `json:"cause,omitempty"`
	// Only is "base" or "new" if only the base or only the new run has the metric, else "".
	Only string `json:"only,omitempty"`

	lanes *lanes // shared by all changes; nil if only one metric is compared
}

// lanes records whether the metrics of a comparison come from several devices or several ranks. If
// they do, subjects include the device or the rank. All changes of a comparison share one value.
type lanes struct{ several, ranks bool }

// The values of [Change.Only].
const (
	OnlyBase = "base"
	OnlyNew  = "new"
)

// An Interval ranges from Low to High.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Runs returns the comparison of the run now with the base: each metric file by file, as [Compare]
// does, and how each level grows over the files.
func Runs(base, now *Baseline, policy check.Policy) *Comparison {
	c := Compare(base, now, policy.Regression)
	c.Changes = append(c.Changes, growths(base, now, policy)...)
	c.findCauses()
	return c
}

// Compare returns the comparison of the metrics of the run now with those of the base.
func Compare(base, now *Baseline, policy check.RegressionPolicy) *Comparison {
	c := &Comparison{
		Base: base.Run, New: now.Run, BaseFiles: len(base.Files), NewFiles: len(now.Files),
		Remarks: remarks(base.Run, now.Run),
	}
	paired := c.pair(base, now)
	both := matched(base.Metrics, now.Metrics)
	c.Changes = make([]Change, len(both)) // a log may have a million metrics
	var tests []*test
	lanes := lanesOf(both)
	for i, m := range both {
		of := cmp.Or(m.new, m.base)
		change := &c.Changes[i]
		*change = Change{
			Name: of.Name, Unit: of.Unit, Rank: of.Rank, Device: of.Device,
			HigherIsBetter: of.HigherIsBetter,
			lanes:          lanes,
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
			t.skip("no file that ended ok has it in both runs")
		case t.exact():
			t.compareExactly(now.Files)
		case t.Files < leastFiles && enough:
			t.skip(fmt.Sprintf("%s have it in both runs; it takes at least %d",
				check.Plural(t.Files, "file"), leastFiles))
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

// lanesOf returns whether these metrics come from several devices, or from several ranks.
func lanesOf(metrics []match) *lanes {
	all := &lanes{}
	for _, m := range metrics {
		of, first := cmp.Or(m.new, m.base), cmp.Or(metrics[0].new, metrics[0].base)
		all.several = all.several || of.Rank != first.Rank || of.Device != first.Device
		all.ranks = all.ranks || of.Rank != 0
	}
	return all
}

// leastFiles is the smallest number of files that gives a 95 % interval. The interval may miss the
// true value with a probability of 2.5 % at each end. If nothing changed, the differences of 6
// files are all positive by chance with a probability of 1/64, which is less than 2.5 %. With 5
// files it is 1/32, which is more.
const leastFiles = 6

// A match is one metric in both runs. If only one run has the metric, the pointer of the other run
// is nil.
type match struct{ base, new *check.Metric }

// matched returns the metrics of both runs, matched by name, rank and device. The metrics of the
// base come first, in their order, then the metrics that only the new run has.
func matched(base, now []check.Metric) []match {
	type key struct {
		name         string
		rank, device int
		nth          int // counts metrics with the same name
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

// remarks returns the differences between two runs, other than in their metrics, that may explain a
// change of the metrics.
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
	if base.Shards != now.Shards {
		all = append(all, fmt.Sprintf("%s, the base %s: each shard begins with a new process, so levels "+
			"that rise over the files differ for this reason too, and growth is not compared",
			inShards(now.Shards), inShards(base.Shards)))
	}
	if now.ByShard {
		all = append(all, "the files of the comparison are the shards, because the run has too many "+
			"files: the highest of a shard's peaks, and the medians of its other values")
	}
	add("host", base.Host, now.Host)
	add("GPU", base.GPU, now.GPU)
	add("driver", base.Driver, now.Driver)
	add("command", strings.Join(base.Command, " "), strings.Join(now.Command, " "))
	return all
}

// inShards says how many shards a run has.
func inShards(n int) string {
	if n == 0 {
		return "no shards"
	}
	return check.Plural(n, "shard")
}

// correct corrects the probability P of each test for the number of tests, by the method of Holm (A
// Simple Sequentially Rejective Multiple Test Procedure, 1979). It multiplies the smallest of n
// probabilities by n, the next one by n-1, and so on. If a product is smaller than the product
// before it, it gets the value of that product.
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

// Findings returns the findings of the check "regression": first those about files, then one for
// each metric. The parameter reference names the base in the subjects of the findings; it is "" if
// the run is compared with only one base.
func (c *Comparison) Findings(reference string) []check.Finding {
	files := c.FileFindings(reference)
	all := make([]check.Finding, 0, len(files)+len(c.Changes)+1)
	all = append(all, files...)
	for i := range c.Changes {
		all = append(all, c.Changes[i].finding(reference))
	}
	if len(all) == 0 {
		all = append(all, check.Finding{
			Check: check.Regression, Verdict: check.Skipped,
			Subject: check.Against("metrics", reference),
			Message: "neither run has a file that ended ok with anything measured",
		})
	}
	return all
}

func (c *Change) finding(reference string) check.Finding {
	f := check.Finding{
		Check: check.Regression, Verdict: c.Verdict, Subject: check.Against(c.Subject(), reference),
		File: c.File, Message: c.Message,
	}
	switch {
	case c.Verdict != check.Undecided:
	case c.Unit == check.Seconds || c.Unit == check.TimesRealTime:
		// The throughput check does not gate by default, because few machines are steady enough to decide
		// it.
		f.Check = check.Throughput
	case strings.HasSuffix(c.Unit, check.PerFile):
		// The drift check does not gate by default either, because most runs are too short to separate
		// small growth from noise.
		f.Check = check.Drift
	}
	if c.Verdict != check.Skipped {
		f.Measured, f.Limit, f.Unit = new(c.Worse()), new(c.Limit), c.Unit
	}
	if c.Cause != "" {
		f.Cause = &check.Cause{Check: check.Regression, Subject: check.Against(c.Cause, reference)}
	}
	return f
}

// Subject returns the name of the metric. If the comparison has several devices or ranks, it adds
// the metric's device or rank.
func (c *Change) Subject() string {
	if c.lanes == nil || !c.lanes.several {
		return c.Name
	}
	lane := record.Lane{Device: c.Device, Rank: c.Rank}
	return fmt.Sprintf("%s (%s)", c.Name, lane.Name(c.lanes.ranks))
}

// Worse returns how much worse the new run is, in the metric's unit. The result is negative if the
// new run is better.
func (c *Change) Worse() float64 {
	if c.HigherIsBetter {
		return 0 - c.Difference
	}
	return c.Difference
}
