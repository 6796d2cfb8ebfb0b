package plots

import (
	"slices"
)

// A Point is one reading on a plot: x in seconds or checkpoints, y in bytes.
type Point struct{ X, Y float64 }

// Thin returns the points that suffice to draw a line when the plot is `columns` pixels wide. In
// each column these are the first, the lowest, the highest and the last point. The points must be
// sorted by x.
func Thin(points []Point, columns int) []Point {
	if len(points) <= 4*columns {
		return points
	}
	var out []Point
	for column := range byColumn(points, columns) {
		low, high := Extremes(column)
		keep := []int{0, low, high, len(column) - 1}
		slices.Sort(keep)
		for _, i := range slices.Compact(keep) {
			out = append(out, column[i])
		}
	}
	return out
}

// Envelope returns the lowest and the highest point of each column. It leaves out columns without
// points.
func Envelope(points []Point, columns int) (lows, highs []Point) {
	for column := range byColumn(points, columns) {
		low, high := Extremes(column)
		lows = append(lows, column[low])
		highs = append(highs, column[high])
	}
	return lows, highs
}

// byColumn yields the points of each column. It leaves out columns without points. All columns are
// equally wide.
func byColumn(points []Point, columns int) func(yield func([]Point) bool) {
	return func(yield func([]Point) bool) {
		if len(points) == 0 {
			return
		}
		first, last := points[0].X, points[len(points)-1].X
		of := func(p Point) int {
			if last <= first {
				return 0
			}
			return min(columns-1, int((p.X-first)/(last-first)*float64(columns)))
		}
		for len(points) > 0 {
			n := 1
			for n < len(points) && of(points[n]) == of(points[0]) {
				n++
			}
			if !yield(points[:n]) {
				return
			}
			points = points[n:]
		}
	}
}

// Extremes returns the indices of the lowest and the highest point. If several points are equal, it
// returns the first of them.
func Extremes(points []Point) (low, high int) {
	for i, p := range points {
		if p.Y < points[low].Y {
			low = i
		}
		if p.Y > points[high].Y {
			high = i
		}
	}
	return low, high
}
