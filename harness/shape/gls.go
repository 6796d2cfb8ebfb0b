package shape

import "math"

// A regression is y = columns * beta + e. The errors e are an autoregression of order one: each e
// is phi times the e before it, plus noise. The regression is fitted by generalized least squares.
// The first value has a weight of its own, because no value comes before it (Prais and Winsten
// 1954).
type regression struct {
	y       []float64
	columns [][]float64
}

// maxColumns is the largest number of columns of a regression: a constant, the length of the audio,
// two for a shape, and growth.
const maxColumns = 5

// A solution is the fit of a regression at a given phi.
type solution struct {
	beta [maxColumns]float64
	rss  float64 // sum of the squared residuals, without their autocorrelation
	det  float64 // the logarithm of the determinant of X'X
	last float64 // the last diagonal element of the inverse of X'X
}

// solve returns the fit of the regression at a given phi. ok is false if the columns depend on each
// other.
func (r *regression) solve(phi float64) (s solution, ok bool) {
	var a gram
	switch len(r.columns) {
	case 2:
		s.rss = r.products2(phi, &a)
	case 3:
		s.rss = r.products3(phi, &a)
	default:
		s.rss = r.products(phi, &a)
	}
	ok = r.decompose(&a, phi, &s)
	return s, ok
}

// products sets in a the inner products of the columns after their autocorrelation was removed, and
// returns the sum of the squared y.
func (r *regression) products(phi float64, a *gram) (squares float64) {
	p := len(r.columns)
	var row [maxColumns + 1]float64
	first := math.Sqrt(1 - phi*phi)
	for i, y := range r.y {
		if i == 0 {
			for j, c := range r.columns {
				row[j] = first * c[0]
			}
			row[p] = first * y
		} else {
			for j, c := range r.columns {
				row[j] = c[i] - phi*c[i-1]
			}
			row[p] = y - phi*r.y[i-1]
		}
		for j := range p {
			for k := j; k <= p; k++ {
				a[j][k] += row[j] * row[k]
			}
		}
		squares += row[p] * row[p]
	}
	return squares
}

// products2 does what products does for two columns, in the same order of sums, and faster.
func (r *regression) products2(phi float64, a *gram) (yy float64) {
	y := r.y
	c, d := r.columns[0][:len(y)], r.columns[1][:len(y)]
	first := math.Sqrt(1 - phi*phi)
	u, v, w := first*c[0], first*d[0], first*y[0]
	uu, uv, uw, vv, vw := u*u, u*v, u*w, v*v, v*w
	yy = w * w
	for i := 1; i < len(y); i++ {
		u, v, w = c[i]-phi*c[i-1], d[i]-phi*d[i-1], y[i]-phi*y[i-1]
		uu, uv, uw, vv, vw, yy = uu+u*u, uv+u*v, uw+u*w, vv+v*v, vw+v*w, yy+w*w
	}
	a[0][0], a[0][1], a[0][2], a[1][1], a[1][2] = uu, uv, uw, vv, vw
	return yy
}

// products3 does what products does for three columns, in the same order of sums, and faster.
func (r *regression) products3(phi float64, a *gram) (yy float64) {
	y := r.y
	c, d, e := r.columns[0][:len(y)], r.columns[1][:len(y)], r.columns[2][:len(y)]
	first := math.Sqrt(1 - phi*phi)
	t, u, v, w := first*c[0], first*d[0], first*e[0], first*y[0]
	tt, tu, tv, tw, uu, uv, uw, vv, vw := t*t, t*u, t*v, t*w, u*u, u*v, u*w, v*v, v*w
	yy = w * w
	for i := 1; i < len(y); i++ {
		t, u, v, w = c[i]-phi*c[i-1], d[i]-phi*d[i-1], e[i]-phi*e[i-1], y[i]-phi*y[i-1]
		tt, tu, tv, tw = tt+t*t, tu+t*u, tv+t*v, tw+t*w
		uu, uv, uw = uu+u*u, uv+u*v, uw+u*w
		vv, vw, yy = vv+v*v, vw+v*w, yy+w*w
	}
	a[0][0], a[0][1], a[0][2], a[0][3] = tt, tu, tv, tw
	a[1][1], a[1][2], a[1][3] = uu, uv, uw
	a[2][2], a[2][3] = vv, vw
	return yy
}

