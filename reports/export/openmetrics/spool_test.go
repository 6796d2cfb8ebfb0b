package openmetrics

import (
	"math"
	"os"
	"slices"
	"testing"
)

// TestSpool: a spool gives back the points of each series, whether they fit into memory or not.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, limit := range []int{1 << 20, 64, 0} {
		s := spool{limit: limit}
		a, b := s.newSeries(), s.newSeries()
		var wantA, wantB []point
		for i := range int64(1000) {
			wantA = append(wantA, point{1795140000000 + 10*i, i * i})
			wantB = append(wantB, point{i, math.MaxInt64 - i})
		}
		for i := range wantA {
			for _, err := range []error{s.add(a, wantA[i]), s.add(b, wantB[i])} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, c := range []struct {
			series *points
			want   []point
		}{{a, wantA}, {b, wantB}} {
			var got []point
			if err := s.each(c.series, func(p point) error {
				got = append(got, p)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("limit %d: got %v, want %v", limit, got, c.want)
			}
		}
		if (s.file != nil) != (limit < 1000) {
			t.Errorf("limit %d: a file: %v", limit, s.file != nil)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
}

// TestSpoolTimes: times in a series rise, also where those of the log do not.
func TestSpoolTimes(t *testing.T) {
	s := spool{limit: 1 << 20}
	p := s.newSeries()
	for _, millis := range []int64{0, 0, 5, 3, 3, 100} {
		if err := s.add(p, point{millis, 1}); err != nil {
			t.Fatal(err)
		}
	}
	var got []int64
	if err := s.each(p, func(p point) error {
		got = append(got, p.millis)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []int64{0, 1, 5, 6, 7, 100}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
