package peak

import (
	"cmp"
	"fmt"
	"slices"

	"vramsoak/parser/record"
)

// A Result says how a peak compares with the limit. The results are ordered from the least to the
// most severe.
type Result int

// These are the results.
const (
	Unknown Result = iota // the run has no data to judge
	Fits
	Unsure // the log does not show whether the peak is within the limit
	Exceeds
)

// An Outcome is the judgement of a device's peak in one run.
type Outcome struct {
	Result Result
	By     Ground
	Top    Mark   // the mark that decided; its Total is empty if the total is unknown
	Why    string // why the result is Unknown or Unsure
	Run    int
	of     [grounds]*extreme
}

// Facts holds what the readings of all devices say about a run as a whole.
type Facts struct {
	totals    []total         // totals of devices that the log names by the driver's numbers
	byDevice  map[int][]total // totals of each device, from the readings of all ranks
	devices   map[int]bool
	ranks     map[int]bool
	grownLine int  // line of the last new maximum of the program's own memory
	holds     bool // the program's own readings show that it holds memory
}

// idleMax is the most memory, in bytes, that a driver shows in use on an idle device. A process
// with a CUDA context takes more.
const idleMax = 64 * record.MiB

// AddFacts adds the readings of the device id to the facts of its runs. The map all holds the facts
// by the number of the run.
func AddFacts(all map[int]*Facts, id record.Lane, p *Marks) {
	for i := range p.runs {
		r := &p.runs[i]
		f := all[r.number]
		if f == nil {
			f = &Facts{devices: map[int]bool{}, ranks: map[int]bool{}, byDevice: map[int][]total{}}
			all[r.number] = f
		}
		for _, t := range r.totals {
			f.byDevice[id.Device] = addTotal(f.byDevice[id.Device], t)
			if t.driver {
				f.totals = addTotal(f.totals, t)
				f.devices[id.Device] = true
			}
		}
		if r.levelLine > 0 { // not of the driver's readings only
			f.ranks[id.Rank] = true
		}
		f.grownLine = max(f.grownLine, r.failedLine)
		f.holds = f.holds || r.failedLine > 0
		if r.most > idleMax {
			f.grownLine, f.holds = max(f.grownLine, r.mostLine), true
		}
	}
}

// Judge compares the peak in each run with the limit, which is a part of the device's total such as
// 0.85. It returns the worst outcome, or nil, and the outcomes of the runs that have no data to
// judge.
func (p *Marks) Judge(id record.Lane, facts map[int]*Facts, limit float64) (
	worst *Outcome, unknown []*Outcome,
) {
	for i := range p.runs {
		o := p.runs[i].judge(id, facts[p.runs[i].number], limit)
		switch {
		case o.Result == Unknown:
			unknown = append(unknown, o)
		case worst == nil || cmp.Or(cmp.Compare(o.Result, worst.Result),
			cmp.Compare(o.Top.Part(), worst.Top.Part())) > 0:
			worst = o
		}
	}
	return worst, unknown
}

// judge returns the outcome of one run.
func (r *run) judge(id record.Lane, facts *Facts, limit float64) *Outcome {
	several := id.Rank == 0 && len(facts.devices) > 0 && len(facts.ranks) > len(facts.devices)
	of := findTotal(r.totals, facts.totals, several)
	if len(r.totals) == 0 {
		several = len(facts.devices) > 0 && len(facts.ranks) > len(facts.devices)
		of = totalOfRanks(facts.byDevice[id.Device], facts.totals, several)
	}
	r.joinTotal(of)
	own, whole := []Ground{Allocated, Process, Buffers}, []Ground{device, only}
	if !facts.holds {
		own, whole = append(own, only), whole[:1]
	}
	exceeds := func(e *extreme) bool { return e.low > limit }
	mayExceed := func(e *extreme) bool { return e.high > limit }
	if o := r.worst(append(own, part), exceeds); o != nil {
		return o.as(Exceeds, "")
	}
	if o := r.worst(append(own, part), mayExceed); o != nil {
		why := "the printed digits do not show whether it is over the limit; log exact bytes to decide it"
		if maybe := o.Top.maybe; maybe > 0 && o.By == Buffers {
			why = fmt.Sprintf("buffers of these names were allocated before (up to %s), and the log does "+
				"not say whether they were freed; print used= with them, or soak the pipeline",
				record.FormatBytes(maybe))
		}
		return o.as(Unsure, why)
	}
	if o := r.worst(whole, mayExceed); o != nil {
		return o.as(Unsure, cmp.Or(o.Top.notKnown, "the log does not say which process holds it")+
			"; run vramsoak soak where the driver lists processes, or print used= (the driver's figure "+
			"for the process)")
	}
	if o := r.mayBeHighest(of, limit, own); o != nil {
		return o
	}
	used := func(e *extreme) bool { return e.top.Size.Bytes > 0 }
	reserved := r.worst([]Ground{Reserved}, used)
	if o := r.worst(own, used); o != nil {
		switch {
		case r.failedLine > r.levelLine:
			return o.as(Unsure, fmt.Sprintf("an allocation failed later, in line %d, which does not "+
				"say what was in use", r.failedLine))
		case r.mostLine <= r.levelLine:
			return o.as(Fits, "")
		case reserved == nil || reserved.Top.Pos.Line < r.mostLine:
			return o.as(Unsure, fmt.Sprintf("the program allocated more later, in line %d; "+
				"print a checkpoint after it", r.mostLine))
		}
	}
	switch {
	case reserved != nil && mayExceed(r.of[Reserved]):
		return reserved.as(Unsure, "this is what the allocator holds, and the log does not say how much "+
			"of it is in use; print what is allocated")
	case reserved != nil:
		return reserved.as(Fits, "")
	}
	return r.byDevice(whole, own, of, facts)
}

