package shape

import (
	"math"
	"slices"
)

// A tries holds what makes the search for a shape's position fast: it tries hundreds of columns, of
// which most are used once.
type tries struct {
	trying  bool
	columns [][]float64 // columns for tries, used of which are in use
	used    int
	// known are the inner products of the fixed columns and the line, with each other and with y; the
	// products with y are in the last column. knownColumns is their number; 0 if they are unknown.
	known        gram
	knownColumns int
	squares      float64 // the sum of the squared y
}

// newColumn returns a column to fill.
func (b *fitter) newColumn() []float64 {
	if !b.trying {
		return make([]float64, len(b.x))
	}
	if b.used == len(b.columns) {
		b.columns = append(b.columns, make([]float64, len(b.x)))
	}
	b.used++
	return b.columns[b.used-1]
}

// try returns the residual sum of squares of a fit without autocorrelation of the columns that
// columns returns for a position, and the coefficient of the first of them.
func (b *fitter) try(columns func(k float64) [][]float64, k float64) (rss, first float64) {
	b.trying, b.used = true, 0
	rss, first = b.rss(columns(k)...)
	b.trying = false
	return rss, first
}

// rss returns the residual sum of squares of a fit without autocorrelation, and the coefficient of
// the first of the given columns. It computes what [regression.solve] computes for a phi of 0, to
// the last bit, without the products of columns that it knows already.
func (b *fitter) rss(columns ...[]float64) (rss, first float64) {
	b.know()
	var all [maxColumns][]float64
	var at [maxColumns]int // index of a column in b.known, or -1
	n := copy(all[:], b.fixed)
	for j := range n {
		at[j] = j
	}
	for _, c := range columns {
		if at[n] = -1; len(c) > 0 && len(b.line) > 0 && &c[0] == &b.line[0] {
			at[n] = len(b.fixed)
		}
		all[n] = c
		n++
	}
	var a gram
	for j := range n {
		for k := j; k < n; k++ {
			switch {
			case at[j] >= 0 && at[k] >= 0:
				a[j][k] = b.known[at[j]][at[k]]
			case j == 0: // the constant
				a[j][k] = sum(all[k])
			case at[j] >= 0: // the other one may begin with zeros
				a[j][k] = product(all[k], all[j])
			default:
				a[j][k] = product(all[j], all[k])
			}
		}
		if at[j] >= 0 {
			a[j][n] = b.known[at[j]][maxColumns]
		} else {
			a[j][n] = product(all[j], b.y)
		}
	}
	s := solution{rss: b.squares}
	r := regression{b.y, all[:n]}
	if !r.decompose(&a, 0, &s) {
		return math.Inf(1), 0
	}
	return s.rss, s.beta[len(b.fixed)]
}

// know computes the products of the columns that most fits have.
func (b *fitter) know() {
	if b.knownColumns == len(b.fixed)+1 {
		return
	}
	b.knownColumns = len(b.fixed) + 1
	columns := append(slices.Clip(b.fixed), b.line)
	for j, c := range columns {
		for k := j; k < len(columns); k++ {
			b.known[j][k] = product(c, columns[k])
		}
		b.known[j][maxColumns] = product(c, b.y)
	}
	b.squares = product(b.y, b.y)
}

// product returns the inner product of two columns of the same length. It skips the zeros at the
// beginning of a, which many columns have.
func product(a, b []float64) (s float64) {
	zeros := 0
	for zeros < len(a) && a[zeros] == 0 {
		zeros++
	}
	a, b = a[zeros:], b[zeros:]
	b = b[:len(a)]
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func sum(a []float64) (s float64) {
	for _, v := range a {
		s += v
	}
	return s
}
