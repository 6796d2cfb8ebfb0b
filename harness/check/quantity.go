package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"vramsoak/parser/record"
)

// Quantity returns a value with its unit, for people: "7.23 GiB", "97.5 %", "12.4 s", "31.2 x real
// time", "4.00 MiB/file", "3". The unit is one of metrics or findings.
func Quantity(value float64, unit string) string {
	for _, per := range []string{PerFile, PerReading} {
		if of, is := strings.CutSuffix(unit, per); is {
			return rateOf(value, of) + per
		}
	}
	switch unit {
	case Bytes:
		const most = 1<<63 - 1024 // the largest float64 that fits into an int64
		return record.FormatBytes(int64(math.Round(max(-most, min(most, value)))))
	case Ratio:
		return strconv.FormatFloat(100*value, 'f', 1, 64) + " %"
	case Seconds:
		return significant(value) + " s"
	case TimesRealTime:
		return significant(value) + " " + TimesRealTime
	}
	return strconv.FormatFloat(math.Round(value*1e3)/1e3+0, 'f', -1, 64)
}

// rateOf returns the growth of a value from one file, or one reading, to the next, with its unit.
// It prints ratios and counts with more digits than Quantity does, because they grow by little.
func rateOf(value float64, unit string) string {
	switch unit {
	case Ratio:
		return strconv.FormatFloat(math.Round(100*value*1e4)/1e4+0, 'f', -1, 64) + " %"
	case Count:
		return strconv.FormatFloat(math.Round(value*1e3)/1e3+0, 'f', -1, 64)
	}
	return Quantity(value, unit)
}

// Change returns a relative difference for people: "+5.3 %", "-1.0 %". If the new value is at least
// ten times the old one, it returns the factor: "x 202".
func Change(share float64) string {
	if share >= 9 {
		return "x " + strconv.FormatFloat(share+1, 'f', 0, 64)
	}
	percent := fmt.Sprintf("%+.1f %%", 100*share)
	if percent == "+0.0 %" || percent == "-0.0 %" {
		return percent[1:] // a sign would say that something changed
	}
	return percent
}

// significant returns a value with three significant digits and without an exponent: "0.0124",
// "12.4", "1240".
func significant(value float64) string {
	digits := 2
	if value != 0 && !math.IsInf(value, 0) {
		digits -= int(math.Floor(math.Log10(math.Abs(value))))
	}
	return strconv.FormatFloat(value, 'f', min(max(digits, 0), 9), 64)
}

// Grouped returns a decimal number with commas between its thousands: "45,000".
func Grouped(digits string) string {
	sign, fraction := "", ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	if point := strings.IndexByte(digits, '.'); point >= 0 {
		digits, fraction = digits[:point], digits[point:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits + fraction
}

// Plural returns the number with its noun: "1 file" or "60 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Grain returns the smallest difference between two values that means anything in the given unit.
// For bytes it is 512, because PyTorch rounds allocations up to 512 bytes (kMinBlockSize in
// CUDACachingAllocator.cpp).
func Grain(unit string) float64 {
	switch unit {
	case Bytes:
		return 512
	case Seconds:
		return 1e-3
	}
	return 1e-6
}

// rounded returns a value without the digits that come only from floating-point arithmetic.
func rounded(v float64, unit string) float64 {
	digit := Grain(unit) / (1 << 20)
	return math.Round(v/digit)*digit + 0 // never -0
}
