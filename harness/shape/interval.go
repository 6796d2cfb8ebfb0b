package shape

import (
	"math"
	"slices"
)

// slope returns the growth at the end of the series, and its standard error. The best fit alone
// would give too narrow an interval. The error therefore includes all positions at which the model
// may break, and all phi, weighted by their likelihood. If the chosen shape does not grow and is
// not flat, the result is the average over all models with growth. This is Bayesian model
// averaging, with weights from the information criterion (Raftery 1995).
func (b *fitter) slope(m *model, growing bool) (estimate, se float64) {
	if growing || m.shape == Flat {
		mean, variance := b.overBreaks(m, m.error)
		return mean, math.Sqrt(variance) / b.trust
	}
	best := math.Inf(-1)
	for i := range b.all {
		if b.all[i].growing {
			best = max(best, b.all[i].bic())
		}
	}
	var average mixture
	for i := range b.all {
		if m := &b.all[i]; m.growing {
			mean, variance := b.overBreaks(m, m.se())
			if average.weight == 0 {
				average.origin = mean
			}
			average.add(math.Exp((m.bic()-best)/2), mean, variance)
		}
	}
	if average.weight == 0 { // no growing model could be fitted
		return m.slope(), m.error / b.trust
	}
	mean, variance := average.moments()
	return mean, math.Sqrt(variance) / b.trust
}

// overBreaks returns the slope of a model, averaged over all positions at which the model may
// break, and the variance of that slope. The parameter se is the standard error at the best
// position.
func (b *fitter) overBreaks(m *model, se float64) (mean, variance float64) {
	if len(m.breaks) != 1 {
		return m.slope(), se * se
	}
	wider := (se / m.se()) * (se / m.se())
	average := mixture{origin: m.slope()}
	average.add(1, m.slope(), se*se)
	for _, k := range b.x[1 : len(b.x)-sideMin+1] {
		r := regression{b.y, append(slices.Clip(b.fixed), b.broken(m.shape, k)...)}
		if s, ok := r.solve(m.phi); ok {
			weight := math.Exp((m.rss - s.rss) / (2 * m.noise * m.noise))
			average.add(min(weight, 1), s.beta[len(r.columns)-1], m.noise*m.noise*s.last*wider)
		}
	}
	return average.moments()
}

// broken returns the columns of a growing model with a shape that breaks at file k.
func (b *fitter) broken(shape Shape, k float64) [][]float64 {
	switch shape {
	case Step:
		return [][]float64{b.step(k), b.line}
	case WarmUp:
		return [][]float64{b.upTo(k), b.line}
	}
	return [][]float64{b.from(k)}
}

// A mixture is a weighted average of distributions. It adds up differences from origin instead of
// the values themselves, so that the sums keep their digits.
type mixture struct{ origin, weight, mean, square float64 }

func (m *mixture) add(weight, mean, variance float64) {
	mean -= m.origin
	m.weight += weight
	m.mean += weight * mean
	m.square += weight * (variance + mean*mean)
}

func (m *mixture) moments() (mean, variance float64) {
	mean = m.mean / m.weight
	return m.origin + mean, max(0, m.square/m.weight-mean*mean)
}
