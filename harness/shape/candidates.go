package shape

import (
	"math"
	"slices"
)

// Bounds of what is searched for, in values: the least number on either side of a step, and behind a break after which
// growth goes on.
const (
	sideMin  = 3
	afterMin = 6
)

// candidates fits each shape, at its best place, by itself and with growth on top of it. What does not change at all is flat.
func (b *bench) candidates() {
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

func (b *bench) add(m model, columns ...[]float64) {
	if fitted, ok := b.model(m, columns...); ok {
		b.all = append(b.all, fitted)
	}
}

// searchEach is how many values a series has at most of which each place is looked at. In a longer one it is every second, or
// third, and then those beside the best: the residuals change little from one to the next.
const searchEach = 64

// search finds the file of the least residuals among those at places from..to-1 of the series.
func (b *bench) search(from, to int, columns func(k float64) [][]float64) (at float64, ok bool) {
	best, place := math.Inf(1), 0
	look := func(from, to, stride int) {
		for i := max(0, from); i < min(to, len(b.x)); i += stride {
			if rss, _ := b.rss(columns(b.x[i])...); rss < best {
				best, place, ok = rss, i, true
			}
		}
	}
	stride := 1 + (len(b.x)-1)/searchEach
	look(from, to, stride)
	if stride > 1 {
		look(max(from, place-stride+1), min(to, place+stride), 1)
	}
	return b.x[place], ok
}

// refined searches beside a file, between files: a warm-up may end there.
func (b *bench) refined(k float64, columns func(k float64) [][]float64) float64 {
	at, best := k, math.Inf(1)
	for tenth := -9.0; tenth <= 9; tenth++ {
		here := k + tenth/10*b.width
		if rss, _ := b.rss(columns(here)...); rss < best {
			best, at = rss, here
		}
	}
	return at
}

// file is [bench.search] for what changes at a file: in a series of blocks at one within a block, closer and closer.
func (b *bench) file(from, to int, columns func(k float64) [][]float64) (at float64, ok bool) {
	at, ok = b.search(from, to, columns)
	best := math.Inf(1)
	for stride := b.width; ok && stride > 1; {
		stride = max(1, stride/10)
		around := at
		for tenth := -9.0; tenth <= 9; tenth++ {
			here := math.Round(around + tenth*stride)
			if rss, _ := b.rss(columns(here)...); rss < best {
				best, at = rss, here
			}
		}
	}
	return at, ok
}

func (b *bench) steps() {
	n := len(b.y)
	one := func(k float64) [][]float64 { return [][]float64{b.step(k)} }
	if k, ok := b.file(sideMin, n-sideMin+1, one); ok {
		b.add(model{shape: Step, breaks: []float64{k}, searched: 1}, b.step(k))
		// The second step beside the first, and then the first anew.
		second, _ := b.file(sideMin, n-sideMin+1,
			func(j float64) [][]float64 { return [][]float64{b.step(k), b.step(j)} })
		first, ok := b.file(sideMin, n-sideMin+1,
			func(j float64) [][]float64 { return [][]float64{b.step(j), b.step(second)} })
		if ok {
			two := model{shape: Steps, breaks: []float64{min(first, second), max(first, second)},
				searched: 2}
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

// warmUps are a change that ends, evenly or in a decay. One that has not ended in half the files is none, but for an even one with
// growth on top: that is growth that slows down, or speeds up, at one file.
func (b *bench) warmUps() {
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
	for _, growing := range []bool{false, true} {
		columns := func(tau float64) [][]float64 {
			if growing {
				return [][]float64{b.decay(tau), b.line}
			}
			return [][]float64{b.decay(tau)}
		}
		best, at := math.Inf(1), 0.0
		look := func(from, to, factor float64) {
			for tau := from; tau <= to; tau *= factor {
				if rss, _ := b.rss(columns(tau)...); rss < best {
					best, at = rss, tau
				}
			}
		}
		// After three time constants 5 % are left: in half the files.
		look(b.width, (b.x[n-1]-b.x[0])/6, 1.05)
		if at > 0 {
			look(at/1.05, at*1.05, 1.005)
			b.add(model{shape: WarmUp, growing: growing, tau: at, searched: 1}, columns(at)...)
		}
	}
}

func (b *bench) lateGrowth() {
	late := func(k float64) [][]float64 { return [][]float64{b.from(k)} }
	if k, ok := b.file(2, len(b.y)-afterMin, late); ok {
		b.add(model{shape: Flat, growing: true, breaks: []float64{k}, searched: 1}, late(k)...)
	}
}

// offsetsMax bounds the offsets at which a sawtooth of one period is looked for.
const offsetsMax = 32

func (b *bench) sawtooths() {
	if b.blocks() { // they hide it
		return
	}
	best, period, offset := math.Inf(1), 0, 0
	for p := 3; p <= len(b.y)/3; p++ {
		for o := 0; o < p; o += 1 + (p-1)/offsetsMax {
			if rss, rise := b.rss(b.sawtooth(p, o)); rss < best && rise > 0 {
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