// A gram holds the inner products of the columns of a regression, and in the last column those with
// y: the upper triangle of X'X, and X'y.
type gram [maxColumns][maxColumns + 1]float64

// decompose finishes solve. The sum of the squared y is s.rss.
func (r *regression) decompose(a *gram, phi float64, s *solution) (ok bool) {
	p := len(r.columns)
	squares := s.rss
	// Cholesky decomposition: X'X = U'U. The last column becomes z, with U'z = X'y. What z explains is
	// subtracted from the residuals.
	for j := range p {
		whole := a[j][j]
		for k := range j {
			for m := j; m <= p; m++ {
				a[j][m] -= a[k][j] * a[k][m]
			}
			whole += a[k][j] * a[k][j]
		}
		if !(a[j][j] > 1e-10*whole) {
			return false
		}
		u := math.Sqrt(a[j][j])
		for m := j; m <= p; m++ {
			a[j][m] /= u
		}
		s.det += 2 * math.Log(u)
		s.rss -= a[j][p] * a[j][p]
	}
	for j := p - 1; j >= 0; j-- {
		s.beta[j] = a[j][p]
		for k := j + 1; k < p; k++ {
			s.beta[j] -= a[j][k] * s.beta[k]
		}
		s.beta[j] /= a[j][j]
	}
	s.last = 1 / (a[p-1][p-1] * a[p-1][p-1])
	if s.rss < 1e-6*squares { // a small difference of two large sums has few digits
		s.rss = r.residuals(&s.beta, phi)
	}
	return true
}

// residuals returns the sum of the squared residuals, after their autocorrelation was removed.
func (r *regression) residuals(beta *[maxColumns]float64, phi float64) float64 {
	sum, before := 0.0, 0.0
	for i, e := range r.y {
		for j, c := range r.columns {
			e -= beta[j] * c[i]
		}
		white := e - phi*before
		if i == 0 {
			white = math.Sqrt(1-phi*phi) * e
		}
		sum, before = sum+white*white, e
	}
	return sum
}

// A fit is a regression at the phi that explains it best.
type fit struct {
	solution
	phi      float64
	sigma    float64 // the standard deviation of e
	noise    float64 // the standard deviation of the noise that each e adds
	evidence float64 // twice the log likelihood, at the phi where it is largest
	// error is the standard error of the last coefficient, averaged over all phi, weighted by their
	// likelihood.
	error float64
}

// phiMax is the largest phi that is tried, in steps of phiStep. With about fifty values, noise with
// a higher phi cannot be told from a series that drifts by itself.
const (
	phiMax  = 0.9
	phiStep = 0.05
)

// fit returns the fit at the most likely phi, and ok as solve does. It estimates phi by restricted
// maximum likelihood, which is nearly unbiased; plain maximum likelihood is not (Patterson and
// Thompson 1971). In the comparison of models, a standard deviation below floor counts as floor,
// because the printed digits do not show smaller ones. No standard deviation is below grain.
func (r *regression) fit(floor, grain float64) (f fit, ok bool) {
	n, p := float64(len(r.y)), float64(len(r.columns))
	restricted, plain := math.Inf(-1), math.Inf(-1)
	var likely, squares float64 // relative to the best restricted likelihood so far
	for step := 0; phiStep*float64(step) < phiMax+phiStep/2; step++ {
		phi := phiStep * float64(step)
		s, solved := r.solve(phi)
		if !solved {
			return f, false
		}
		jacobian := math.Log(1 - phi*phi)
		plain = max(plain, jacobian-n*math.Log(max(s.rss/n, floor*floor)))
		variance := max(s.rss, n*grain*grain) / (n - p)
		l := jacobian - (n-p)*math.Log(variance) - s.det
		if l > restricted {
			rescale := math.Exp((restricted - l) / 2)
			likely, squares, restricted = likely*rescale, squares*rescale, l
			f = fit{
				solution: s, phi: phi, sigma: math.Sqrt(variance / (1 - phi*phi)),
				noise: math.Sqrt(variance),
			}
		}
		weight := math.Exp((l - restricted) / 2)
		likely, squares = likely+weight, squares+weight*variance*s.last
		if step == 0 && s.rss <= n*grain*grain {
			break // there is no noise that could be autocorrelated
		}
	}
	f.evidence, f.error = plain, math.Sqrt(squares/likely)
	return f, true
}
