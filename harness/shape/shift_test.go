package shape

import "testing"

// levels returns a series that has each of the given levels for 20 values. Every second value is
// one unit above its level.
func levels(of ...float64) []float64 {
	return made(20*len(of), func(i int) float64 { return of[i/20] + float64(i%2) })
}

// TestShifted finds the steps from which the series were made. Of the 20 values of a level, half
// are one unit above it, so their median is half a unit above it.
func TestShifted(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Shift
		ok     bool
	}{
		{"nine values", made(9, func(i int) float64 { return float64(i) }), Shift{}, false},
		{"a step up", levels(100, 300), Shift{From: 20, Before: 100.5, After: 300.5, Sure: true}, true},
		{"a step down", levels(300, 100), Shift{}, false},
		{"a step up and back", levels(100, 300, 100), Shift{}, false},
		// The larger step is found first, but the other step makes it unsure. The values before the
		// larger step have one step, which is sure.
		{
			"two steps", levels(100, 200, 310),
			Shift{From: 20, Before: 100.5, After: 255.5, Sure: true},
			true,
		},
	} {
		got, ok := Shifted(c.values)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// TestBegan: Began returns the index of the first higher value.
func TestBegan(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   int
	}{
		{"7 values", []float64{0, 0, 0, 0, 9, 9, 9}, 0},
		{"level", made(40, func(int) float64 { return 5 }), 0},
		{"a line", made(40, func(i int) float64 { return float64(i) }), 0},
		{"10 files of rise", made(40, func(i int) float64 { return min(10, after(i, 10)) }), 11},
		{"10 files of rise, and a spike before", with(made(40, func(i int) float64 {
			return min(10, after(i, 10))
		}), map[int]float64{5: 500}), 11},
		{"a rise to the end", made(40, func(i int) float64 { return after(i, 24) }), 25},
		{"a step", made(40, func(i int) float64 { return min(1, after(i, 14)) }), 15},
		{"10 files of fall", made(40, func(i int) float64 { return -min(10, after(i, 10)) }), 0},
		// In a series of 400 values the blocks have 4 values. The first higher block begins at 200.
		{"400 values", made(400, func(i int) float64 { return min(1, after(i, 199)) }), 200},
	} {
		if got := Began(c.values); got != c.want {
			t.Errorf("%s: began at %d, want %d", c.name, got, c.want)
		}
	}
}
