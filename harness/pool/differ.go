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
// for each slope of the part that differs, and not more than those of the mean of the others. That
// is heavier than the tails of slopes in simulated noise: TestPoolVerdicts counts clean shards that
// differ.
const differDegrees = 16

// certainAlone is the level at which a shard that differs must be certain to grow by itself. A
// series that no shape fits well may have any slope, and does not look like growth.
const certainAlone = 0.001

// nodeSlopes is the smallest number of slopes of a node whose median is its own.
const nodeSlopes = 8

// differing adds to r the shards and the nodes that grow faster than the others by more than the
// limit. The fastest slope of a node counts as its second fastest, so that one shard does not make
// a node differ (a Winsorized mean).
func (p *pooled) differing(r *Result, limit, level float64) {
	if len(p.x) < leastOthers {
		return
	}
	x, errors := p.typical(r.Slows)
	all := sums{}
	nodes := map[string][]int{}
	for i, e := range errors {
		all.add(x[i], 1/(e*e))
		if node := p.slopes[i].Node; node != "" {
			nodes[node] = append(nodes[node], i)
		}
	}
	named := func(d *Difference, alike int, part float64) bool {
		d.Sure = min(1, d.Sure*float64(alike)/part)
		return d.Sure <= level
	}
	for i := range p.slopes {
		s := &p.slopes[i]
		one := sums{}
		one.add(x[i], 1/(errors[i]*errors[i]))
		d, ok := difference(one, all.less(one), s.Rounding, limit)
		if ok && s.Sure <= certainAlone && named(&d, len(p.x), ofShards) {
			d.Shard, d.Node, d.Name = s.Shard, s.Node, s.Name
			r.Shards = append(r.Shards, d)
		}
	}
	for name, of := range nodes {
		if len(of) < 2 || len(of) == len(p.x) {
			continue
		}
		slices.SortFunc(of, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
		node, whole := sums{}, sums{}
		for n, i := range of {
			whole.add(x[i], 1/(errors[i]*errors[i]))
			at := of[min(n, len(of)-2)]
			node.add(x[at], 1/(errors[i]*errors[i]))
		}
		d, ok := difference(node, all.less(whole), r.Rounding, limit)
		if ok && named(&d, len(nodes), ofNodes) {
			d.Node, d.Slopes = name, len(of)
			r.Nodes = append(r.Nodes, d)
		}
	}
	fastest := func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.By, a.By), cmp.Compare(a.Shard, b.Shard),
			cmp.Compare(a.Node, b.Node))
	}
	slices.SortFunc(r.Shards, fastest)
	slices.SortFunc(r.Nodes, fastest)
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

// less returns the sums without those of a part.
func (s *sums) less(part sums) sums {
	return sums{s.n - part.n, s.weight - part.weight, s.sum - part.sum}
}

// difference compares a part of the slopes with the others. ok is false if it grows no faster by
// more than the limit and what rounding may feign. Sure is that of one comparison.
func difference(part, others sums, rounding, limit float64) (d Difference, ok bool) {
	d = Difference{Slopes: part.n, Mean: part.sum / part.weight}
	d.By = d.Mean - others.sum/others.weight
	d.Error = math.Sqrt(1/part.weight + 1/others.weight)
	if !(d.By-rounding > limit) {
		return d, false
	}
	t := distuv.StudentsT{
		Sigma: 1, Nu: float64(min(differDegrees*part.n, others.n-1+errorDegrees)),
	}
	d.Sure = t.CDF(-(d.By - rounding) / d.Error)
	return d, true
}

// typical returns the slopes for the search for those that differ, and their errors. A slope may be
// as far off as most of them are. So the error is at least that of the median noise, and all errors
// are multiplied by how far the slopes lie apart: the median distance from the median slope, in
// errors. A few slopes that differ hardly change medians. If a node has nodeSlopes or more, the
// median is that of the node, so that a node that differs does not hide itself.
//
// If the growth of a series slows down, as in a warm-up, its slope is that of its second half. If
// all of them together slow down, the second halves of all count.
func (p *pooled) typical(slows bool) (x, errors []float64) {
	x, errors = slices.Clone(p.x), slices.Clone(p.errors)
	for i := range errors {
		s := &p.slopes[i]
		errors[i] = max(errors[i], p.noise/lengthOf(s))
		if half := halfError * errors[i]; s.Late < x[i] &&
			(slows || s.Early-s.Late > slowsErrors*math.Sqrt2*half) {
			x[i], errors[i] = s.Late, half
		}
	}
	nodes := map[string][]float64{}
	for i := range p.slopes {
		nodes[p.slopes[i].Node] = append(nodes[p.slopes[i].Node], x[i])
	}
	all := shape.Median(x)
	middles := map[string]float64{}
	for name, x := range nodes {
		if middles[name] = all; name != "" && len(x) >= nodeSlopes {
			middles[name] = shape.Median(x)
		}
	}
	off := make([]float64, len(x))
	for i := range errors {
		off[i] = math.Abs(x[i]-middles[p.slopes[i].Node]) / errors[i]
	}
	apart := max(1, shape.NormalMAD*shape.Median(off))
	for i := range errors {
		errors[i] *= apart
	}
	return x, errors
}
