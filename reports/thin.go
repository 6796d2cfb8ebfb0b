package reports

import (
	"slices"
)

// A point is one reading on a plot: x in seconds or checkpoints, y in bytes.
type point struct{ x, y float64 }

// thin keeps what a line through the points shows at a width of so many columns: in each column its first, lowest,
// highest and last point, in the order of the line. No extreme is lost, and at most 4 points a column are left. The points
// are in the order of their x.
func thin(points []point, columns int) []point {
	if len(points) <= 4*columns {
		return points
	}
	var out []point
	for column := range byColumn(points, columns) {
		low, high := extremes(column)
		keep := []int{0, low, high, len(column) - 1}
		slices.Sort(keep)
		for _, i := range slices.Compact(keep) {
			out = append(out, column[i])
		}
	}
	return out
}

// envelope is the lowest and the highest point of each column that has any, each where it was read.
func envelope(points []point, columns int) (lows, highs []point) {
	for column := range byColumn(points, columns) {
		low, high := extremes(column)
		lows = append(lows, column[low])
		highs = append(highs, column[high])
	}
	return lows, highs
}

// byColumn ranges over the points of each column of equal width that has any.
func byColumn(points []point, columns int) func(yield func([]point) bool) {
	return func(yield func([]point) bool) {
		if len(points) == 0 {
			return
		}
		first, last := points[0].x, points[len(points)-1].x
		of := func(p point) int {
			if last <= first {
				return 0
			}
			return min(columns-1, int((p.x-first)/(last-first)*float64(columns)))
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

// extremes are the indices of the lowest and the highest point, the first of each where several are.
func extremes(points []point) (low, high int) {
	for i, p := range points {
		if p.y < points[low].y {
			low = i
		}
		if p.y > points[high].y {
			high = i
		}
	}
	return low, high
}
