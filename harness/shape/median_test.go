package shape

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMedianOfMany compares the median with that of sorted values.
func TestMedianOfMany(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		v := make([]float64, 1+random.IntN(300))
		kinds := 1 + random.IntN(300)
		for i := range v {
			v[i] = float64(random.IntN(kinds)) // often equal
			if kinds%7 == 0 {
				v[i] = float64(i)
			}
			if random.IntN(100_000) == 0 {
				v[i] = math.Inf(1)
			}
		}
		sorted := slices.Sorted(slices.Values(v))
		want := (sorted[(len(v)-1)/2] + sorted[len(v)/2]) / 2
		if got := Median(v); got != want {
			t.Fatalf("got %g, want %g, of %v", got, want, v)
		}
	}
	if !math.IsNaN(Median(nil)) || !math.IsNaN(Median([]float64{1, math.NaN()})) {
		t.Error("no values, and values that are not known, have a median")
	}
}

// TestProducts compares the fast products with the general ones, to the last bit.
func TestProducts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	column := func() []float64 {
		c := make([]float64, 40)
		for i := range c {
			c[i] = random.NormFloat64() * 1e6
		}
		return c
	}
	for range 200 {
		r := regression{column(), [][]float64{column(), column(), column()}}
		phi := random.Float64()
		for p, fast := range []func(*regression, float64, *gram) float64{
			(*regression).products2, (*regression).products3,
		} {
			r := regression{r.y, r.columns[:2+p]}
			var a, b gram
			if x, y := fast(&r, phi, &a), r.products(phi, &b); x != y || a != b {
				t.Fatalf("%d columns: got %g %v, want %g %v", 2+p, x, a, y, b)
			}
		}
	}
}
