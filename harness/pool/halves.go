package pool

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// slowsErrors is how many standard errors the first halves of the series must grow faster than the
// second halves to say that growth slows down.
const slowsErrors = 2

// halfError is the error of the slope of one half, in errors of the whole: 2 to the power of 1.5.
const halfError = 2.8284

// halves compares the first halves of all series with their second halves. slows is set if growth
// slows down, or if too few series have slopes of their halves to show that it goes on. The mean
// late is that of the second halves.
//
// In a single series this comparison would find little: a half has an error 2.8 times that of the
// whole. But a warm-up that is hidden in noise is steep in the first half, and in the mean of many
// series it shows.
type halves struct {
	slows bool
	late  mean
}

func (p *pooled) halves(m mean) halves {
	var bends, lates, weights []float64
	for i := range p.slopes {
		s := &p.slopes[i]
		if !math.IsNaN(s.Early) && !math.IsNaN(s.Late) {
			bends = append(bends, s.Early-s.Late)
			lates = append(lates, s.Late)
			weights = append(weights, m.weights[i])
		}
	}
	if 2*len(bends) < len(p.slopes) || len(bends) < leastSlopes {
		return halves{slows: true, late: mean{degrees: 1}}
	}
	bend := scattered(bends, weights)
	return halves{slows: bend.estimate > slowsErrors*bend.error, late: scattered(lates, weights)}
}

// scattered returns the weighted mean of values whose own errors are unknown. Its error follows
// from their scatter (Huber's sandwich estimator, with the correction for few values).
func scattered(x, weights []float64) mean {
	n := float64(len(x))
	m := mean{estimate: stat.Mean(x, weights), weights: weights, degrees: n - 1}
	sum, squares := 0.0, 0.0
	for i, w := range weights {
		off := w * (x[i] - m.estimate)
		sum, squares = sum+w, squares+off*off
	}
	m.error = math.Sqrt(squares*n/(n-1)) / sum
	return m
}