// byDevice returns the outcome of a run that has no reading of the program's own memory. It judges
// the run by the readings of the whole device.
func (r *run) byDevice(whole, own []Ground, of ownTotal, facts *Facts) *Outcome {
	o := &Outcome{Run: r.number}
	highest := r.worst(whole, func(*extreme) bool { return true })
	if highest == nil || r.hasLevel(own) {
		return o.as(Unknown, r.whyUnknown(own, of))
	}
	top, raw := &highest.Top, r.of[highest.By].whole()
	switch {
	case facts.grownLine > r.deviceLine:
		return o.as(Unknown, fmt.Sprintf("%s in use at %s, line %d, is no peak: the program allocated "+
			"more later (line %d); print a checkpoint after it", top.Size, top.Name, top.Pos.Line,
			facts.grownLine))
	case raw.Size.Bytes <= idleMax:
		return o.as(Unknown, fmt.Sprintf("at most %s was in use when the device was read: "+
			"no process held memory there", raw.Size))
	}
	return highest.as(Fits, "")
}

// joinTotal gives the device's total, if it is known, to the marks of readings that print no total.
func (r *run) joinTotal(of ownTotal) {
	if !of.known {
		return
	}
	for by, m := range r.alone {
		if m == nil {
			continue
		}
		if r.of[by] == nil {
			r.of[by] = &extreme{}
		}
		m.Total = of.total
		r.of[by].raise(m, of.low, of.high)
		r.alone[by] = nil
	}
}

// worst returns an outcome with the highest mark of those grounds for which counts returns true, or
// nil.
func (r *run) worst(of []Ground, counts func(e *extreme) bool) (o *Outcome) {
	for _, by := range of {
		if e := r.of[by]; e != nil && counts(e) && (o == nil || e.top.Part() > o.Top.Part()) {
			o = &Outcome{By: by, Top: e.top, Run: r.number, of: r.of}
		}
	}
	return o
}

func (o *Outcome) as(r Result, why string) *Outcome {
	o.Result, o.Why = r, why
	return o
}

// hasLevel reports whether one of these grounds has a reading above 0 that prints no total.
func (r *run) hasLevel(of []Ground) bool {
	return slices.ContainsFunc(of, func(by Ground) bool {
		return r.alone[by] != nil && r.alone[by].Size.Bytes > 0
	})
}

// mayBeHighest returns the outcome of a reading that may exceed the limit, or nil. The log gives
// some totals, but does not say which of them is the total of the reading's device.
func (r *run) mayBeHighest(of ownTotal, limit float64, own []Ground) *Outcome {
	least := int64(0)
	for _, t := range r.totals {
		if low := t.size.Low(); least == 0 || low < least {
			least = low
		}
	}
	for _, by := range own {
		m := r.alone[by]
		if m == nil || of.why == "" {
			continue
		}
		if _, _, high := m.InUse(); float64(high) > limit*float64(least) {
			o := &Outcome{By: by, Top: *m, Run: r.number, of: r.of}
			return o.as(Unsure, of.why+"; print the total with each reading")
		}
	}
	return nil
}

// whyUnknown returns the reason why a run has no data to judge.
func (r *run) whyUnknown(own []Ground, of ownTotal) string {
	level, zero := false, false
	for _, by := range append(own, Reserved, device) {
		level = level || r.alone[by] != nil
		zero = zero || r.of[by] != nil
	}
	switch {
	case level && of.why != "":
		return of.why + "; print the total with each reading"
	case level:
		return `the log gives no total of the device; print it once, as in ` +
			`"[GPU Memory] Start: Allocated: 0.00GB | Total: 24.00GB"`
	case zero:
		return "the readings of the log show nothing in use"
	case len(r.totals) > 0:
		return "the log gives the device's total, but no reading to compare with it"
	}
	return "the log's readings cover only a part of the memory in use, or only free memory"
}

// Besides yields the grounds, other than the one that decided, that a message should mention. It
// yields each with its highest mark, before the cache is subtracted.
func (o *Outcome) Besides(yield func(Ground, *Mark) bool) {
	_, inUse, _ := o.Top.InUse()
	for _, by := range []Ground{Allocated, Process, Reserved} {
		if o.of[by] == nil {
			continue
		}
		m := o.of[by].whole()
		if by == Allocated && (o.By == by || m.Size.Bytes == 0) ||
			by != Allocated && m.Size.Bytes <= inUse {
			continue
		}
		if by == o.By && m.WithCache()-o.Top.Part() < 0.005 {
			continue // too small a cache to mention
		}
		if !yield(by, m) {
			return
		}
	}
}

// WithCache returns the mark's size, with the cache in it, as a part of the total.
func (m *Mark) WithCache() float64 { return float64(m.Size.Bytes) / float64(max(1, m.Total.Bytes)) }
