package overfiles

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser/timeline"
	"vramsoak/reports/wording"
)

// alike is the largest difference between the values of two series that look the same, as a share
// of the level.
const alike = 0.01

// near is the largest difference between the levels of a stage and a stage in it that show the
// same.
const near = 0.15

// sameSeries reports whether two series of a check show the same. Their values are equal, or go up
// and down together because one is of a stage or cleanup that contains the other: "File" takes the
// memory that "Transcription" in it takes.
func sameSeries(a, b *check.Trend) bool {
	if a.Finding.Check != b.Finding.Check || a.Unit != b.Unit || a.Every != b.Every ||
		!slices.Equal(a.Files, b.Files) || len(a.Values) != len(b.Values) {
		return false
	}
	levelA, levelB := shape.Median(known(a.Values)), shape.Median(known(b.Values))
	level := max(math.Abs(levelA), math.Abs(levelB))
	offset := levelA - levelB
	if math.Abs(offset) > near*level || !nested(a, b) {
		offset = 0
	}
	for i, v := range a.Values {
		w := b.Values[i]
		if math.IsNaN(v) != math.IsNaN(w) || math.Abs(v-w-offset) > alike*level {
			return false
		}
	}
	return true
}

// theSame returns the end of a title, which names the other series with the same values: " on
// devices 1 to 4, 6" or " for 15 others".
func theSame(subject string, same []string) string {
	const most = 2
	base, _, _ := strings.Cut(subject, " (device ")
	var devices []int
	for _, s := range same {
		number, isLane := strings.CutPrefix(s, base+" (device ")
		n, err := strconv.Atoi(strings.TrimSuffix(number, ")"))
		if !isLane || err != nil {
			break
		}
		devices = append(devices, n)
	}
	switch {
	case len(devices) == len(same) && len(same) == 1:
		return " on device " + strconv.Itoa(devices[0])
	case len(devices) == len(same):
		return " on devices " + ranges(devices)
	case len(same) > most:
		return " for " + wording.Count(len(same)) + " others"
	}
	return ": " + strings.Join(same, ", ")
}

// ranges returns sorted numbers in few words: "1 to 4, 6".
func ranges(numbers []int) string {
	var all []string
	slices.Sort(numbers)
	for from, to := 0, 0; from < len(numbers); from = to {
		for to = from + 1; to < len(numbers) && numbers[to] == numbers[to-1]+1; {
			to++
		}
		word := strconv.Itoa(numbers[from])
		if last := numbers[to-1]; to-from > 2 {
			word += " to " + strconv.Itoa(last)
		} else if to-from == 2 {
			word += ", " + strconv.Itoa(last)
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}

// known returns the values that are not missing.
func known(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// nested reports whether the stage or cleanup of one series contains that of the other, in the
// first file that has both.
func nested(a, b *check.Trend) bool {
	for _, f := range a.Files {
		fromA, toA, okA := extent(f, a.Finding.Subject)
		fromB, toB, okB := extent(f, b.Finding.Subject)
		if okA && okB {
			return fromA <= fromB && toB <= toA || fromB <= fromA && toA <= toB
		}
	}
	return false
}

// extent returns the checkpoints before and after the stage or cleanup that a subject names, such
// as "memory of Transcription" or "recovery of Whisper Cleanup (device 1)".
func extent(f *timeline.File, subject string) (from, to int, ok bool) {
	_, of, _ := strings.Cut(subject, " of ")
	names := func(name string) bool { return of == name || strings.HasPrefix(of, name+" (") }
	for _, s := range f.Stages {
		if names(s.Name) {
			return s.Before, s.After, true
		}
	}
	for _, c := range f.Cleanups {
		if names(c.Name) {
			return c.Before, c.After, true
		}
	}
	return 0, 0, false
}
