package allocator

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The functions below convert texts as C++ does: they read the longest number at the beginning of a
// text and ignore the rest, so "64MB" is 64. Their error message is only the name of the C++
// function, such as "stoi", because PyTorch's message is the same.

// stoi converts like std::stoi.
func stoi(s string) (n int64, mistake string) {
	neg, digits := cInteger(s)
	if digits == "" {
		return 0, "stoi"
	}
	u, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil, neg && u > -math.MinInt32, !neg && u > math.MaxInt32:
		return 0, "stoi"
	case neg:
		return -int64(u), ""
	}
	return int64(u), ""
}

// stoul converts like std::stoul, which accepts a sign too: "-1" is the largest number.
func stoul(s string) (n uint64, mistake string) {
	neg, digits := cInteger(s)
	u, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, "stoul"
	}
	if neg {
		u = -u
	}
	return u, ""
}

// stod converts like std::stod.
func stod(s string) (f float64, mistake string) {
	number := cFloat(strings.TrimLeft(s, cSpace))
	if number == "" {
		return 0, "stod"
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, "stod"
	}
	if math.Abs(f) < 0x1p-1022 && !exact(number, f) {
		return 0, "stod" // ERANGE: too small to be exact
	}
	return f, ""
}

const cSpace = " \t\n\v\f\r" // what isspace accepts

// cInteger returns the sign and the digits of the whole number at the beginning of a text.
func cInteger(s string) (neg bool, digits string) {
	s = strings.TrimLeft(s, cSpace)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	return neg, s[:span(s, "0123456789")]
}

// cFloat returns the number at the beginning of a text, as C's strtod finds it, in a form that Go
// can read: "0x1" becomes "0x1p0". It returns "" if there is no number.
func cFloat(s string) string {
	sign := ""
	rest := s
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[:1], rest[1:]
	}
	lower := strings.ToLower(rest)
	switch {
	case strings.HasPrefix(lower, "inf"):
		return sign + "inf"
	case strings.HasPrefix(lower, "nan"):
		return "nan"
	}
	digits, exponent, prefix := "0123456789", "e", ""
	if strings.HasPrefix(lower, "0x") {
		hex := "0123456789abcdef"
		if n := span(lower[2:], hex); n > 0 || len(lower) > 3 && lower[2] == '.' && span(lower[3:],
			hex) > 0 {
			digits, exponent, prefix = hex, "p", "0x"
			lower = lower[2:]
		}
	}
	n := span(lower, digits)
	count := n
	if n < len(lower) && lower[n] == '.' {
		fraction := span(lower[n+1:], digits)
		count += fraction
		if count > 0 {
			n += 1 + fraction
		}
	}
	if count == 0 {
		return ""
	}
	number := lower[:n]
	if rest := lower[n:]; strings.HasPrefix(rest, exponent) {
		at := 1
		if len(rest) > 1 && (rest[1] == '-' || rest[1] == '+') {
			at = 2
		}
		if d := span(rest[at:], "0123456789"); d > 0 {
			return sign + prefix + number + rest[:at+d]
		}
	}
	if prefix != "" {
		number += "p0" // Go requires an exponent
	}
	return sign + prefix + number
}

// exact reports whether the number in a text that cFloat returned equals f exactly. stod uses it
// for numbers below 2^-1022.
func exact(number string, f float64) bool {
	if f == 0 {
		mantissa, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(number, "+-"), "0x"), "p")
		if !strings.Contains(number, "0x") {
			mantissa, _, _ = strings.Cut(mantissa, "e")
		}
		return strings.Trim(mantissa, "0.") == ""
	}
	b, _, err := big.ParseFloat(number, 0, 4096, big.ToNearestEven)
	return err == nil && b.Cmp(big.NewFloat(f)) == 0
}

// span returns the length of the longest beginning of s that has only bytes of set.
func span(s, set string) int {
	n := 0
	for n < len(s) && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return n
}
