// Package wording holds the words and numbers that all reports share: counts, sizes, ratios, the
// names of lanes and quantities, a finding's numbers, and the line that sums up a run or a
// comparison.
package wording

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// HasDate reports whether the date of a timeline's time is known. If a log gives no dates,
// [parser.Build] counts its days from the year 0.
func HasDate(t time.Time) bool { return t.Year() >= 1970 }

// Bytes prints a size in IEC units: "7.23 GiB".
func Bytes(value float64) string { return check.Quantity(value, check.Bytes) }

// Count returns a count with a comma between thousands: "45,000".
func Count(n int) string { return check.Grouped(strconv.Itoa(n)) }

// Plural prints a count and its noun: "1 file", "60 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Pad appends blanks to s until it is `width` terminal columns wide. A wider s stays as it is.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-twwidth.Width(s)))
}

// Shorten returns s, cut to at most n runes. Three dots replace the part that was cut off at the
// end.
func Shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return strings.TrimRight(string(runes[:max(0, n-3)]), " ") + "..."
}

// ShortenPath returns a path, cut to at most n runes. Three dots replace the beginning, because
// paths differ at their ends.
func ShortenPath(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return "..." + string(runes[len(runes)-max(0, n-3):])
}

// Quantity names a quantity of memory.
func Quantity(q record.Quantity) string {
	if q == record.Used {
		return "device used"
	}
	return q.String()
}

// Lane names a lane: "device 1", with the rank if it is not 0.
func Lane(l record.Lane) string {
	return l.Name(l.Rank != 0)
}

// Share prints a ratio in percent: "97.5 %".
func Share(ratio float64) string { return check.Quantity(ratio, check.Ratio) }

// Floor prints a ratio in percent and rounds down, so that "at least" stays true: 99.97 % is
// "99.9 %".
func Floor(ratio float64) string { return Share(math.Floor(ratio*1000+1e-9) / 1000) }
