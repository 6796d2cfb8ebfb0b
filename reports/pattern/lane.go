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
	if len(lanes) < 2 || rep.Verdict != check.Fail {
		return lanes, false
	}
	var deciding []*check.Finding
	for _, g := range wording.Deciding(rep) {
		deciding = append(deciding, &g.Finding)
	}
	of := lanesOf(tl, lanes, deciding)
	for _, f := range deciding {
		lane, known := of[f]
		i := slices.IndexFunc(lanes, func(l Lane) bool { return l.Lane == lane })
		if known && i >= 0 {
			first := lanes[i]
			return slices.Insert(slices.Delete(lanes, i, i+1), 0, first), true
		}
	}
	return lanes, false
}

// Failing returns the gating checks that fail in each of several lanes.
func Failing(tl *timeline.Timeline, rep *check.Report, lanes []Lane) map[record.Lane][]string {
	var failing []*check.Finding
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Verdict == check.Fail && f.Gates && f.Waived == nil {
			failing = append(failing, f)
		}
	}
	of := lanesOf(tl, lanes, failing)
	checks := map[record.Lane][]string{}
	for _, f := range failing {
		if lane, known := of[f]; known && !slices.Contains(checks[lane], f.Check) {
			checks[lane] = append(checks[lane], f.Check)
		}
	}
	return checks
}

// lanesOf returns the lanes of the findings that are about one of several lanes.
func lanesOf(
	tl *timeline.Timeline, lanes []Lane, findings []*check.Finding,
) map[*check.Finding]record.Lane {
	of := map[*check.Finding]record.Lane{}
	byDevice := map[string][]*check.Finding{}
	byLine := map[record.Position]*check.Finding{}
	for _, f := range findings {
		switch {
		case f.Check == check.OutOfMemory && f.At != nil:
			byLine[*f.At] = f
		case f.Device != "":
			byDevice[f.Device] = append(byDevice[f.Device], f)
		}
	}
	if len(byLine) > 0 {
		failures := NewFailures(lanes)
		for file := range tl.InOrder() {
			for _, o := range file.OOMs {
				if f := byLine[o.Pos]; f != nil {
					of[f] = failures.Lane(o.Lane)
				}
			}
		}
	}
	if len(byDevice) == 0 {
		return of
	}
	for _, l := range lanes {
		for _, name := range []string{
			l.Name(true), l.Name(false), tl.Writers[l.Rank] + ", " + l.Name(false),
		} {
			for _, f := range byDevice[name] {
				if _, known := of[f]; !known {
					of[f] = l.Lane
				}
			}
		}
	}
	return of
}

// Failures finds the lanes in which allocations failed.
type Failures struct {
	known    map[record.Lane]bool
	byDevice map[int][]record.Lane
}

// NewFailures returns the Failures of a log with these lanes.
func NewFailures(lanes []Lane) *Failures {
	f := &Failures{known: map[record.Lane]bool{}, byDevice: map[int][]record.Lane{}}
	for _, l := range lanes {
		f.known[l.Lane] = true
		f.byDevice[l.Device] = append(f.byDevice[l.Device], l.Lane)
	}
	return f
}

// Lane returns the lane in which an allocation failed, by the lane that its message gives. A
// message that names no rank is of the one rank that has readings of the device.
func (f *Failures) Lane(given record.Lane) record.Lane {
	if same := f.byDevice[given.Device]; given.Rank == 0 && !f.known[given] && len(same) == 1 {
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
