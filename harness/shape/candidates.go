package shape

import (
	"math"
	"slices"
)

// These are limits of the search: the smallest number of values on each side of a step, and the
// smallest number of values after a break from which on the series grows.
const (
	sideMin  = 3
	afterMin = 6
)

// candidates fits each shape at its best position, alone and with growth added, and keeps the fits
// in b.all. A series of equal values gets only flat fits.
func (b *fitter) candidates() {
	b.add(model{shape: Flat})
	b.add(model{shape: Flat, growing: true}, b.line)
	if slices.Min(b.y) == slices.Max(b.y) {
		return
	}
	b.steps()
	b.warmUps()
	b.lateGrowth()
	b.sawtooths()
}

func (b *fitter) add(m model, columns ...[]float64) {
	if fitted, ok := b.model(m, columns...); ok {
		b.all = append(b.all, fitted)
	}
}

// searchEach is the largest number of values for which search tries every position. In a longer
// series it tries only some positions at first, at equal distances, and then the neighbours of the
// best. The residuals change little from one position to the next.
const searchEach = 64

// search tries a break at the series' positions from to to-1, and returns the number of the file at
// which the fit has the smallest residuals. The function columns returns the columns of a shape
// that breaks at file k. ok is false if no fit is possible.
func (b *fitter) search(from, to int, columns func(k float64) [][]float64) (at float64, ok bool) {
	best, index := math.Inf(1), 0
	look := func(from, to, stride int) {
		for i := max(0, from); i < min(to, len(b.x)); i += stride {
			if rss, _ := b.try(columns, b.x[i]); rss < best {
				best, index, ok = rss, i, true
			}
		}
	}
	stride := 1 + (len(b.x)-1)/searchEach
	look(from, to, stride)
	if stride > 1 {
		look(max(from, index-stride+1), min(to, index+stride), 1)
	}
	return b.x[index], ok
}

// refined searches for a better break near file k in steps of a tenth of a file, because a warm-up
// may end between two files.
func (b *fitter) refined(k float64, columns func(k float64) [][]float64) float64 {
	at, best := k, math.Inf(1)
	for tenth := -9.0; tenth <= 9; tenth++ {
		candidate := k + tenth/10*b.width
		if rss, _ := b.try(columns, candidate); rss < best {
			best, at = rss, candidate
		}
	}
	return at
}

// file does what [fitter.search] does, for a change that happens at a whole file. In a series of
// blocks it also searches within the blocks, in smaller and smaller steps.
func (b *fitter) file(from, to int, columns func(k float64) [][]float64) (at float64, ok bool) {
	at, ok = b.search(from, to, columns)
	best := math.Inf(1)
	for stride := b.width; ok && stride > 1; {
		stride = max(1, stride/10)
		around := at
		for tenth := -9.0; tenth <= 9; tenth++ {
			candidate := math.Round(around + tenth*stride)
			if rss, _ := b.try(columns, candidate); rss < best {
				best, at = rss, candidate
			}
		}
	}
	return at, ok
}

func (b *fitter) steps() {
	n := len(b.y)
	one := func(k float64) [][]float64 { return [][]float64{b.step(k)} }
	if k, ok := b.file(sideMin, n-sideMin+1, one); ok {
		b.add(model{shape: Step, breaks: []float64{k}, searched: 1}, b.step(k))
		// Search the second step while the first stays fixed. Then search the first again, while the
		// second stays fixed.
		second, _ := b.file(sideMin, n-sideMin+1,
			func(j float64) [][]float64 { return [][]float64{b.step(k), b.step(j)} })
		first, ok := b.file(sideMin, n-sideMin+1,
			func(j float64) [][]float64 { return [][]float64{b.step(j), b.step(second)} })
		if ok {
			two := model{
				shape: Steps, breaks: []float64{min(first, second), max(first, second)},
				searched: 2,
			}
			b.add(two, b.step(first), b.step(second))
			two.growing = true
			b.add(two, b.step(first), b.step(second), b.line)
		}
	}
	growing := func(k float64) [][]float64 { return [][]float64{b.step(k), b.line} }
	if k, ok := b.file(sideMin, n-sideMin+1, growing); ok {
		b.add(model{shape: Step, growing: true, breaks: []float64{k}, searched: 1}, growing(k)...)
	}
}

