package lex

import (
	"math"
	"strings"
)

// CutDuration cuts a length of time off the beginning of the text, in seconds: "12.3s", "2m 8s",
// "2m8s", "1 h 2 min", "900ms", "12:34.567", "01:02:50,572". A number without a unit is none.
func CutDuration(text []byte) (seconds float64, rest []byte, ok bool) {
	if seconds, rest, ok = cutClock(text); ok {
		return seconds, rest, true
	}
	for rest = text; ; {
		n, behind, isNumber := CutNumber(TrimBlanks(rest))
		unit := timeUnit().FindSubmatchIndex(FirstBytes(behind, 16))
		if !isNumber || n.Digits < 0 || unit == nil {
			return seconds, rest, ok
		}
		seconds += n.Float() * timeUnits[strings.ToLower(string(behind[unit[2]:unit[3]]))]
		rest, ok = behind[unit[3]:], true
	}
}

// timeUnit matches a unit of time behind a number.
var timeUnit = Expression(
	`(?i)^ ?(ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?:$|[^A-Za-z])`)

// timeUnits are the units of time in seconds.
var timeUnits = map[string]float64{
	"ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60,
	"mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600,
	"hours": 3600,
}

// cutClock cuts a length of time in the form of a clock off the text: "12:34", "01:02:50.572". The
// first field may have more than two digits: "75:00" are 75 minutes.
func cutClock(text []byte) (seconds float64, rest []byte, ok bool) {
	first := CountDigits(FirstBytes(text, 5))
	if first == 0 || first > 4 {
		return 0, text, false
	}
	total, fields := ParseDigits(text[:first]), 1
	rest = text[first:]
	for ; fields < 3 && len(rest) > 2 && rest[0] == ':'; fields++ {
		if CountDigits(FirstBytes(rest[1:], 3)) != 2 {
			break
		}
		n := ParseDigits(rest[1:3])
		if n >= 60 {
			return 0, text, false
		}
		total, rest = 60*total+n, rest[3:]
	}
	if fields < 2 {
		return 0, text, false
	}
	seconds = float64(total)
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && IsDigit(rest[1]) {
		digits := CountDigits(FirstBytes(rest[1:], 9))
		seconds += float64(ParseDigits(rest[1:1+digits])) / math.Pow10(digits)
		rest = rest[1+CountDigits(rest[1:]):]
	}
	return seconds, rest, true
}

// Float returns the number as a float.
func (n Decimal) Float() float64 { return float64(n.Digits) / math.Pow10(n.Decimals) }
