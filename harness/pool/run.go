package pool

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"vramsoak/harness/check"
)

// A Run collects the growths of the shards of a run, ledger by ledger.
//
//	var run pool.Run
//	for ... { run.Add(3, "n2", report) }
//	judged := run.Judge()
//
// The zero value is a run without shards. A run keeps about 150 bytes for each series.
type Run struct {
	series int
	level  float64 // the smallest of the shards; 0 without shards
	shards map[int]bool
	pools  []*gathered
}

// A gathered holds the slopes of a ledger.
type gathered struct {
	Ledger
	slopes []Slope
	varies bool // some slope is not 0: constants cannot look like growth
}

// A Judgement is what the growths of all shards show together.
type Judgement struct {
	// Single is the level for a single series. If the Sure of a growth that fails in its shard is
	// above it, noise may be the cause in a run of so many series: it is then undecided.
	Single float64
	// Ledgers holds a result for each ledger of which at least two series have a slope, in the order
	// in which they were added. It is empty for a run of one shard, which has the verdicts of package
	// check.
	Ledgers []Ledger
}

// A Ledger is the result on one ledger in all shards.
type Ledger struct {
	Check, Name, Unit string
	Limit             float64 // allowed growth per file
	Gates             bool
	Result
	// Alone counts the series that fail by themselves, at the level Single. Confirmed counts those of
	// them that also fail in view of the others: if growth slows down in all shards together, the
	// second half of the series must grow too. If none is confirmed, the ledger does not fail by
	// itself: its shards warm up, and among many shards some warm-ups look like growth.
	Alone, Confirmed int
	// PartOf names a ledger that fails too, and whose growth this one contains: the device's memory
	// grows if any part of it does. The verdict is then Skipped. It is "" for other ledgers.
	PartOf string
}

// Add adds the growths of a shard's report. Growths of values that are no ledger's are left out.
// The parameter node names where the shard ran; it is "" if that is unknown.
func (r *Run) Add(shard int, node string, report *check.Report) {
	if r.shards == nil {
		r.shards, r.level = map[int]bool{}, math.Inf(1)
	}
	r.shards[shard] = true
	r.series += report.Series
	r.level = min(r.level, report.Level)
	for i := range report.Growths {
		g := &report.Growths[i]
		if g.Ledger == "" {
			continue
		}
		p := r.pool(g)
		p.Limit = min(p.Limit, g.Limit)
		p.varies = p.varies || g.Slope != 0
		p.slopes = append(p.slopes, SlopeOf(shard, node, g))
	}
}

// pool returns the slopes of the ledger of a growth.
func (r *Run) pool(g *check.Growth) *gathered {
	for _, p := range r.pools {
		if p.Name == g.Ledger {
			return p
		}
	}
	p := &gathered{Ledger: Ledger{
		Check: g.Check, Name: g.Ledger, Unit: g.Unit, Limit: g.Limit, Gates: g.Gates,
	}}
	r.pools = append(r.pools, p)
	return p
}

// Judge judges each ledger. A ledger that does not gate has the whole level of the run, as in
// package check.
func (r *Run) Judge() Judgement {
	if len(r.shards) < 2 {
		single, _ := Levels(r.level, r.series, 0)
		return Judgement{Single: single}
	}
	gating := 0
	for _, p := range r.pools {
		if p.Gates && p.varies && len(p.slopes) >= leastSlopes {
			gating++
		}
	}
	single, pooled := Levels(r.level, r.series, gating)
	j := Judgement{Single: single}
	for _, p := range r.pools {
		level := pooled
		if !p.Gates {
			level = r.level
		}
		p.Result = Of(p.slopes, p.Limit, level)
		p.confirm(single)
		if p.Slopes >= leastSlopes {
			j.Ledgers = append(j.Ledgers, p.Ledger)
		}
	}
	j.skipParts()
	return j
}

// confirm sets Alone and Confirmed.
func (p *gathered) confirm(single float64) {
	p.Alone, p.Confirmed = 0, 0
	for i := range p.slopes {
		s := &p.slopes[i]
		if s.Sure > single || s.Estimate-s.Rounding <= p.Limit {
			continue
		}
		p.Alone++
		t := distuv.StudentsT{Sigma: 1, Nu: differDegrees}
		if !p.Slows || t.CDF(-(s.Late-s.Rounding)/(halfError*s.Error)) <= certainAlone {
			p.Confirmed++
		}
	}
}

// skipParts skips the device's memory if it fails and grows no faster than its parts that fail.
func (j *Judgement) skipParts() {
	parts, first := 0.0, ""
	for i := range j.Ledgers {
		switch l := &j.Ledgers[i]; {
		case l.Verdict != check.Fail:
		case l.Check == check.Leak, l.Check == check.Fragmentation, l.Check == check.DarkGrowth:
			parts += l.Mean.Estimate
			if first == "" {
				first = l.Name
			}
		}
	}
	for i := range j.Ledgers {
		l := &j.Ledgers[i]
		if l.Check == check.DeviceGrowth && l.Verdict == check.Fail && first != "" &&
			l.Mean.Estimate-parts <= l.Limit {
			l.Verdict, l.PartOf = check.Skipped, first
		}
	}
}
