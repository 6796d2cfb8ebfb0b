package shape

import (
	"math"
	"testing"
)

func TestSlows(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
		at   func(i int) float64
	}{
		{"a leak", false, func(i int) float64 { return float64(i) }},
		{"a leak that is missing in places", false, func(i int) float64 {
			if i%7 == 3 {
				return math.NaN()
			}
			return float64(i)
		}},
		{"a leak in every fifth file", false, func(i int) float64 { return float64(i / 5) }},
		{"a leak that becomes faster", false, func(i int) float64 { return float64(i * i) }},
		{"a cache that is full after 42 files", true, func(i int) float64 { return float64(min(i, 42)) }},
		{"arenas of 32 threads", true, func(i int) float64 { return 1 - math.Exp(-float64(i)/32) }},
		{"the largest file so far", true, func(i int) float64 { return math.Log(float64(i + 1)) }},
		{"flat", false, func(int) float64 { return 1 }},
	} {
		for _, n := range []int{12, 30, 60, 61} {
			scale := 60 / float64(n)
			got := Slows(made(n, func(i int) float64 { return c.at(int(float64(i) * scale)) }))
			if got != c.want && n >= 30 {
				t.Errorf("%s, %d files: slows is %v", c.name, n, got)
			}
		}
	}
	if Slows([]float64{1, 2, 3, 3, 3}) {
		t.Error("five values are too few to slow down")
	}
}
