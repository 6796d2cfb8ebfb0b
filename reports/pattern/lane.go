package pattern

import (
	"cmp"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/wording"
)

// A Lane is a lane of a log, with its largest reading.
type Lane struct {
	record.Lane
	Top int64 // bytes
}

// Lanes returns the lanes of a log. The first one is the lane that reports show: the one in which
// the run failed or, if the run did not fail in one lane, the one with the largest reading. The
// largest reading comes first among the others. The result fails says whether the first lane is the
// one that failed.
func Lanes(tl *timeline.Timeline, rep *check.Report) (lanes []Lane, fails bool) {
	at := map[record.Lane]int{}
	for _, c := range tl.All() {
		i, known := at[c.Lane]
		if !known {
			i = len(lanes)
			at[c.Lane], lanes = i, append(lanes, Lane{Lane: c.Lane})
		}
		lanes[i].Top = max(lanes[i].Top, c.Bytes(record.Allocated), c.Bytes(record.Reserved),
			c.Bytes(record.Used))
	}
	slices.SortStableFunc(lanes, func(a, b Lane) int { return cmp.Compare(b.Top, a.Top) })
	for _, g := range wording.Deciding(rep) {
		if g.Verdict != check.Fail {
			break
		}
		i := slices.IndexFunc(lanes, func(l Lane) bool { return isIn(tl, lanes, &g.Finding, l.Lane) })
		if i < 0 {
			continue
		}
		first := lanes[i]
		lanes = slices.Insert(slices.Delete(lanes, i, i+1), 0, first)
		return lanes, len(lanes) > 1
	}
	return lanes, false
}

// Failing returns the gating checks that fail in one of the lanes of a log with several.
func Failing(tl *timeline.Timeline, rep *check.Report, lanes []Lane, lane record.Lane) []string {
	var checks []string
	for _, f := range wording.WithVerdict(rep.Findings, check.Fail) {
		if f.Gates && f.Waived == nil && isIn(tl, lanes, &f, lane) &&
			!slices.Contains(checks, f.Check) {
			checks = append(checks, f.Check)
		}
	}
	return checks
}

// isIn reports whether a finding is about this one of several lanes.
func isIn(tl *timeline.Timeline, lanes []Lane, f *check.Finding, lane record.Lane) bool {
	if f.Check == check.OutOfMemory && f.At != nil {
		for file := range tl.InOrder() {
			for _, o := range file.OOMs {
				if o.Pos == *f.At {
					return OfFailure(lanes, o.Lane) == lane
				}
			}
		}
	}
	return f.Device != "" && (f.Device == lane.Name(true) || f.Device == lane.Name(false) ||
		f.Device == tl.Writers[lane.Rank]+", "+lane.Name(false))
}

// OfFailure returns the lane in which an allocation failed, by the lane that its message gives. A
// message that names no rank is of the one rank that has readings of the device.
func OfFailure(lanes []Lane, given record.Lane) record.Lane {
	var same []record.Lane
	for _, l := range lanes {
		switch {
		case l.Lane == given:
			return given
		case given.Rank == 0 && l.Device == given.Device:
			same = append(same, l.Lane)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return given
}

// MainQuantity returns the quantity that reports show for a lane: the first of allocated, device
// used and reserved for which the lane has readings.
func MainQuantity(tl *timeline.Timeline, lane record.Lane) record.Quantity {
	for _, q := range []record.Quantity{record.Allocated, record.Used} {
		for _, c := range tl.All() {
			if _, ok := c.Get(q); ok && c.Lane == lane {
				return q
			}
		}
	}
	return record.Reserved
}

// Total returns the size of the lane's device in bytes, or 0 if the log does not give it.
func Total(tl *timeline.Timeline, lane record.Lane) int64 {
	var total int64
	for _, c := range tl.All() {
		if c.Lane == lane {
			total = max(total, c.Bytes(record.Total))
		}
	}
	for i := range tl.Samples {
		if tl.Samples[i].Lane.Device == lane.Device {
			total = max(total, tl.Samples[i].Bytes(record.Total))
		}
	}
	return total
}
