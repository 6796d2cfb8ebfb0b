package reports

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestThin thins random lines: whatever the line, each column keeps its lowest and highest reading, in the order of the
// line, and no more is left than four points a column.
func TestThin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		points := make([]point, 1+rng.IntN(2000))
		x := 0.0
		for i := range points {
			if rng.IntN(3) > 0 { // readings may share a time
				x += rng.ExpFloat64()
			}
			points[i] = point{x, rng.NormFloat64()}
		}
		columns := 1 + rng.IntN(300)
		thinned := thin(points, columns)
		if len(thinned) > 4*columns {
			t.Fatalf("%d points of %d are left at %d columns", len(thinned), len(points), columns)
		}
		rest := points
		for _, p := range thinned {
			at := slices.Index(rest, p)
			if at < 0 {
				t.Fatalf("%v is not of the line, or out of its order", p)
			}
			rest = rest[at+1:]
		}
		lows, highs := envelope(points, columns)
		width := (points[len(points)-1].x - points[0].x) / float64(columns)
		for column := range columns {
			from := points[0].x + float64(column)*width
			var in []float64
			for _, p := range points {
				if p.x >= from+1e-9 && p.x < from+width-1e-9 {
					in = append(in, p.y)
				}
			}
			if len(in) == 0 {
				continue
			}
			low, high := slices.Min(in), slices.Max(in)
			within := func(p point) bool { return p.x >= from-1e-9 && p.x <= from+width+1e-9 }
			for name, set := range map[string][]point{"thin": thinned, "envelope": append(slices.Clone(lows), highs...)} {
				if !slices.ContainsFunc(set, func(p point) bool { return within(p) && p.y <= low }) {
					t.Fatalf("%s lost the low of column %d", name, column)
				}
				if !slices.ContainsFunc(set, func(p point) bool { return within(p) && p.y >= high }) {
					t.Fatalf("%s lost the high of column %d", name, column)
				}
			}
		}
	}
}

func TestThinKeepsFewPoints(t *testing.T) {
	points := []point{{0, 1}, {1, 5}, {1, 0}, {2, 3}}
	if got := thin(points, 10); !slices.Equal(got, points) {
		t.Errorf("thin changed a short line: %v", got)
	}
}
