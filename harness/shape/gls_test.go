package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near reports whether got and want agree: to a relative precision or, near 0, to the same absolute
// precision.
func near(got, want, precision float64) bool {
	return math.Abs(got-want) <= precision*max(1, math.Abs(want))
}

// ones returns a column of n ones.
func ones(n int) []float64 { return made(n, func(int) float64 { return 1 }) }

// made returns a series of n values, which f gives by index.
func made(n int, f func(i int) float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

// TestSolveOrdinary fits NIST's Norris data
// (https://www.itl.nist.gov/div898/strd/lls/data/Norris.shtml). NIST certifies the coefficients,
// their standard deviations and the residual standard deviation.
func TestSolveOrdinary(t *testing.T) {
	x := []float64{
		0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6, 775.5, 666.9,
		338.0, 447.5, 11.6,
		556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3,
		229.2, 669.1, 448.9, 0.5,
	}
	y := []float64{
		0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1, 778.1, 668.8,
		339.3, 448.9, 10.8,
		557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6,
		228.9, 668.4, 449.2, 0.2,
	}
	r := regression{y, [][]float64{ones(len(x)), x}}
	s, ok := r.solve(0)
	if !ok {
		t.Fatal("not solved")
	}
	deviation := math.Sqrt(s.rss / 34)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"intercept", s.beta[0], -0.262323073774029},
		{"slope", s.beta[1], 1.00211681802045},
		{"residual standard deviation", deviation, 0.884796396144373},
		{"standard deviation of the slope", deviation * math.Sqrt(s.last), 0.429796848199937e-3},
	} {
		if math.Abs(c.got-c.want) > 1e-10*math.Abs(c.want) {
			t.Errorf("%s: %.15g, certified is %.15g", c.what, c.got, c.want)
		}
	}
	// With swapped columns, the last coefficient is the intercept.
	r.columns[0], r.columns[1] = r.columns[1], r.columns[0]
	if s, _ := r.solve(0); !near(deviation*math.Sqrt(s.last), 0.232818234301152, 1e-10) {
		t.Errorf("standard deviation of the intercept: %.15g", deviation*math.Sqrt(s.last))
	}
}

// TestSolveAutoregressive was worked out by hand. With phi = 0.6 the first row has a weight of
// sqrt(1 - 0.36) = 0.8, and y = 1, 2, 4 at x = 0, 1, 2 becomes
//
//	constant 0.8 0.4 0.4    x 0 1 1.4    y 0.8 1.4 2.8
//	X'X = 0.96 0.96; 0.96 2.96    X'y = 2.32 5.32    det = 1.92
//	beta = (2.96*2.32 - 0.96*5.32)/1.92, 0.96*(5.32 - 2.32)/1.92 = 11/12, 3/2
//
// This leaves residuals of 1/12, -5/12, 1/12. Without their autocorrelation they are 1/15, -7/15,
// 1/3, whose squares add up to 1/3.
func TestSolveAutoregressive(t *testing.T) {
	r := regression{[]float64{1, 2, 4}, [][]float64{ones(3), {0, 1, 2}}}
	s, ok := r.solve(0.6)
	if !ok {
		t.Fatal("not solved")
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"constant", s.beta[0], 11.0 / 12},
		{"slope", s.beta[1], 1.5},
		{"rss", s.rss, 1.0 / 3},
		{"residuals", r.residuals(&s.beta, 0.6), 1.0 / 3},
		{"det", s.det, math.Log(1.92)},
		{"last", s.last, 0.96 / 1.92},
	} {
		if !near(c.got, c.want, 1e-12) {
			t.Errorf("%s: %g, by hand it is %g", c.what, c.got, c.want)
		}
	}
}

func TestSolveDependent(t *testing.T) {
	r := regression{[]float64{1, 2, 4, 3}, [][]float64{ones(4), {0, 1, 2, 3}, {5, 7, 9, 11}}}
	for _, phi := range []float64{0, 0.5, 0.9} {
		if s, ok := r.solve(phi); ok {
			t.Errorf("phi %g: three columns that depend on one another are solved: %+v", phi, s)
		}
	}
}

// TestSolveExact: the line fits exactly, so its residuals are the difference of two sums of about
// 10^21. The few digits that are left must not spoil the result.
func TestSolveExact(t *testing.T) {
	x := made(60, func(i int) float64 { return float64(i) })
	y := made(60, func(i int) float64 { return 8e10 + 512*float64(i) })
	r := regression{y, [][]float64{ones(60), x}}
	for _, phi := range []float64{0, 0.5, 0.9} {
		if s, ok := r.solve(phi); !ok || !near(s.beta[1], 512, 1e-6) || math.Sqrt(s.rss/60) > 0.01 {
			t.Errorf("phi %g: slope %g, residuals of %g", phi, s.beta[1], math.Sqrt(s.rss/60))
		}
	}
}

// TestFitFindsPhi: restricted maximum likelihood is nearly unbiased. By the asymptotic variance
// (1-phi²)/n, the mean over 100 series of 100 values has a standard error below 0.01. The steps of
// phi add a rounding error, and phi cannot be below 0.
func TestFitFindsPhi(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := made(100, func(i int) float64 { return float64(i) })
	for _, phi := range []float64{0.3, 0.6} {
		sum, sigma := 0.0, 0.0
		for range 100 {
			reg := regression{autoregressive(r, 100, phi), [][]float64{ones(100), x}}
			f, ok := reg.fit(0, 0)
			if !ok {
				t.Fatal("not solved")
			}
			sum, sigma = sum+f.phi, sigma+f.sigma
		}
		if !near(sum/100, phi, 0.05) || !near(sigma/100, 1, 0.1) {
			t.Errorf("phi %g, sigma 1: found %g and %g", phi, sum/100, sigma/100)
		}
	}
}

// autoregressive returns n values of noise with an autocorrelation of phi and a standard deviation
// of 1.
func autoregressive(r *rand.Rand, n int, phi float64) []float64 {
	e := r.NormFloat64()
	return made(n, func(i int) float64 {
		if i > 0 {
			e = phi*e + math.Sqrt(1-phi*phi)*r.NormFloat64()
		}
		return e
	})
}

// TestFitFloor: a model whose residuals are below the floor does not count as a better explanation
// than one at the floor.
func TestFitFloor(t *testing.T) {
	y := made(20, func(i int) float64 { return float64(i % 2) })
	r := regression{y, [][]float64{ones(20)}}
	f, _ := r.fit(1, 0)
	// At phi 0 the residuals of 1/2 are below the floor of 1, so the plain likelihood is that of the
	// floor: 0.
	if f.evidence != 0 {
		t.Errorf("evidence %g", f.evidence)
	}
	// The noise is never below the grain: its square is 20 squares of the grain over 19 degrees of
	// freedom.
	if f, _ = r.fit(3, 3); !near(f.noise, 3*math.Sqrt(20.0/19), 1e-12) {
		t.Errorf("noise %g", f.noise)
	}
}
