package calibrate

import (
	"math"

	"vramsoak/harness/shape"
)

// A source holds the level over the files of one process of a clean run, split into fitted values
// and noise.
type source struct {
	shape.Series
	result shape.Result
	fitted []float64 // the fitted value for each file
	noise  []float64 // residuals, in standard deviations
	sigma  float64   // standard deviation of the noise
	quiet  bool      // set if there is no noise: every try then equals the run
}

// newSource returns a series split into fitted values and noise. The residuals of a fit are smaller
// than the noise, so newSource multiplies them by sqrt(n/(n-p)) for n values and p coefficients
// (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 6.2).
func newSource(s shape.Series) *source {
	src := &source{Series: s, result: shape.Of(s), quiet: true}
	columns, fitted, squares := src.fit()
	src.fitted = fitted
	left := len(s.Values) - len(src.result.Outliers) - columns
	src.sigma = math.Sqrt(squares / float64(max(1, left)))
	grow := math.Sqrt(float64(left+columns) / float64(max(1, left)))
	src.noise = make([]float64, len(s.Values))
	for i, v := range s.Values {
		src.quiet = src.quiet && src.printed(v) == src.printed(fitted[i])
		if src.sigma > 0 {
			src.noise[i] = grow * (v - fitted[i]) / src.sigma
		}
	}
	return src
}

// printed returns a level rounded as the log prints it: to whole bytes, or to the log's digits.
func (s *source) printed(v float64) float64 {
	digit := max(1, 2*s.Resolution)
	return math.Round(v/digit) * digit
}
