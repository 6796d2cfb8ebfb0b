package calibrate

import (
	"math"

	"vramsoak/harness/shape"
)

// A source is what one process of a clean run does over its files, and the noise that is left after that.
type source struct {
	shape.Series
	result shape.Result
	course []float64 // what the shape says, a value a file
	noise  []float64 // in standard deviations
	sigma  float64   // the standard deviation
	quiet  bool      // there is no noise: every try is as the run was
}

// newSource takes a series apart. Noise is made larger by what the fit took from it, sqrt(n/(n-p)) for p coefficients
// (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 6.2).
func newSource(s shape.Series) *source {
	src := &source{Series: s, result: shape.Of(s), quiet: true}
	columns, course, squares := src.fit()
	src.course = course
	left := len(s.Values) - len(src.result.Outliers) - columns
	src.sigma = math.Sqrt(squares / float64(max(1, left)))
	grow := math.Sqrt(float64(left+columns) / float64(max(1, left)))
	src.noise = make([]float64, len(s.Values))
	for i, v := range s.Values {
		src.quiet = src.quiet && src.printed(v) == src.printed(course[i])
		if src.sigma > 0 {
			src.noise[i] = grow * (v - course[i]) / src.sigma
		}
	}
	return src
}

// printed is a level as the log would print it: whole bytes, or as many digits as it has.
func (s *source) printed(v float64) float64 {
	digit := max(1, 2*s.Resolution)
	return math.Round(v/digit) * digit
}
