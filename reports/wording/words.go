// Package wording has the words and figures that all reports share: counts, sizes, shares, the names
// of lanes and quantities, a finding's numbers, and the line that sums up a run or a comparison.
package wording

import (
	"strconv"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// HasDate says that a time of a timeline is of a known day. [parser.Build] counts the others from the year 0 on.
func HasDate(t time.Time) bool { return t.Year() >= 1970 }

// Bytes prints a size in IEC units: "7.23 GiB".
func Bytes(value float64) string { return check.Quantity(value, check.Bytes) }

// Count prints a count with its thousands set apart: "45,000".
func Count(n int) string { return check.Grouped(strconv.Itoa(n)) }

// Plural is "1 file" or "60 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Pad fills a cell with blanks to a width in columns of a terminal. It does not cut a wider one.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-twwidth.Width(s)))
}

// Shorten cuts text to at most n runes, with an ellipsis in the place of what is cut.
func Shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return strings.TrimRight(string(runes[:max(0, n-3)]), " ") + "..."
}

// ShortenPath cuts a path's front: what tells files apart stands at the end.
func ShortenPath(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return "..." + string(runes[len(runes)-max(0, n-3):])
}

// Quantity is a quantity in words.
func Quantity(q record.Quantity) string {
	if q == record.Used {
		return "device used"
	}
	return q.String()
}

// Lane names a lane: "device 1", and with its rank where there are several.
func Lane(l record.Lane) string {
	return l.Name(l.Rank != 0)
}

// Share prints a ratio in percent: "97.5 %".
func Share(ratio float64) string { return check.Quantity(ratio, check.Ratio) }
