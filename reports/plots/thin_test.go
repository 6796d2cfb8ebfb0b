package plots

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestThin thins random lines. Each column keeps its lowest and highest reading, in the order of
// the line, and at most four points in all.
func TestThin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		points := make([]Point, 1+rng.IntN(2000))
		x := 0.0
		for i := range points {
			if rng.IntN(3) > 0 { // readings may share a time
				x += rng.ExpFloat64()
			}
			points[i] = Point{x, rng.NormFloat64()}
		}
		columns := 1 + rng.IntN(300)
		thinned := Thin(points, columns)
		if len(thinned) > 4*columns {
			t.Fatalf("%d of %d points are left in %d columns", len(thinned), len(points), columns)
		}
		rest := points
		for _, p := range thinned {
			at := slices.Index(rest, p)
			if at < 0 {
				t.Fatalf("%v is not a point of the line, or is out of order", p)
			}
			rest = rest[at+1:]
		}
		lows, highs := Envelope(points, columns)
		width := (points[len(points)-1].X - points[0].X) / float64(columns)
		for column := range columns {
			from := points[0].X + float64(column)*width
			var in []float64
			for _, p := range points {
				if p.X >= from+1e-9 && p.X < from+width-1e-9 {
					in = append(in, p.Y)
				}
			}
			if len(in) == 0 {
				continue
			}
			low, high := slices.Min(in), slices.Max(in)
			within := func(p Point) bool { return p.X >= from-1e-9 && p.X <= from+width+1e-9 }
			for name, set := range map[string][]Point{
				"thin":     thinned,
				"envelope": append(slices.Clone(lows), highs...),
			} {
				if !slices.ContainsFunc(set, func(p Point) bool {
					return within(p) && p.Y <= low
				}) {
					t.Fatalf("%s lost the low of column %d", name, column)
				}
				if !slices.ContainsFunc(set, func(p Point) bool {
					return within(p) && p.Y >= high
				}) {
					t.Fatalf("%s lost the high of column %d", name, column)
				}
			}
		}
	}
}

func TestThinKeepsFewPoints(t *testing.T) {
	points := []Point{{0, 1}, {1, 5}, {1, 0}, {2, 3}}
	if got := Thin(points, 10); !slices.Equal(got, points) {
		t.Errorf("thin changed a short line: %v", got)
	}
}
