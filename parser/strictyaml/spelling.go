package strictyaml

import (
	"fmt"
	"strings"
)

// Meant returns ` (did you mean "x"?)`, where x is the result of [Nearest] for a misspelt name. It
// returns "" if no name is near.
func Meant(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// Nearest returns the name in names that has the smallest [Distance] to a misspelt name. It returns
// "" if this distance is more than about a third of the misspelt name's length.
func Nearest(name string, names []string) string {
	best, least := "", min(len(name)/3+1, len(name)-1)
	for _, n := range names {
		if d := Distance(strings.ToLower(name), strings.ToLower(n)); d <= least && (best == "" ||
			d < least) {
			best, least = n, d
		}
	}
	return best
}

// Distance returns how many letters must be inserted, deleted, replaced or swapped with their
// neighbour to turn a into b (optimal string alignment).
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
