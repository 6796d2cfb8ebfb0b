package lex

import (
	"bytes"
	"math"

	"vramsoak/parser/record"
)

// A Decimal is a number as a log prints it: Digits / 10^Decimals. "7.23" has the Digits 723 and 2
// Decimals. "3.18e+04" has the Digits 318 and -2 Decimals, because it is 318 * 10^2.
type Decimal struct {
	Digits   int64
	Decimals int
}

// CutNumber cuts a number, with or without a sign, off the beginning of the text. ok is false if
// the text does not begin with a number, or if the number has more than 18 digits before its point.
// CutNumber keeps 18 digits and drops the decimals behind them.
func CutNumber(text []byte) (n Decimal, rest []byte, ok bool) {
	i, count := 0, 0
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		i++
	}
	for ; i < len(text) && IsDigit(text[i]); i++ {
		if count++; count > 18 {
			return Decimal{}, text, false
		}
		n.Digits = n.Digits*10 + int64(text[i]-'0')
	}
	if i < len(text) && text[i] == '.' && (count > 0 || i+1 < len(text) && IsDigit(text[i+1])) {
		for i++; i < len(text) && IsDigit(text[i]); i++ {
			if count++; count <= 18 {
				n.Digits = n.Digits*10 + int64(text[i]-'0')
				n.Decimals++
			}
		}
	}
	if negative {
		n.Digits = -n.Digits
	}
	return n, text[i:], count > 0
}

// Times returns the size of n units of `unit` bytes each. The resolution is half of one unit of the
// last printed digit, or 0 if the unit is a byte. ok is false if the size is 4 EiB or more.
func (n Decimal) Times(unit int64) (s record.Size, ok bool) {
	if n, unit, ok = n.whole(unit); !ok {
		return record.Size{}, false
	}
	if n.Digits >= 0 && n.Digits < 1<<24 && n.Decimals <= 9 && unit <= record.GiB { // nearly always
		half := unit / 2
		switch n.Decimals { // dividing by a constant is faster
		case 0:
			s.Bytes, s.Resolution = n.Digits*unit, half
		case 1:
			s.Bytes, s.Resolution = (n.Digits*unit+5)/10, half/10
		case 2:
			s.Bytes, s.Resolution = (n.Digits*unit+50)/100, half/100
		default:
			p := pow10int[n.Decimals]
			s.Bytes, s.Resolution = (n.Digits*unit+p/2)/p, half/p
		}
		return s, true
	}
	scale := Pow10[n.Decimals]
	// Digits and scale are exact floats, so the quotient is the float nearest to the printed number.
	scaled := float64(n.Digits) / scale * float64(unit)
	if math.Abs(scaled) >= 1<<62 {
		return record.Size{}, false
	}
	s.Bytes = int64(math.Round(scaled))
	if unit > 1 {
		s.Resolution = int64(float64(unit) / 2 / scale)
	}
	return s, true
}

// whole returns n units as a number of larger units, so that the number has no negative Decimals.
// For example, 3.18e+04 MiB is 318 units of 100 MiB. It returns the number and the larger unit in
// bytes. ok is false if the larger unit is 4 EiB or more.
func (n Decimal) whole(unit int64) (Decimal, int64, bool) {
	for ; n.Decimals < 0; n.Decimals++ {
		if unit >= 1<<62/10 {
			return n, unit, false
		}
		unit *= 10
	}
	return n, unit, true
}

var pow10int = [10]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// Pow10 holds the powers of ten from 10^0 to 10^18.
var Pow10 = func() (p [19]float64) {
	for i := range p {
		p[i] = math.Pow10(i)
	}
	return p
}()

// Decimal units, in bytes, for the few programs that count in powers of 1000.
const (
	kB = int64(1e3)
	mB = int64(1e6)
	GB = int64(1e9)
)

// CutUnit cuts blanks and a unit off the beginning of the text: "GB", "GiB", "MB", "bytes", in
// upper or lower case. It returns the unit in bytes, or 0 if the text does not begin with a unit.
// GB counts as GiB, because the programs that print it divide by powers of 1024.
func CutUnit(text []byte) (unit int64, rest []byte) {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	end := 0
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	word := text[:end]
	switch {
	case end == 0:
		return 0, text
	case end == 1 || end == 2 && word[1]|0x20 == 'b' ||
		end == 3 && word[1]|0x20 == 'i' && word[2]|0x20 == 'b':
		switch word[0] | 0x20 {
		case 'b':
			if end == 1 {
				return 1, text[1:]
			}
		case 'k':
			return record.KiB, text[end:]
		case 'm':
			return record.MiB, text[end:]
		case 'g':
			return record.GiB, text[end:]
		case 't':
			return record.TiB, text[end:]
		}
	case bytes.EqualFold(word, []byte("bytes")), bytes.EqualFold(word, []byte("byte")):
		return 1, text[end:]
	}
	return 0, text
}

// CutSize cuts blanks, a number and its unit off the beginning of the text. Units are powers of
// 1024. If the number has no unit, its unit has `bare` bytes. If bare is 0, a number without a unit
// is no size, and ok is false.
func CutSize(text []byte, bare int64) (s record.Size, rest []byte, ok bool) {
	n, rest, ok := CutNumber(TrimBlanks(text))
	if !ok {
		return record.Size{}, text, false
	}
	unit, behind := CutUnit(rest)
	if unit == 0 {
		unit, behind = bare, rest
	}
	if unit == 0 {
		return record.Size{}, text, false
	}
	s, ok = n.Times(unit)
	return s, behind, ok
}

