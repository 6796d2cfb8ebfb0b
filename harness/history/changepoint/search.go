package changepoint

import "math"

// A candidate is a possible change. Its p value is the probability that a series without change has
// one as clear.
type candidate struct {
	p     float64
	at    int
	step  float64
	young bool
}

// beyond is by which factor one or two values must be farther from the mean than all earlier ones.
// In normal noise, any step that the t test finds is at least as large. In noise with heavy tails,
// the factor halves the false alarms.
const beyond = 1.5

// young tests the newest 1 to maxYoung values against the earlier values of the level. All of them
// must lie on one side of all earlier ones. The two means must also differ by Student's t test; for
// a single new value, this test is its prediction interval. If a test has a smaller p value than
// the best candidate, it becomes the best candidate.
func (d *Detector) young(best *candidate) {
	low, high := math.Inf(1), math.Inf(-1)
	for n := 1; n <= maxYoung; n++ {
		at := len(d.values) - n
		before := at - d.start()
		if before < minBefore {
			return
		}
		low, high = min(low, d.values[at]), max(high, d.values[at])
		least, most := d.now.least[before-1], d.now.most[before-1]
		if least <= high && low <= most {
			continue
		}
		b, a := d.now.between(0, before), d.now.between(before, before+n)
		squares, neighbours := b.squares+a.squares, b.neighbours+a.neighbours
		lengths := []int{before, n}
		// A short level shows too little of the noise. The levels before it show more.
		for i, seen := len(d.done)-1, before; i >= 0 && seen < memory; i-- {
			squares += d.done[i].squares
			neighbours += d.done[i].neighbours
			lengths = append(lengths, d.done[i].length)
			seen += d.done[i].length
		}
		e := newNoise(squares, neighbours, lengths, d.resolution)
		step := a.mean - b.mean
		if n < minAfter && math.Abs(step) < beyond*max(most-b.mean, b.mean-least) {
			continue
		}
		if p := e.p(step, before, n); p < best.p {
			*best = candidate{p, at, step, true}
		}
	}
}

// windows searches the windows of 40, 80, 160 ... newest values, up to the start of the current
// level. A long window is not searched every night. Instead it gets the parts of the nights since
// it was last searched.
func (d *Detector) windows(best *candidate) {
	n := len(d.values)
	for length := window; ; length *= 2 {
		if every := length / window; n%every == 0 {
			d.search(n-length, float64(every), best)
		}
		if n-length <= d.start() {
			return
		}
	}
}

// search tests the best split of the current level, from the index from on. The p value is divided
// by the number of nights.
func (d *Detector) search(from int, nights float64, best *candidate) {
	start := max(from, d.start()) // from is negative if the series is shorter than the window
	values := d.values[start:]
	if len(values) < 2*minAfter {
		return
	}
	split, promising := bestSplit(scores(values))
	if !promising {
		return
	}
	bounds, level := d.bounds(min(from, len(d.values)-memory), start, len(d.values))
	at := start + split
	bounds = append(bounds[:len(bounds)-1], at, len(d.values))
	means, e := robust(d.values, bounds, d.resolution)
	step := means[level+1] - means[level]
	if p := e.p(step, at-bounds[level], len(values)-split) / nights; p < best.p {
		*best = candidate{p, at, step, false}
	}
}
