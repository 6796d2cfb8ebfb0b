package wording

import (
	"fmt"
	"math"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/reports/sink"
)

// ShortCommit returns the commit as git shortens it, or "" if it is not known.
func ShortCommit(e history.Entry) string { return sink.Line(e.Commit[:min(len(e.Commit), 7)]) }

// Series returns the name of a series. If the parameter statistic is not set, the name leaves out
// the statistic, because the table's column names it.
func Series(k history.SeriesKey, statistic bool) string {
	if !statistic {
		k.Statistic = ""
	}
	return sink.Line(k.String())
}

// SeriesSubject returns the name of a series as the subject of a sentence: "worst peak of
// Transcription", where [Series] returns "peak of Transcription, worst".
func SeriesSubject(k history.SeriesKey) string {
	before := k.Statistic + " "
	switch k.Statistic {
	case "":
		before = ""
	case history.P95, history.GrowthRate:
		before += "of "
	}
	k.Statistic = ""
	return sink.Line(before + k.String())
}

// HistoryHeadline returns the summary of a history in one line: "suite nightly: 60 runs from
// 2026-09-01 to 2026-10-30, 12 series, 1 change", or at its end "no certain change" or "no step; 3
// series rise slowly".
func HistoryHeadline(
	h *history.History, series []*history.Series, changes []history.Change, drifts []history.Drift,
) string {
	s := fmt.Sprintf("suite %s: %s", sink.Line(h.Suite), Plural(len(h.Runs), "run"))
	if n := len(h.Runs); n > 0 {
		s += fmt.Sprintf(" from %s to %s", h.Runs[0].Started.Format("2006-01-02"),
			h.Runs[n-1].Started.Format("2006-01-02"))
	}
	changed := "no certain change"
	switch {
	case len(changes) > 0:
		changed = Plural(len(changes), "change")
	case len(drifts) > 0:
		changed = "no step"
	case len(h.Runs) < history.MinRuns:
		changed = fmt.Sprintf("too few runs for a trend, which needs %d", history.MinRuns)
	}
	if len(drifts) > 0 {
		changed += "; " + slowly(drifts)
	}
	return s + fmt.Sprintf(", %d series, %s", len(series), changed)
}

// slowly counts the series that get worse slowly: "3 series rise slowly".
func slowly(drifts []history.Drift) string {
	falls := 0
	for i := range drifts {
		if drifts[i].Series.HigherIsBetter {
			falls++
		}
	}
	one, many := "rises", "rise"
	switch falls {
	case 0:
	case len(drifts):
		one, many = "falls", "fall"
	default:
		one, many = "gets worse", "get worse"
	}
	if len(drifts) == 1 {
		return "1 series " + one + " slowly"
	}
	return Count(len(drifts)) + " series " + many + " slowly"
}

// ChangeSize returns how much a level changed: "+96.0 MiB (+16.7 %)".
func ChangeSize(c history.Change) string {
	step := c.After - c.Before
	share := ""
	if c.Before != 0 {
		share = check.Change(step / math.Abs(c.Before))
	}
	switch c.Series.Unit {
	case check.Bytes, check.BytesPerFile:
		sign := ""
		if step > 0 {
			sign = "+"
		}
		size := sign + check.Quantity(step, c.Series.Unit)
		if share == "" {
			return size
		}
		return size + " (" + share + ")"
	case check.Ratio:
		return fmt.Sprintf("%+.1f points", 100*step)
	}
	return share
}
