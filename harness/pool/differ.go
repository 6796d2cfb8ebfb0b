package pool

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"vramsoak/harness/shape"
)

// leastOthers is the smallest number of slopes among which one can differ: with fewer, it is not
// known how far slopes lie apart.
const leastOthers = 5

// The tails of a difference are those of a t distribution. Its degrees of freedom are differDegrees
// for each slope of the part that differs: the clean series of fixtures/levels.go have lighter
// tails, and TestPoolVerdicts counts those that differ. The others have scaleDegrees each, because
// a median distance has so much less information than a mean square (Rousseeuw and Croux, Journal
// of the American Statistical Association 88, 1993).
const (
	differDegrees = 8
	scaleDegrees  = 0.37
)

// nodeSlopes is the smallest number of slopes of a node whose median is its own.
const nodeSlopes = 8

// differing adds to r the shards and the nodes that differ from the others by more than the limit.
func (p *pooled) differing(r *Result, limit, level float64) {
	if len(p.x) < leastOthers {
		return
	}
	x, errors := p.typical()
	all := sums{}
	for i, e := range errors {
		all.add(x[i], 1/(e*e))
	}
	nodes := map[string]*sums{}
	for i := range p.slopes {
		s := &p.slopes[i]
		one := sums{}
		one.add(x[i], 1/(errors[i]*errors[i]))
		if d, ok := p.difference(&one, &all, s.Rounding, limit); ok {
			d.Shard, d.Node, d.Name = s.Shard, s.Node, s.Name
			d.Sure = min(1, d.Sure*float64(len(p.x))/ofShards)
			if d.Sure <= level {
				r.Shards = append(r.Shards, d)
			}
		}
		if s.Node != "" {
			if nodes[s.Node] == nil {
				nodes[s.Node] = &sums{}
			}
			nodes[s.Node].add(x[i], 1/(errors[i]*errors[i]))
		}
	}
	for name, node := range nodes {
		if node.n < 2 || node.n == len(p.x) {
			continue
		}
		d, ok := p.difference(node, &all, r.Rounding, limit)
		if !ok || len(nodes) == 2 && d.By < 0 { // of two nodes, the one that grows less is the usual one
			continue
		}
		d.Node = name
		d.Sure = min(1, d.Sure*float64(len(nodes))/ofNodes)
		if d.Sure <= level {
			r.Nodes = append(r.Nodes, d)
		}
	}
	byAmount := func(a, b Difference) int {
		return cmp.Or(cmp.Compare(math.Abs(b.By), math.Abs(a.By)), cmp.Compare(a.Shard, b.Shard),
			cmp.Compare(a.Node, b.Node))
	}
	slices.SortFunc(r.Shards, byAmount)
	slices.SortFunc(r.Nodes, byAmount)
	r.Differing = len(r.Shards)
	r.Shards = slices.Clip(r.Shards[:min(MostNamed, len(r.Shards))])
	r.Nodes = slices.Clip(r.Nodes[:min(MostNamed, len(r.Nodes))])
}

// A sums adds up weighted slopes.
type sums struct {
	n           int
	weight, sum float64
}

func (s *sums) add(x, weight float64) {
	s.n++
	s.weight += weight
	s.sum += weight * x
}

// difference compares a part of the slopes with the rest. ok is false if they differ by no more
// than the limit and what rounding may feign. Sure is that of one comparison.
func (p *pooled) difference(part, all *sums, rounding, limit float64) (d Difference, ok bool) {
	rest := sums{all.n - part.n, all.weight - part.weight, all.sum - part.sum}
	d = Difference{Slopes: part.n, Mean: part.sum / part.weight}
	d.By = d.Mean - rest.sum/rest.weight
	d.Error = math.Sqrt(1/part.weight + 1/rest.weight)
	off := math.Abs(d.By) - rounding
	if off <= limit {
		return d, false
	}
	t := distuv.StudentsT{
		Sigma: 1, Nu: min(differDegrees*float64(part.n), scaleDegrees*float64(rest.n)),
	}
	d.Sure = 2 * t.CDF(-off/d.Error)
	return d, true
}

// typical returns the slopes for the search for those that differ, and their errors. A slope may be
// as far off as most of them are. So the error is at least that of the median noise, and all errors
// are multiplied by how far the slopes lie apart: the median distance from the median slope, in
// errors. A few slopes that differ hardly change medians. If a node has nodeSlopes or more, the
// median is that of the node, so that a node that differs does not hide itself.
//
// If the growth of a series slows down, as in a warm-up, its slope is that of its second half.
func (p *pooled) typical() (x, errors []float64) {
	nodes := map[string][]float64{}
	for i := range p.slopes {
		nodes[p.slopes[i].Node] = append(nodes[p.slopes[i].Node], p.x[i])
	}
	all := shape.Median(p.x)
	middles := map[string]float64{}
	for name, x := range nodes {
		if middles[name] = all; name != "" && len(x) >= nodeSlopes {
			middles[name] = shape.Median(x)
		}
	}
	x, errors = slices.Clone(p.x), slices.Clone(p.errors)
	off := make([]float64, len(p.x))
	for i := range errors {
		s := &p.slopes[i]
		errors[i] = max(errors[i], p.noise/lengthOf(s))
		off[i] = math.Abs(p.x[i]-middles[s.Node]) / errors[i]
	}
	apart := max(1, shape.NormalMAD*shape.Median(off))
	for i := range errors {
		errors[i] *= apart
		s := &p.slopes[i]
		if s.Early-s.Late > slowsErrors*math.Sqrt2*halfError*errors[i] && s.Late < x[i] {
			x[i], errors[i] = s.Late, halfError*errors[i]
		}
	}
	return x, errors
}
