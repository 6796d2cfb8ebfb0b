package calibrate

import (
	"math"
	"math/rand/v2"

	"vramsoak/harness/shape"
)

// A noise describes the noise in all sources of a check, each of which is one process of a clean
// run. Each source has its own standard deviation. The autocorrelation is estimated from all
// sources together, because one run of about fifty files does not show it clearly.
type noise struct {
	sources []*source // processes of clean runs, those that have noise
	values  int       // number of values in all of these sources
	phi     float64   // the median autocorrelation
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

// blockOf returns the length, in files, of the blocks of noise that draw joins. It is about the
// cube root of the number of values (Künsch, The Jackknife and the Bootstrap for General Stationary
// Observations, 1989). Noise with an autocorrelation of phi needs longer blocks. Carlstein derived
// their length for an autoregression of order one (The Use of Subseries Values for Estimating the
// Variance of a General Statistic from a Stationary Sequence, 1986).
func blockOf(files int, phi float64) int {
	root := math.Cbrt(float64(files))
	length := root * max(1, math.Pow(math.Sqrt(6)*phi/(1-phi*phi), 2.0/3))
	return min(int(math.Ceil(length)), max(1, files/3))
}

// draw returns random noise for a source, in the source's unit. It joins random blocks of
// consecutive residuals, because blocks keep the autocorrelation (Politis and Romano, A Circular
// Block-Resampling Procedure for Stationary Data, 1992). Without autocorrelation the order does not
// matter; about half of the draws are then the source's own residuals in a random order.
func (n *noise) draw(s *source, r *rand.Rand) []float64 {
	files := len(s.fitted)
	drawn := make([]float64, files)
	switch {
	case s.quiet:
	case n.phi == 0 && r.IntN(2) == 0:
		for i, j := range r.Perm(files) {
			drawn[i] = s.sigma * s.noise[j]
		}
	default:
		block := blockOf(files, n.phi)
		var from *source
		at := 0
		for i := range drawn {
			if i%block == 0 {
				from, at = n.at(r.IntN(n.values))
			}
			drawn[i] = s.sigma * from.noise[(at+i%block)%len(from.noise)]
		}
	}
	return drawn
}

// at returns the source that contains the value with index i among the values of all sources, and
// that value's index in the source.
func (n *noise) at(i int) (*source, int) {
	k := 0
	for i >= len(n.sources[k].noise) {
		i -= len(n.sources[k].noise)
		k++
	}
	return n.sources[k], i
}

// try returns a series that the source could have produced: the fitted values, random noise, and a
// leak in bytes a file. It also adds a random part below the printed digits, and rounds the sum as
// the log does. In a source without noise, that random part is the same for all values.
func (n *noise) try(s *source, r *rand.Rand, leak float64) shape.Series {
	t := s.Series
	t.Values = n.draw(s, r)
	hidden := s.Resolution * (2*r.Float64() - 1)
	for i := range t.Values {
		if !s.quiet {
			hidden = s.Resolution * (2*r.Float64() - 1)
		}
		t.Values[i] = s.printed(s.fitted[i] + t.Values[i] + hidden + leak*float64(i))
	}
	return t
}
