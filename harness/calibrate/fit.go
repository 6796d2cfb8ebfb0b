package calibrate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"vramsoak/harness/shape"
)

// fit fits the series by least squares, with the columns of the shape that s.result names. It
// returns the number of coefficients, the fitted values, and the sum of the squared residuals.
// Unlike shape.Result.Fitted, the fit includes growth only if growth is certain. It ignores
// outliers.
func (s *source) fit() (columns int, fitted []float64, left float64) {
	r := &s.result
	n := len(s.Values)
	column := func(f func(i float64) float64) []float64 {
		c := make([]float64, n)
		for i := range c {
			c[i] = f(float64(i))
		}
		return c
	}
	fixed := [][]float64{column(func(float64) float64 { return 1 })}
	if r.FollowsAudio {
		fixed = append(fixed, s.Audio)
	}
	from := float64(r.From)
	step := func(k float64) []float64 {
		return column(func(i float64) float64 {
			if i >= k {
				return 1
			}
			return 0
		})
	}
	// A result does not hold all parameters of its shape, so the missing parameters are searched.
	choices := [][][]float64{nil}
	switch r.Shape {
	case shape.Flat:
		if r.Growing {
			choices = [][][]float64{{column(func(i float64) float64 { return max(0, i-from) })}}
		}
	case shape.WarmUp:
		choices = [][][]float64{{column(func(i float64) float64 { return min(i, from) })}}
		if from > 0 { // a decay with 5 % left at from
			choices = append(choices,
				[][]float64{column(func(i float64) float64 { return 1 - math.Exp(-3*i/from) })})
		}
	case shape.Step:
		choices = [][][]float64{{step(from)}}
	case shape.Steps:
		choices = nil
		for k := from + 1; k < float64(n); k++ {
			choices = append(choices, [][]float64{step(from), step(k)})
		}
	case shape.Sawtooth:
		choices = nil
		for o := range r.Period {
			choices = append(choices, [][]float64{column(func(i float64) float64 {
				return math.Mod(i+float64(o), float64(r.Period))
			})})
		}
	}
	linear := column(func(i float64) float64 { return i })
	left = math.Inf(1)
	for _, choice := range choices {
		all := slices.Concat(fixed, choice)
		if r.Growing && r.Shape != shape.Flat {
			all = append(all, linear)
		}
		if c, squares, ok := s.leastSquares(all); ok && squares < left {
			columns, fitted, left = len(all), c, squares
		}
	}
	if fitted == nil { // all choices depend on the fixed columns
		columns = 1
		fitted, left, _ = s.leastSquares(fixed[:1])
	}
	return columns, fitted, left
}

// leastSquares fits columns to the values that are not outliers. It returns the fitted values and
// the sum of the squared residuals. ok is false if the columns depend on each other.
func (s *source) leastSquares(columns [][]float64) (fitted []float64, squares float64, ok bool) {
	weight := make([]float64, len(s.Values))
	for i := range weight {
		weight[i] = 1
	}
	for _, i := range s.result.Outliers {
		weight[i] = 0
	}
	x, y := mat.NewDense(len(s.Values), len(columns), nil), mat.NewVecDense(len(s.Values), nil)
	for i, v := range s.Values {
		y.SetVec(i, weight[i]*v)
		for j, c := range columns {
			x.Set(i, j, weight[i]*c[i])
		}
	}
	var beta mat.VecDense
	if err := beta.SolveVec(x, y); err != nil {
		return nil, 0, false
	}
	fitted = make([]float64, len(s.Values))
	for i, v := range s.Values {
		for j, c := range columns {
			fitted[i] += beta.AtVec(j) * c[i]
		}
		squares += weight[i] * (v - fitted[i]) * (v - fitted[i])
	}
	return fitted, squares, true
}