// CutDecimalUnit is [CutUnit] for programs whose kB, MB, GB and TB are powers of 1000. Only KiB,
// MiB, GiB and TiB remain powers of 1024.
func CutDecimalUnit(text []byte) (unit int64, rest []byte) {
	unit, rest = CutUnit(text)
	if len(bytes.TrimSpace(text[:len(text)-len(rest)])) == 3 {
		return unit, rest
	}
	switch unit {
	case record.KiB:
		unit = kB
	case record.MiB:
		unit = mB
	case record.GiB:
		unit = GB
	case record.TiB:
		unit = 1000 * GB
	}
	return unit, rest
}

// CutDecimalSize is [CutSize] with the units of [CutDecimalUnit]. ok is false for a number without
// a unit.
func CutDecimalSize(text []byte) (s record.Size, rest []byte, ok bool) {
	n, behind, ok := CutNumber(TrimBlanks(text))
	if !ok {
		return record.Size{}, text, false
	}
	unit, rest := CutDecimalUnit(behind)
	if unit == 0 {
		return record.Size{}, text, false
	}
	s, ok = n.Times(unit)
	return s, rest, ok
}

// CutRounded is [CutSize] for a number that a Python program rounded to the given number of
// decimals. Python drops zeros at the end, so round(x, 2) prints 1.70 as "1.7". CutRounded adds
// these zeros again, because the resolution depends on them.
func CutRounded(text []byte, decimals int) (s record.Size, rest []byte, ok bool) {
	n, rest, ok := CutNumber(TrimBlanks(text))
	unit, rest := CutUnit(rest)
	if !ok || unit == 0 || n.Digits < 0 {
		return record.Size{}, text, false
	}
	s, ok = n.Rounded(decimals).Times(unit)
	return s, rest, ok
}

// Rounded returns the number with at least the given number of decimals: 1.7 becomes 1.70. A number
// with negative Decimals, such as 3.18e+04, stays as it is.
func (n Decimal) Rounded(decimals int) Decimal {
	for n.Decimals >= 0 && n.Decimals < decimals && n.Digits < 1e15 && n.Digits > -1e15 {
		n.Digits *= 10
		n.Decimals++
	}
	return n
}

// CutFloored reads a size that a program rounded down to a whole number of units. The true size
// behind "5624 MiB" is between 5624 and 5625 MiB. CutFloored returns the middle of this range,
// with a resolution that makes Low and High its two ends. If the unit is a byte, the size is
// exact.
func CutFloored(text []byte) (s record.Size, ok bool) {
	n, rest, ok := CutNumber(bytes.TrimSpace(text))
	unit, _ := CutUnit(rest)
	if !ok || unit == 0 || n.Decimals > 0 {
		return record.Size{}, false
	}
	return Floored(n, unit)
}

// Floored returns the size of n units that a program rounded down, see [CutFloored].
func Floored(n Decimal, unit int64) (s record.Size, ok bool) {
	if n, unit, ok = n.whole(unit); !ok {
		return record.Size{}, false
	}
	n.Digits, n.Decimals = n.Digits/int64(Pow10[n.Decimals]), 0
	s, ok = n.Times(unit)
	if ok && unit > 1 {
		s.Bytes += unit / 2
	}
	return s, ok
}

// CutFloat is [CutNumber] for a number that may have an exponent, as Python prints it:
// "15492.84619140625", "4.76837158203125e-07", "3.18e+04".
func CutFloat(text []byte) (n Decimal, rest []byte, ok bool) {
	n, rest, ok = CutNumber(text)
	if !ok || len(rest) < 3 || rest[0] != 'e' ||
		rest[1] != '-' && rest[1] != '+' {
		return n, rest, ok
	}
	power, behind, isNumber := CutInt(rest[2:])
	if !isNumber {
		return n, rest, ok
	}
	if rest[1] == '+' {
		n.Decimals -= power
		return n, behind, true
	}
	for n.Decimals += power; n.Decimals >= len(Pow10) && n.Digits != 0; n.Decimals-- {
		n.Digits /= 10
	}
	n.Decimals = min(n.Decimals, len(Pow10)-1)
	return n, behind, true
}

// CutInt cuts a whole number of at most nine digits, such as a device or a rank, off the text.
func CutInt(text []byte) (n int, rest []byte, ok bool) {
	i := 0
	for ; i < len(text) && IsDigit(text[i]) && i < 9; i++ {
		n = n*10 + int(text[i]-'0')
	}
	if i == 0 || i < len(text) && IsDigit(text[i]) {
		return 0, text, false
	}
	return n, text[i:], true
}

// CutGrouped cuts a whole number with commas off the text: "1,234,567".
func CutGrouped(text []byte) (n int64, rest []byte, ok bool) {
	i, digits := 0, 0
	for ; i < len(text) && (IsDigit(text[i]) || text[i] == ',' && i+1 < len(text) &&
		IsDigit(text[i+1])); i++ {
		if text[i] == ',' {
			continue
		}
		if digits++; digits > 18 {
			return 0, text, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:], digits > 0
}

// TrailingNumber returns the offset of the number at the end of the text. It returns len(text) if
// the text does not end with a number.
func TrailingNumber(text []byte) int {
	i := len(text)
	for i > 0 && (IsDigit(text[i-1]) || text[i-1] == '.' || text[i-1] == ',') {
		i--
	}
	return i
}

// BeginsWithNumber reports whether the text begins with a number.
func BeginsWithNumber(text []byte) bool {
	_, _, ok := CutNumber(text)
	return ok
}
