package shape

import (
	"math"
	"slices"
	"testing"
)

// with returns a copy of the series in which the values at some indexes are replaced.
func with(v []float64, at map[int]float64) []float64 {
	v = slices.Clone(v)
	for i, x := range at {
		v[i] = x
	}
	return v
}

func TestCleaned(t *testing.T) {
	flat := made(40, func(int) float64 { return 100 })
	step := made(40, func(i int) float64 {
		if i < 20 {
			return 100
		}
		return 900
	})
	growth := made(40, func(i int) float64 { return 1000 * float64(i) })
	late := made(40, func(i int) float64 { return 1000 * float64(max(0, i-25)) })
	for _, c := range []struct {
		name     string
		y        []float64
		want     []float64
		outliers []int
	}{
		{"nothing", flat, flat, nil},
		{"a spike", with(flat, map[int]float64{20: 900}), flat, []int{20}},
		{"a dip", with(flat, map[int]float64{20: -900}), flat, []int{20}},
		{
			"less than 5 standard deviations of the floor", with(flat, map[int]float64{20: 104}),
			with(flat, map[int]float64{20: 104}), nil,
		},
		{"a burst of two", with(flat, map[int]float64{20: 900, 21: 800}), flat, []int{20, 21}},
		{
			"a burst of five", with(flat, map[int]float64{20: 900, 21: 900, 22: 900, 23: 900, 24: 900}),
			flat,
			[]int{20, 21, 22, 23, 24},
		},
		{
			"a burst of six",
			with(flat, map[int]float64{20: 900, 21: 900, 22: 900, 23: 900, 24: 900, 25: 900}),
			with(flat, map[int]float64{20: 900, 21: 900, 22: 900, 23: 900, 24: 900, 25: 900}),
			nil,
		},
		{"a step", step, step, nil},
		{"a spike on a step", with(step, map[int]float64{25: 5000}), step, []int{25}},
		{"steep growth", growth, growth, nil},
		// Values 21 to 25 are nearer to the spike than values 15 to 19, so their median replaces it.
		{
			"a spike on steep growth", with(growth, map[int]float64{20: 1e6}),
			with(growth, map[int]float64{20: 23000}),
			[]int{20},
		},
		{"steep growth that began late", late, late, nil},
		{"a spike in the last file", with(flat, map[int]float64{39: 900}), flat, []int{39}},
		{"a spike in the last file but one", with(flat, map[int]float64{38: 900}), flat, []int{38}},
		{
			"a burst in the last two files", with(flat, map[int]float64{38: 900, 39: 800}), flat,
			[]int{38, 39},
		},
		{"more in the first file", with(flat, map[int]float64{0: 900}), flat, []int{0}},
		{
			"less in the first two files", with(flat, map[int]float64{0: 0, 1: 50}),
			with(flat, map[int]float64{0: 0, 1: 50}), nil,
		},
		{
			"too few to tell", with(flat[:10], map[int]float64{5: 900}),
			with(flat[:10], map[int]float64{5: 900}), nil,
		},
	} {
		before := slices.Clone(c.y)
		got, outliers := cleaned(c.y, 1)
		if !slices.Equal(got, c.want) || !slices.Equal(outliers, c.outliers) {
			t.Errorf("%s: outliers %v of %v\n%v", c.name, outliers, c.outliers, got)
		}
		if !slices.Equal(c.y, before) {
			t.Errorf("%s: the series itself was changed", c.name)
		}
	}
}

// TestCleanedWithAudio: a file whose long audio explains its value is not an outlier. A file whose
// value is higher than its length explains is an outlier.
func TestCleanedWithAudio(t *testing.T) {
	seconds := made(40, func(i int) float64 { return 300 + 10*float64(i%7) })
	seconds[20] = 3000
	y := made(40, func(i int) float64 { return 100 + 2*seconds[i] })
	want := slices.Clone(y)
	y[30] += 1e5
	a := audio{seconds: seconds, rate: 2}
	got, outliers := a.cleaned(y, 1)
	if !slices.Equal(got, want) || !slices.Equal(outliers, []int{30}) {
		t.Errorf("outliers %v\n%v", outliers, got)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 3, 1, 9}, 3.5},
	} {
		if got := median(c.v); got != c.want {
			t.Errorf("median %g, want %g", got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %g", got)
	}
}
