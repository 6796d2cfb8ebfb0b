package wording

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/shape"
)

// SlowRises returns the series that get worse slowly, those that rise alike together. The peak of a
// run and the peak of its largest stage are often the same number, and are one piece of news. The
// first of each group says most: it names a stage, or rises most. The worst group comes first.
func SlowRises(drifts []history.Drift) (groups [][]history.Drift) {
	for _, r := range history.WorstFirst(nil, drifts) {
		i := slices.IndexFunc(groups, func(g []history.Drift) bool { return alike(&g[0], r.Drift) })
		if i < 0 {
			groups = append(groups, []history.Drift{*r.Drift})
			continue
		}
		groups[i] = append(groups[i], *r.Drift)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b history.Drift) int { return namesStage(&b) - namesStage(&a) })
	}
	return groups
}

func namesStage(d *history.Drift) int { return min(1, len(d.Series.Stage())) }

// alike reports whether two series get worse over the same runs and by the same amount a run, up to
// 1 %.
func alike(a, b *history.Drift) bool {
	return a.Series.Unit == b.Series.Unit && a.From == b.From && a.Runs == b.Runs &&
		a.Series.HigherIsBetter == b.Series.HigherIsBetter &&
		math.Abs(a.Slope.Estimate-b.Slope.Estimate) <= 0.01*a.Slope.Estimate
}

// SeriesStage returns the stage or cleanup in a metric's name, or "".
func SeriesStage(metric string) string { return history.SeriesKey{Metric: metric}.Stage() }

// SlowRise describes a series that gets worse slowly: "rises slowly, by 120 MiB a run (95 %: 118
// MiB to 122 MiB) over 10 runs (+17.9 %), from 6.00 GiB to 7.08 GiB".
func SlowRise(d *history.Drift) string {
	share := RiseShare(d)
	if share != "" {
		share = " (" + share + ")"
	}
	return fmt.Sprintf("%s slowly, by %s over %s%s, from %s to %s", riseVerb(d),
		check.Rate(d.Slope, d.Series.Unit, "run"), Plural(d.Runs, "run"), share,
		check.Quantity(d.First, d.Series.Unit), check.Quantity(d.Last, d.Series.Unit))
}

// SlowRiseInBrief describes a series that gets worse slowly, in few words: "rises slowly, by 120
// MiB a run".
func SlowRiseInBrief(d *history.Drift) string {
	return riseVerb(d) + " slowly, by " + riseRate(d)
}

// RiseShort describes a drift in few words: "+12.0 MiB a run".
func RiseShort(d *history.Drift) string {
	sign := "+"
	if d.Series.HigherIsBetter {
		sign = "-"
	}
	return sign + riseRate(d)
}

func riseVerb(d *history.Drift) string {
	if d.Series.HigherIsBetter {
		return "falls"
	}
	return "rises"
}

// riseRate returns the rate of a drift without its interval.
func riseRate(d *history.Drift) string {
	rate := d.Slope.Estimate
	return check.Rate(shape.Interval{Estimate: rate, Low: rate, High: rate}, d.Series.Unit, "run")
}

// RiseBounds says how exactly the beginning of a drift is known: "it may have begun 1 run earlier
// or 2 runs later". It returns "" if the beginning is certain.
func RiseBounds(d *history.Drift) string {
	earlier, later := d.From-d.Early, d.Late-d.From
	switch {
	case earlier > 0 && later > 0:
		return fmt.Sprintf("it may have begun %s earlier or %s later", Plural(earlier, "run"),
			Plural(later, "run"))
	case earlier > 0:
		return fmt.Sprintf("it may have begun %s earlier", Plural(earlier, "run"))
	case later > 0:
		return fmt.Sprintf("it may have begun up to %s later", Plural(later, "run"))
	}
	return ""
}

// RiseShare returns how much a series changed: "+17.9 %". It returns "" if the first value is 0.
func RiseShare(d *history.Drift) string {
	if d.First == 0 {
		return ""
	}
	return check.Change((d.Last - d.First) / math.Abs(d.First))
}

// RiseSoFar says what a drift came to, and what it adds if it goes on: "108 MiB more over 6 runs;
// if it goes on, 18.0 MiB more with each run".
func RiseSoFar(d *history.Drift) string {
	more := "more"
	if d.Series.HigherIsBetter {
		more = "less"
	}
	return fmt.Sprintf("%s %s over %s; if it goes on, %s %s with each run",
		check.Quantity(math.Abs(d.Last-d.First), d.Series.Unit), more, Plural(d.Runs, "run"),
		check.Quantity(d.Slope.Estimate, d.Series.Unit), more)
}

// TheSame names the series that rise like the first of a group: "the same: peak, worst; peak
// reserved, worst". It returns "" if there are none.
func TheSame(group []history.Drift) string {
	var names []string
	for _, d := range group[1:] {
		names = append(names, Series(d.Series.SeriesKey, true))
	}
	if len(names) == 0 {
		return ""
	}
	return "the same: " + strings.Join(names, "; ")
}
