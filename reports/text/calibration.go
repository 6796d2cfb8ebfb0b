package text

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"vramsoak/harness/calibrate"
	"vramsoak/harness/check"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Calibration writes how often a policy would fail clean runs. It has a sentence for each check, a
// table of the compared metrics, what so many runs can show, and the limits to choose.
func Calibration(w io.Writer, r *calibrate.Report, opts Options) error {
	t := newWriter(opts)
	t.wrap(fmt.Sprintf("%s taken as clean: %s", wording.Plural(len(r.Runs), "run"),
		runNames(r.Runs)), "  ")
	if len(r.LeftOut) > 0 {
		t.wrap(fmt.Sprintf("left out, because they failed: %s; --all takes them too",
			runNames(r.LeftOut)), "  ")
	}
	var reasons []string
	skipped := map[string][]string{} // checks, by the reason why they were not tried
	for _, g := range r.Growth {
		if g.Skipped != "" {
			if skipped[g.Skipped] == nil {
				reasons = append(reasons, g.Skipped)
			}
			skipped[g.Skipped] = append(skipped[g.Skipped], g.Check)
			continue
		}
		t.WriteByte('\n')
		t.wrap(sink.Line(g.Check+", "+g.Subject)+": "+growthSentence(g, r.Power), "  ")
	}
	for _, why := range reasons {
		t.WriteByte('\n')
		t.wrap("not tried: "+sink.Line(strings.Join(skipped[why], ", ")+" ("+why+")"), "  ")
	}
	if r.Regression != nil {
		if err := t.regressionRates(r); err != nil {
			return err
		}
	}
	t.WriteByte('\n')
	t.wrap(canTell(r), "")
	t.WriteByte('\n')
	t.proposal(r)
	return t.flush(w)
}

// namesMax is how many runs are named in a sentence.
const namesMax = 4

func runNames(names []string) string {
	if len(names) <= namesMax+1 { // "and 1 more" would be as long as its name
		return sink.Line(strings.Join(names, ", "))
	}
	return sink.Line(fmt.Sprintf("%s and %s more", strings.Join(names[:namesMax], ", "),
		wording.Count(len(names)-namesMax)))
}

// growthSentence says how often a check of growth gave false alarms: "5 series as they were: 0
// failed, 3 undecided; would have fired in 3 of 2,000 tries (0.15 %, at most 0.44 %); catches a
// leak from 1.30 MiB a file on (in 90 % of cases); of clean runs 62 % would be undecided ...".
func growthSentence(g calibrate.Growth, power float64) string {
	parts := []string{
		fmt.Sprintf("%s series unchanged: %s failed, %s undecided", wording.Count(g.Series),
			wording.Count(g.Failed), wording.Count(g.Unsure)),
		"would have fired in " + rate(g.Fired, "tries"),
	}
	if g.Catches != nil {
		parts = append(parts, fmt.Sprintf("catches a leak from %s a file on (in %s of cases)",
			wording.Bytes(*g.Catches), percent(power)))
	} else {
		parts = append(parts, fmt.Sprintf("catches no leak in %s of cases, however large",
			percent(power)))
	}
	undecided := fmt.Sprintf("of clean runs %s would be undecided at the present limit, %s a file",
		percent(g.Undecided.Estimate()), wording.Bytes(g.Limit))
	switch {
	case g.Undecided.Count == 0:
		undecided = fmt.Sprintf("no clean run would be undecided at the present limit, %s a file",
			wording.Bytes(g.Limit))
	case g.FilesToPass > 0:
		undecided += fmt.Sprintf("; about %s files in one process, in place of %s, would decide "+
			"%s of them", wording.Count(g.FilesToPass),
			wording.Count(g.Files), percent(power))
	}
	parts = append(parts, undecided)
	switch {
	case g.Fine && g.Enough != nil && *g.Enough < g.Limit/2:
		parts = append(parts, fmt.Sprintf("that limit suffices, and so would %s",
			wording.Bytes(*g.Enough)))
	case g.Fine:
		parts = append(parts, "that limit suffices")
	case g.Enough == nil:
		parts = append(parts, "no limit suffices; more files in one process are needed")
	default:
		parts = append(parts, fmt.Sprintf("%s would suffice", wording.Bytes(*g.Enough)))
	}
	if g.Noise > 0 {
		parts = append(parts, fmt.Sprintf("noise: %s", wording.Bytes(g.Noise)))
	} else {
		parts = append(parts, "no noise")
	}
	return strings.Join(parts, "; ")
}

