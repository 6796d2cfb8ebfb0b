package changepoint_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/history/changepoint"
	"vramsoak/harness/shape"
)

// levels returns values at one or more levels. The arguments are pairs: a number of values and
// their level. The values alternate between 1 below and 1 above the level.
func levels(pairs ...float64) []float64 {
	var out []float64
	for i := 0; i < len(pairs); i += 2 {
		for n := range int(pairs[i]) {
			out = append(out, pairs[i+1]+float64(2*(n%2)-1))
		}
	}
	return out
}

// find returns the indexes at which a new level begins, in ascending order, after all values. The
// parameters resolution and level are those of [changepoint.NewDetector].
func find(values []float64, resolution, level float64) []int {
	d := changepoint.NewDetector(level, resolution)
	for _, v := range values {
		d.Add(v)
	}
	var found []int
	for _, c := range d.Changes {
		found = append(found, c.At)
	}
	return found
}

// ExampleDetector follows a metric whose level rises in the ninth night.
func ExampleDetector() {
	d := changepoint.NewDetector(0.001, 0)
	for _, v := range []float64{5, 6, 5, 5, 6, 5, 6, 5, 9, 8, 9, 9, 8, 9, 8, 9} {
		d.Add(v)
	}
	for _, c := range d.Changes {
		fmt.Println(c.At)
	}
	// Output: 8
}

func TestFind(t *testing.T) {
	wild := levels(30, 100, 30, 110)
	wild[10], wild[45] = 5000, -3000
	for _, tt := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"none", nil, nil},
		{"too short", levels(5, 100), nil},
		{"level", levels(60, 100), nil},
		{"all the same", make([]float64, 60), nil},
		{"a step", levels(30, 100, 30, 110), []int{30}},
		{"a step down", levels(30, 110, 30, 100), []int{30}},
		{"no noise", append(make([]float64, 30), 1, 1, 1, 1, 1, 1, 1, 1), []int{30}},
		{"mended later", levels(40, 100, 20, 110, 40, 100), []int{40, 60}},
		{"two steps", levels(30, 100, 30, 110, 30, 120), []int{30, 60}},
		{"the newest five", levels(55, 100, 5, 120), []int{55}},
		{"two wild nights", wild, []int{30}},
		{"one wild night", append(levels(30, 100), append([]float64{9000}, levels(30, 100)...)...), nil},
		{"huge", levels(30, 1e15, 30, 2e15), []int{30}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := find(tt.values, 0, 0.001)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindIsOfNoUnit: the changes are the same whether the values are in bytes, in GiB or in any
// other unit.
func TestFindIsOfNoUnit(t *testing.T) {
	values := levels(40, 100, 20, 103, 40, 100)
	want := find(values, 0, 0.001)
	for _, unit := range []float64{1e-12, 1024, -1, 1e12} {
		scaled := make([]float64, len(values))
		for i, v := range values {
			scaled[i] = 7*unit + v*unit
		}
		if diff := cmp.Diff(want, find(scaled, 0, 0.001)); diff != "" {
			t.Errorf("in units of %g (-want +got):\n%s", unit, diff)
		}
	}
}

// TestNewest: the first values of a new level are enough if the step is large beside the noise.
func TestNewest(t *testing.T) {
	for _, tt := range []struct {
		name       string
		values     []float64
		resolution float64
		want       []int
	}{
		{"too few before", levels(3, 100, 6, 500), 0, []int{3}},
		{"level", levels(30, 100), 0, nil},
		{"one night", levels(30, 100, 1, 120), 0, []int{30}},
		{"one night, lower", levels(30, 100, 1, 80), 0, []int{30}},
		{"four nights", levels(30, 100, 4, 120), 0, []int{30}},
		{"within the noise", levels(30, 100, 1, 102), 0, nil},
		{"no noise", append(make([]float64, 10), 5), 0, []int{10}},
		{"only rounding noise", append(make([]float64, 10), 5), 3, nil},
		{"longer ago", levels(30, 100, 12, 120), 0, []int{30}},
		{"halved after six of ten runs", levels(6, 100, 4, 50), 0, []int{6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := find(tt.values, tt.resolution, 0.001)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{7}, 7}} {
		if got := shape.Median(tt.values); got != tt.want {
			t.Errorf("Median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
	if got := shape.Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of none = %v, want NaN", got)
	}
}
