package html

import "strconv"

// missing is the value of a column where a row has no value. No log can contain it, because sizes
// are parsed from decimal digits with a sign.
const missing = -1 << 63

// A column holds one whole number for each row of a table: bytes, milliseconds, an index. Its JSON
// form is an array of differences from one value to the next, because these are small and repeat,
// so that they compress well. A missing value is null and does not count as the one before.
type column []int64

// MarshalJSON implements [json.Marshaler].
func (c column) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 4*len(c)+2)
	out = append(out, '[')
	last := int64(0)
	for i, v := range c {
		if i > 0 {
			out = append(out, ',')
		}
		if v == missing {
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendInt(out, v-last, 10)
		last = v
	}
	return append(out, ']'), nil
}

// keepExtremes returns which rows of a table remain if it is thinned. The rows are divided into
// buckets: those whose numbers, divided by stride, are equal. Each bucket keeps its first and its
// last row, and for each column the rows with the lowest and the highest value. The rows must be in
// the order of their numbers. The parameter marked reports whether a row is special; the first
// special row of each bucket remains too.
func keepExtremes(numbers func(row int) int, rows, stride int, columns []column,
	marked func(row int) bool,
) []bool {
	keep := make([]bool, rows)
	for from, to := 0, 0; from < rows; from = to {
		bucket := numbers(from) / stride
		for to = from + 1; to < rows && numbers(to)/stride == bucket; {
			to++
		}
		keep[from], keep[to-1] = true, true
		for _, c := range columns {
			low, high := -1, -1
			for i := from; i < to; i++ {
				if c[i] == missing {
					continue
				}
				if low < 0 || c[i] < c[low] {
					low = i
				}
				if high < 0 || c[i] > c[high] {
					high = i
				}
			}
			if low >= 0 {
				keep[low], keep[high] = true, true
			}
		}
		for i := from; i < to; i++ {
			if marked(i) {
				keep[i] = true
				break
			}
		}
	}
	return keep
}

// compact returns the elements of s whose rows are kept. It reuses the memory of s.
func compact[S ~[]E, E any](s S, keep []bool) S {
	n := 0
	for i := range s {
		if keep[i] {
			s[n] = s[i]
			n++
		}
	}
	clear(s[n:])
	return s[:n]
}
