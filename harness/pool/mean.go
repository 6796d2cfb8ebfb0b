package pool

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"vramsoak/harness/shape"
)

const (
	// leastSlopes is the smallest number of slopes that have a mean with an error.
	leastSlopes = 2
	// bothSides and oneSide are the probabilities below the bounds of an interval of 95 %: of both
	// bounds, and of the upper one if only it decides. oneSideNormal is the quantile of oneSide.
	bothSides     = 0.975
	oneSide       = 0.95
	oneSideNormal = 1.645
	// chanceOfSmaller is the probability with which slopes may lie so close together by chance, and
	// leastApart the least that [mean.apart] returns.
	chanceOfSmaller = 0.1
	leastApart      = 0.5
)

// newtonSteps is the largest number of steps to find tau. Errors that differ by a factor of a
// million need forty.
const newtonSteps = 200

// errorDegrees are added to the degrees of freedom of the mean, which are the number of slopes less
// 1, because the standard errors of the slopes say more than how far a few slopes lie apart. This
// is the idea of a moderated t statistic (Smyth, Statistical Applications in Genetics and Molecular
// Biology 3, 2004). With 5 the rate of false alarms stays below the level, for 2 slopes and more:
// TestPoolVerdicts counts it.
const errorDegrees = 5

// leastNoise is the smallest noise of a series, as a part of the median noise. The noise of a short
// series is sometimes estimated far too small, and its weight is then far too large.
const leastNoise = 0.75

// moreThanError is how much larger the errors of slopes may be than their estimates: 1.23 times in
// series that warm up, and 1.02 times in other series that are clean.
const moreThanError = 1.25

// A pooled holds slopes with the errors by which they are weighted. These include what rounding may
// hide: in some series noise carries values from digit to digit, so that it hides little, and these
// weigh more.
type pooled struct {
	slopes []Slope
	errors []float64
	x      []float64 // the estimates
	// noise is the median of the error that the slopes would have if the series had one file. The
	// error of a slope falls with the number of files to the power of 1.5.
	noise float64
}

func newPooled(slopes []Slope) *pooled {
	p := &pooled{}
	for _, s := range slopes {
		if !math.IsInf(s.Error, 0) && !math.IsNaN(s.Error) && !math.IsNaN(s.Estimate) {
			p.slopes = append(p.slopes, s)
		}
	}
	noise := make([]float64, len(p.slopes))
	largest := 0.0
	for i := range p.slopes {
		s := &p.slopes[i]
		noise[i] = s.Error * lengthOf(s)
		largest = max(largest, math.Abs(s.Estimate))
	}
	p.noise = shape.Median(noise)
	for i := range p.slopes {
		s := &p.slopes[i]
		p.x = append(p.x, s.Estimate)
		e := max(s.Error, leastNoise*p.noise/lengthOf(s), 1e-12*largest, 1e-100)
		p.errors = append(p.errors, math.Hypot(e, s.Rounding))
	}
	return p
}

// lengthOf returns by how much the length of a series divides the error of its slope.
func lengthOf(s *Slope) float64 { return math.Pow(float64(max(1, s.Files)), 1.5) }

// A mean is a weighted mean of slopes.
type mean struct {
	estimate, error, tau, rounding float64
	weights                        []float64
	// degrees are those of the t distribution of (estimate - true mean) / error.
	degrees float64
}

// mean returns the mean of the slopes.
func (p *pooled) mean() mean {
	tau := p.pauleMandel(1)
	m := mean{tau: tau, degrees: float64(len(p.x) - 1 + errorDegrees)}
	sum := 0.0
	for i, e := range p.errors {
		w := 1 / (e*e + tau*tau)
		m.weights = append(m.weights, w)
		sum += w
		m.rounding += w * p.slopes[i].Rounding
	}
	m.estimate = stat.Mean(p.x, m.weights)
	m.rounding /= sum
	// Where a small error goes with a slope that is far off, only the second of these shows it.
	m.error = max(math.Sqrt(m.apart(p.x)/sum), scattered(p.x, m.weights).error)
	return m
}

// apart returns how far the slopes lie from their mean, as a mean square in standard errors
// (Hartung and Knapp 2001). It is 1 if tau is above 0. Below 1 it may be small by chance. The usual
// safeguard is then to take 1 (Röver, Knapp and Friede, BMC Medical Research Methodology 15, 2015).
// But package shape allows for autocorrelated noise, so errors in white noise are too large by a
// fifth, and many slopes show that. So apart takes the upper bound that the number of slopes
// allows, if it is below 1.
func (m *mean) apart(x []float64) float64 {
	n, squares := float64(len(x)), 0.0
	for i, w := range m.weights {
		squares += w * (x[i] - m.estimate) * (x[i] - m.estimate)
	}
	most := squares / distuv.ChiSquared{K: n - 1}.Quantile(chanceOfSmaller)
	return max(min(1, most), squares/(n-1), leastApart)
}

// pauleMandel returns the standard deviation of the slopes beyond their errors, which are
// multiplied by a factor first: the tau at which the weighted sum of squares around the mean is
// what is expected, the number of slopes less 1. It is 0 if the errors explain the squares. The sum
// is a convex function of tau² that falls, so Newton's steps from 0 approach the root from below.
func (p *pooled) pauleMandel(factor float64) float64 {
	weights := make([]float64, len(p.x))
	variance, expected := 0.0, float64(len(p.x)-1)
	for range newtonSteps {
		for i, e := range p.errors {
			weights[i] = 1 / (factor*factor*e*e + variance)
		}
		middle, squares, slope := stat.Mean(p.x, weights), 0.0, 0.0
		for i, w := range weights {
			off := w * (p.x[i] - middle)
			squares, slope = squares+off*off/w, slope+off*off
		}
		step := (squares - expected) / slope
		if !(step > 1e-9*variance) {
			break
		}
		variance += step
	}
	return math.Sqrt(variance)
}

// leastTau returns the tau that is left if all errors are as much too small as clean series show.
func (p *pooled) leastTau() float64 { return p.pauleMandel(moreThanError) }

// quantile returns how many standard errors lie below the estimate with a probability.
func (m *mean) quantile(probability float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: m.degrees}.Quantile(probability)
}

// above returns the probability with which noise makes the mean exceed rounding by so much.
func (m *mean) above(rounding float64) float64 {
	off := m.estimate - rounding
	if off <= 0 {
		return 1
	}
	return distuv.StudentsT{Sigma: 1, Nu: m.degrees}.CDF(-off / m.error)
}
