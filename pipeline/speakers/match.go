package speakers

import "math"

// match pairs rows with columns so that the sum of the pairs' weights is as large as possible. It
// returns the column of each row, or -1 for a row without a column. Weights are 0 or more; match
// leaves out pairs with weight 0.
//
// It is the Hungarian algorithm, in time O(n^2 m) for n rows and m columns, or the other way round
// if there are fewer columns: H. Kuhn, "The Hungarian method for the assignment problem", Naval
// Research Logistics Quarterly 2 (1955), with potentials and shortest augmenting paths (R. Jonker
// and A. Volgenant, Computing 38, 1987).
func match(weights [][]float64) []int {
	rows := len(weights)
	columns := 0
	if rows > 0 {
		columns = len(weights[0])
	}
	at := func(r, c int) float64 { return weights[r][c] }
	n, m := rows, columns
	if rows > columns {
		n, m = columns, rows
		at = func(r, c int) float64 { return weights[c][r] }
	}
	// Rows and columns are numbered from 1. Column 0 holds the row that is being paired.
	var (
		u, v  = make([]float64, n+1), make([]float64, m+1) // potentials
		row   = make([]int, m+1)                           // the row paired with each column
		from  = make([]int, m+1)                           // the column before, on the path
		least = make([]float64, m+1)
		used  = make([]bool, m+1)
	)
	for r := 1; r <= n; r++ {
		row[0] = r
		for c := range least {
			least[c], used[c] = math.Inf(1), false
		}
		here := 0
		for row[here] != 0 {
			used[here] = true
			next, step := 0, math.Inf(1)
			for c := 1; c <= m; c++ {
				if used[c] {
					continue
				}
				if cost := -at(row[here]-1, c-1) - u[row[here]] - v[c]; cost < least[c] {
					least[c], from[c] = cost, here
				}
				if least[c] < step {
					next, step = c, least[c]
				}
			}
			for c := range used {
				if used[c] {
					u[row[c]] += step
					v[c] -= step
				} else {
					least[c] -= step
				}
			}
			here = next
		}
		for here != 0 {
			row[here] = row[from[here]]
			here = from[here]
		}
	}
	pairs := make([]int, rows)
	for r := range pairs {
		pairs[r] = -1
	}
	for c := 1; c <= m; c++ {
		switch {
		case row[c] == 0 || at(row[c]-1, c-1) <= 0:
		case rows > columns:
			pairs[c-1] = row[c] - 1
		default:
			pairs[row[c]-1] = c - 1
		}
	}
	return pairs
}