// rate returns a rate with its upper bound: "3 of 2,000 tries (0.15 %, at most 0.44 %)", "0 of
// 2,000 tries (below 0.15 %)".
func rate(r calibrate.Rate, noun string) string {
	s := fmt.Sprintf("%s of %s %s", wording.Count(r.Count), wording.Count(r.Of), noun)
	if r.Count == 0 {
		return s + " (below " + percent(r.High) + ")"
	}
	return s + fmt.Sprintf(" (%s, at most %s)", percent(r.Estimate()), percent(r.High))
}

// percent prints a ratio with two significant digits: "0.15 %", "62 %".
func percent(v float64) string {
	percent := 100 * v
	digits := 0
	if percent > 0 && percent < 10 {
		digits = min(4, 1-int(math.Floor(math.Log10(percent))))
	}
	text := strconv.FormatFloat(percent, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// regressionRates writes how often comparisons of clean runs gave false alarms: a sentence, and a
// row for each metric.
func (t *writer) regressionRates(r *calibrate.Report) error {
	g := r.Regression
	t.WriteByte('\n')
	t.wrap(fmt.Sprintf("%s: comparing each run with each other run would have fired in %s, "+
		"and %s of the others would be undecided; with files shuffled between the runs it would "+
		"have fired in %s",
		check.Regression, rate(g.Pairs, "pairs"), wording.Count(g.Undecided),
		rate(g.Shuffled, "tries")), "  ")
	rows := [][]string{{
		"Metric", "Usual", "Limit", "Pairs", "Fired", "Undecided", "Shuffles fired",
		"Catches from", "Enough",
	}}
	amount := func(m calibrate.Metric, v *float64) string {
		if v == nil {
			return "too few files"
		}
		if m.Unit == check.Ratio {
			return fmt.Sprintf("%.1f points", 100**v)
		}
		s := check.Quantity(*v, m.Unit)
		if m.Base != 0 {
			s += fmt.Sprintf(" (%s)", percent(*v/math.Abs(m.Base)))
		}
		return s
	}
	for _, m := range g.Metrics {
		rows = append(rows, []string{
			wording.Metric(m.Name, m.Rank, m.Device), check.Quantity(m.Base, m.Unit),
			amount(m, &m.Limit), wording.Count(m.Pairs), wording.Count(m.Fired),
			wording.Count(m.Undecided),
			wording.Count(m.Shuffled), amount(m, m.Catches), amount(m, m.Enough),
		})
	}
	if len(rows) == 1 {
		return nil
	}
	t.WriteByte('\n')
	return t.table(rows, []int{1, 2, 3, 4, 5, 6, 7, 8}, 0)
}

// canTell returns a sentence on the conclusions that this number of runs allows.
func canTell(r *calibrate.Report) string {
	runs := len(r.Runs)
	s := fmt.Sprintf("What this can tell: the tries use the noise of these %s, so the rates "+
		"hold for similar runs. They do not cover what fewer than one run in %s shows.",
		wording.Plural(runs, "run"), wording.Count(runs))
	if r.Regression == nil {
		return s
	}
	return s + fmt.Sprintf(" Only %s of the pairs are independent; these alone show that at most "+
		"%s of comparisons are false alarms.",
		wording.Count(runs/2), percent(r.Regression.Pairs.High))
}

// proposal writes the lines to add to a policy file, or that the present limits suffice.
func (t *writer) proposal(r *calibrate.Report) {
	target := fmt.Sprintf("at most %s false alarms and %s of clean runs decided",
		percent(r.FalseAlarms), percent(r.Power))
	missing := withoutLimit(r)
	if len(missing) > 0 {
		t.wrap(fmt.Sprintf("For %s: no limit suffices for %s.", target, strings.Join(missing, ", ")),
			"")
	}
	switch {
	case len(r.Policy) > 0:
		t.wrap(fmt.Sprintf("Proposed for %s, in a policy file (vramsoak.yaml):", target), "")
		t.WriteByte('\n')
		for _, line := range r.Policy {
			t.WriteString(line + "\n")
		}
	case missing == nil:
		t.wrap(fmt.Sprintf("The present limits suffice for %s.", target), "")
	}
}

// withoutLimit returns the checks for which no limit suffices.
func withoutLimit(r *calibrate.Report) []string {
	var all []string
	for _, g := range r.Growth {
		if g.Skipped == "" && !g.Fine && g.Enough == nil {
			all = append(all, g.Check)
		}
	}
	if r.Regression != nil && !r.Regression.Enough {
		all = append(all, check.Regression)
	}
	return all
}
