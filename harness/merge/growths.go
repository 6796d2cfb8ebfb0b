package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/pool"
	"vramsoak/harness/shape"
)

// slopesMost is how many slopes of a ledger are kept of a shard with many processes: those with the
// most files.
const slopesMost = 8

// growths holds what is kept of the series of one subject over all shards.
type growths struct {
	// longestPass is the most files of a series that passes, and longestOpen of one that is undecided.
	longestPass, longestOpen int
	shards                   int // number of shards that have a series of a ledger
	last                     int // the last of them
	// unsettled is set if a shard has growth that the log explains in another way than by a leak, or
	// that may be another process's. All shards together cannot fail then.
	unsettled bool
}

// add notes a series of a shard.
func (g *growths) add(of *check.Growth, s *judgedShard) {
	switch of.Verdict {
	case check.Pass:
		g.longestPass = max(g.longestPass, of.Files)
	case check.Undecided:
		g.longestOpen = max(g.longestOpen, of.Files)
		g.unsettled = g.unsettled || of.Sure <= s.level && of.Slope-of.Rounding > of.Limit
	case check.Skipped: // it is a part of another ledger's growth
		g.unsettled = true
	}
	g.unsettled = g.unsettled || of.Shared
	if of.Ledger != "" && g.last != s.number {
		g.shards, g.last = g.shards+1, s.number
	}
}

// tooShort reports whether all undecided series have less than half as many files as the longest
// one that passes.
func (g *growths) tooShort() bool { return 2*g.longestOpen < g.longestPass }

// longest leaves in a report at most slopesMost series of each subject, those with the most files,
// so that a shard with many processes does not take much memory.
func longest(rep *check.Report) {
	count := map[key]int{}
	slices.SortStableFunc(rep.Growths, func(a, b check.Growth) int {
		return cmp.Compare(b.Files, a.Files)
	})
	rep.Growths = slices.DeleteFunc(rep.Growths, func(g check.Growth) bool {
		k := key{g.Check, g.Subject}
		count[k]++
		return count[k] > slopesMost
	})
}

// A pooled is what the growths of a ledger in all shards show together.
type pooled struct {
	*pool.Ledger
	shards int
	said   bool // a finding says that all shards together, or one of them, fail
}

// unconfirmed reports whether shards fail by themselves, but none does in view of the others:
// growth slows down in all of them together.
func (p *pooled) unconfirmed() bool { return p.Alone > 0 && p.Confirmed == 0 }

// doubted returns a finding that fails as one that is undecided, because the shards warm up.
func doubted(f check.Finding) check.Finding {
	f.Verdict, f.FirstFile = check.Undecided, nil
	f.Message += "; but growth slows down in all shards together, and among many warm-ups some look " +
		"so; more files in each shard, or leak: warm_up in the policy, would decide it"
	return f
}

// where says how many series were pooled.
func (p *pooled) where() string {
	if p.Slopes > p.shards {
		return fmt.Sprintf("over %d series in %d shards", p.Slopes, p.shards)
	}
	return fmt.Sprintf("over %d shards", p.shards)
}

func (p *pooled) rate(i shape.Interval) string { return check.Rate(i, p.Unit, "file") }

func (p *pooled) amount(v float64) string {
	return p.rate(shape.Interval{Estimate: v, Low: v, High: v})
}

// decide returns the finding on growth that all shards together decide. The parameter f is the
// merged finding of single shards, of which none fails. If they do not decide it, decide returns f.
func (p *pooled) decide(f check.Finding, unsettled bool) check.Finding {
	differ := p.fastest()
	switch {
	case unsettled || p.said || p.Verdict == check.Skipped:
	case differ != nil:
		p.said = true
		return p.differs(f, differ)
	case p.Verdict == check.Fail:
		slows := ""
		if p.Slows {
			slows = ", and more slowly in the second half of the files"
		}
		p.said = true
		merged := f.Pooled(check.Fail, p.Mean.Estimate, fmt.Sprintf(
			"grows by %s %s, each with too much noise to tell%s; at most %s is allowed",
			p.rate(p.Mean), p.where(), slows, p.amount(p.Limit)))
		merged.Subject, merged.InShards = p.Name, p.shards
		return merged
	case f.Verdict == check.Undecided && p.Verdict == check.Pass:
		merged := f.Pooled(check.Pass, p.Mean.Estimate, fmt.Sprintf("no growth above %s %s: %s",
			p.amount(max(0, p.Mean.High)), p.where(), p.rate(p.Mean)))
		merged.InShards = p.shards
		return merged
	}
	if f.Verdict == check.Undecided {
		f.Message += fmt.Sprintf("; %s it is %s, and more shards or files would decide it",
			p.where(), p.rate(p.Mean))
	}
	return f
}

// fastest returns the node or the shard that certainly grows faster than the others and by more
// than the limit, or nil.
func (p *pooled) fastest() *pool.Difference {
	for _, all := range [][]pool.Difference{p.Nodes, p.Shards} {
		for i := range all {
			if d := &all[i]; d.By > 0 && d.Mean-p.Rounding > p.Limit {
				return d
			}
		}
	}
	return nil
}

// differs returns the finding that a shard or a node grows, which only the comparison with the
// others shows.
func (p *pooled) differs(f check.Finding, d *pool.Difference) check.Finding {
	who := ""
	if d.Shard == 0 {
		who = fmt.Sprintf(" on node %s, in %s", d.Node, check.Plural(d.Slopes, "series"))
	}
	merged := f.Pooled(check.Fail, d.Mean, fmt.Sprintf("grows by %s%s, by %s more than the others; "+
		"at most %s is allowed; look for what differs there: the driver, the GPU, the files",
		p.amount(d.Mean), who, p.amount(d.By), p.amount(p.Limit)))
	merged.Shard, merged.Node, merged.InShards = d.Shard, d.Node, 1
	return merged
}

// note returns a note on the nodes and shards that grow faster than the others, or "".
func (p *pooled) note() string {
	var said []string
	for i := range p.Nodes {
		if d := &p.Nodes[i]; d.By > 0 && !p.ofOneShard(d.Node) {
			said = append(said, fmt.Sprintf("on node %s by %s", d.Node, p.amount(d.By)))
		}
	}
	for i := range p.Shards {
		if d := &p.Shards[i]; d.By > 0 && len(said) < differMost {
			said = append(said, fmt.Sprintf("in shard %d by %s", d.Shard, p.amount(d.By)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	text := p.Name + " grows faster than elsewhere " + strings.Join(said, ", ")
	if more := p.Differing - min(p.Differing, differMost); more > 0 {
		text += fmt.Sprintf(", and in %d more shards", more)
	}
	return text
}

// ofOneShard reports whether exactly one shard of a node differs, which then explains the node.
func (p *pooled) ofOneShard(node string) bool {
	n := 0
	for i := range p.Shards {
		if p.Shards[i].Node == node {
			n++
		}
	}
	return n == 1
}

// differMost is the most nodes and shards that a note names.
const differMost = 6

// boundOf returns the most growth that a finding which passes does not rule out, or 0 for other
// findings. Of several that pass, the one with the highest bound claims least, and so it is true of
// all.
func boundOf(s *judgedShard, f *check.Finding) float64 {
	bound := 0.0
	if f.Verdict != check.Pass {
		return 0
	}
	for i := range s.report.Growths {
		g := &s.report.Growths[i]
		if g.Check == f.Check && g.Subject == f.Subject && !math.IsInf(g.Error, 0) {
			bound = max(bound, g.Slope+2*g.Error+g.Rounding)
		}
	}
	return bound
}
