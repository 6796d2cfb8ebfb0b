package calibrate

import (
	"math"
	"math/rand/v2"

	"vramsoak/harness/shape"
)

// A noise is what all sources of a check have of it. Each source has a standard deviation of its own; how the noise follows
// itself is taken from all of them, because one run of some fifty files does not tell.
type noise struct {
	sources []*source // those that are not quiet
	values  int       // of all of these
	phi     float64   // a usual source's
}

func newNoise(units []unit) *noise {
	n := &noise{}
	var phis []float64
	for _, u := range units {
		for _, s := range u {
			if !s.quiet {
				n.sources, phis = append(n.sources, s), append(phis, s.result.Phi)
				n.values += len(s.noise)
			}
		}
	}
	if phis != nil {
		n.phi = quantile(phis, 0.5)
	}
	return n
}

// blockOf is how long blocks are: about the third root of the number of values (Künsch, The Jackknife and the Bootstrap for
// General Stationary Observations, 1989), and where noise is autocorrelated by phi, longer as Carlstein found for an
// autoregression of order one (The Use of Subseries Values for Estimating the Variance of a General Statistic from a
// Stationary Sequence, 1986).
func blockOf(files int, phi float64) int {
	root := math.Cbrt(float64(files))
	length := root * max(1, math.Pow(math.Sqrt(6)*phi/(1-phi*phi), 2.0/3))
	return min(int(math.Ceil(length)), max(1, files/3))
}

// deal is noise for a source, in its unit. Circular blocks keep the autocorrelation (Politis and Romano, A Circular
// Block-Resampling Procedure for Stationary Data, 1992); where there is none, the order does not matter, and every second time
// it is the source's own noise in another order.
func (n *noise) deal(s *source, r *rand.Rand) []float64 {
	files := len(s.course)
	dealt := make([]float64, files)
	switch {
	case s.quiet:
	case n.phi == 0 && r.IntN(2) == 0:
		for i, j := range r.Perm(files) {
			dealt[i] = s.sigma * s.noise[j]
		}
	default:
		block := blockOf(files, n.phi)
		var from *source
		at := 0
		for i := range dealt {
			if i%block == 0 {
				from, at = n.at(r.IntN(n.values))
			}
			dealt[i] = s.sigma * from.noise[(at+i%block)%len(from.noise)]
		}
	}
	return dealt
}

// at is the source of one of the values of all, and its place there.
func (n *noise) at(i int) (*source, int) {
	k := 0
	for i >= len(n.sources[k].noise) {
		i -= len(n.sources[k].noise)
		k++
	}
	return n.sources[k], i
}

// try is a series as the source could have been: its course, noise dealt anew, and a leak of so many bytes a file on top. What
// the printed digits hid is drawn: for each value, or, where they hide all of the noise, once.
func (n *noise) try(s *source, r *rand.Rand, leak float64) shape.Series {
	t := s.Series
	t.Values = n.deal(s, r)
	hidden := s.Resolution * (2*r.Float64() - 1)
	for i := range t.Values {
		if !s.quiet {
			hidden = s.Resolution * (2*r.Float64() - 1)
		}
		t.Values[i] = s.printed(s.course[i] + t.Values[i] + hidden + leak*float64(i))
	}
	return t
}