// warmUps fits changes that end: they rise linearly, or ever more slowly as a decay. Such a change
// is a warm-up only if it ends in the first half of the files. With growth added, a linear change
// may end later: it is then growth whose rate changes at one file.
func (b *fitter) warmUps() {
	n := len(b.y)
	even := func(k float64) [][]float64 { return [][]float64{b.upTo(k)} }
	if k, ok := b.search(1, n/2+1, even); ok {
		k = b.refined(k, even)
		b.add(model{shape: WarmUp, breaks: []float64{k}, searched: 1}, even(k)...)
	}
	growing := func(k float64) [][]float64 { return [][]float64{b.upTo(k), b.line} }
	if k, ok := b.search(1, n-afterMin, growing); ok {
		k = b.refined(k, growing)
		b.add(model{shape: WarmUp, growing: true, breaks: []float64{k}, searched: 1}, growing(k)...)
	}
	decays := [2]decaySearch{{rss: math.Inf(1)}, {rss: math.Inf(1), growing: true}}
	// After three time constants, 5 % of a decay is left. These three must fit into the first half of
	// the files.
	for tau := b.width; tau <= (b.x[n-1]-b.x[0])/6; tau *= 1.05 {
		b.tryDecay(tau, &decays[0], &decays[1])
	}
	for i := range decays {
		d := &decays[i]
		if d.tau == 0 {
			continue
		}
		for from, tau := d.tau, d.tau/1.05; tau <= from*1.05; tau *= 1.005 {
			b.tryDecay(tau, d)
		}
		columns := [][]float64{b.decay(d.tau), b.line}
		if !d.growing {
			columns = columns[:1]
		}
		b.add(model{shape: WarmUp, growing: d.growing, tau: d.tau, searched: 1}, columns...)
	}
}

// A decaySearch is the best decay so far, with growth or without. tau is 0 before the first.
type decaySearch struct {
	growing  bool
	tau, rss float64
}

// tryDecay fits a decay with the time constant tau in each search.
func (b *fitter) tryDecay(tau float64, searches ...*decaySearch) {
	b.trying, b.used = true, 0
	column := b.decay(tau)
	b.trying = false
	for _, d := range searches {
		var rss float64
		if d.growing {
			rss, _ = b.rss(column, b.line)
		} else {
			rss, _ = b.rss(column)
		}
		if rss < d.rss {
			d.rss, d.tau = rss, tau
		}
	}
}

func (b *fitter) lateGrowth() {
	late := func(k float64) [][]float64 { return [][]float64{b.from(k)} }
	if k, ok := b.file(2, len(b.y)-afterMin, late); ok {
		b.add(model{shape: Flat, growing: true, breaks: []float64{k}, searched: 1}, late(k)...)
	}
}

// offsetsMax is about how many offsets are tried for a sawtooth of one period.
const offsetsMax = 32

func (b *fitter) sawtooths() {
	if b.blocks() { // blocks hide a sawtooth
		return
	}
	best, period, offset := math.Inf(1), 0, 0
	for p := 3; p <= len(b.y)/3; p++ {
		for o := 0; o < p; o += 1 + (p-1)/offsetsMax {
			tooth := func(float64) [][]float64 { return [][]float64{b.sawtooth(p, o)} }
			if rss, rise := b.try(tooth, 0); rss < best && rise > 0 {
				best, period, offset = rss, p, o
			}
		}
	}
	if period > 0 {
		tooth := b.sawtooth(period, offset)
		b.add(model{shape: Sawtooth, period: period, searched: 1}, tooth)
		b.add(model{shape: Sawtooth, growing: true, period: period, searched: 1}, tooth, b.line)
	}
}
