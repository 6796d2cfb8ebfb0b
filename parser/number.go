package parser

import (
	"bytes"
	"math"
)

// A decimal is a number as a log prints it: "7.23" is 723 with two decimals.
type decimal struct {
	digits   int64
	decimals int
}

// cutNumber cuts a number, with a sign or without, off the text that begins with it. ok is false where there is none, or
// one of more than 18 digits; decimals behind the eighteenth digit are passed over.
func cutNumber(text []byte) (n decimal, rest []byte, ok bool) {
	i, count := 0, 0
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		i++
	}
	for ; i < len(text) && isDigit(text[i]); i++ {
		if count++; count > 18 {
			return decimal{}, text, false
		}
		n.digits = n.digits*10 + int64(text[i]-'0')
	}
	if i < len(text) && text[i] == '.' && (count > 0 || i+1 < len(text) && isDigit(text[i+1])) {
		for i++; i < len(text) && isDigit(text[i]); i++ {
			if count++; count <= 18 {
				n.digits = n.digits*10 + int64(text[i]-'0')
				n.decimals++
			}
		}
	}
	if negative {
		n.digits = -n.digits
	}
	return n, text[i:], count > 0
}

// times is the number of units as a size: its resolution is half of the last printed digit, or 0 for whole bytes. ok is
// false above 4 EiB.
func (n decimal) times(unit int64) (s Size, ok bool) {
	if n.digits >= 0 && n.digits < 1<<24 && n.decimals <= 9 && unit <= GiB { // all that is usual, in whole numbers
		half := unit / 2
		switch n.decimals { // constants divide faster
		case 0:
			s.Bytes, s.Resolution = n.digits*unit, half
		case 1:
			s.Bytes, s.Resolution = (n.digits*unit+5)/10, half/10
		case 2:
			s.Bytes, s.Resolution = (n.digits*unit+50)/100, half/100
		default:
			p := pow10int[n.decimals]
			s.Bytes, s.Resolution = (n.digits*unit+p/2)/p, half/p
		}
		return s, true
	}
	scale := pow10[n.decimals]
	// Both are exact, so that the quotient is the float nearest to the printed number.
	scaled := float64(n.digits) / scale * float64(unit)
	if math.Abs(scaled) >= 1<<62 {
		return Size{}, false
	}
	s.Bytes = int64(math.Round(scaled))
	if unit > 1 {
		s.Resolution = int64(float64(unit) / 2 / scale)
	}
	return s, true
}

var pow10int = [10]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

var pow10 = func() (p [19]float64) {
	for i := range p {
		p[i] = math.Pow10(i)
	}
	return p
}()

// Decimal units, in bytes, of the few programs that divide by powers of 1000.
const (
	kB = int64(1e3)
	mB = int64(1e6)
	gB = int64(1e9)
)

// cutUnit cuts a unit off the text that begins with it, after blanks: "GB", "GiB", "MB", "bytes", in any case. The SI
// spellings are binary, as the programs that print them divide by powers of 1024. Without a unit bytes is 0.
func cutUnit(text []byte) (unit int64, rest []byte) {
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
	case end == 1 || end == 2 && word[1]|0x20 == 'b' || end == 3 && word[1]|0x20 == 'i' && word[2]|0x20 == 'b':
		switch word[0] | 0x20 {
		case 'b':
			if end == 1 {
				return 1, text[1:]
			}
		case 'k':
			return KiB, text[end:]
		case 'm':
			return MiB, text[end:]
		case 'g':
			return GiB, text[end:]
		case 't':
			return TiB, text[end:]
		}
	case bytes.EqualFold(word, []byte("bytes")), bytes.EqualFold(word, []byte("byte")):
		return 1, text[end:]
	}
	return 0, text
}

// cutSize cuts a number and its unit, binary, off the text that begins with them, after blanks. A number without a unit is
// one of bare units; bare is 0 where one must be there.
func cutSize(text []byte, bare int64) (s Size, rest []byte, ok bool) {
	n, rest, ok := cutNumber(trimBlanks(text))
	if !ok {
		return Size{}, text, false
	}
	unit, behind := cutUnit(rest)
	if unit == 0 {
		unit, behind = bare, rest
	}
	if unit == 0 {
		return Size{}, text, false
	}
	s, ok = n.times(unit)
	return s, behind, ok
}

// cutDecimalUnit is cutUnit for a program whose kB, MB and GB are powers of 1000; KiB, MiB and GiB stay what they are.
func cutDecimalUnit(text []byte) (unit int64, rest []byte) {
	unit, rest = cutUnit(text)
	if len(bytes.TrimSpace(text[:len(text)-len(rest)])) == 3 {
		return unit, rest
	}
	switch unit {
	case KiB:
		unit = kB
	case MiB:
		unit = mB
	case GiB:
		unit = gB
	case TiB:
		unit = 1000 * gB
	}
	return unit, rest
}

// cutDecimalSize is cutSize with the units of cutDecimalUnit, one of which must be there.
func cutDecimalSize(text []byte) (s Size, rest []byte, ok bool) {
	n, behind, ok := cutNumber(trimBlanks(text))
	if !ok {
		return Size{}, text, false
	}
	unit, rest := cutDecimalUnit(behind)
	if unit == 0 {
		return Size{}, text, false
	}
	s, ok = n.times(unit)
	return s, rest, ok
}

// cutRounded is cutSize for a number that the program rounds to so many decimals, of which Python leaves out zeros at the
// end: "1.7 GB" of round(x, 2) is 1.70.
func cutRounded(text []byte, decimals int) (s Size, rest []byte, ok bool) {
	n, rest, ok := cutNumber(trimBlanks(text))
	unit, rest := cutUnit(rest)
	if !ok || unit == 0 || n.digits < 0 {
		return Size{}, text, false
	}
	s, ok = n.rounded(decimals).times(unit)
	return s, rest, ok
}

// rounded is the number with at least so many decimals.
func (n decimal) rounded(decimals int) decimal {
	for n.decimals < decimals && n.digits < 1e15 && n.digits > -1e15 {
		n.digits *= 10
		n.decimals++
	}
	return n
}

// cutFloored reads a whole number of units that was rounded down: "5624 MiB" is any size from 5624 to 5625 MiB, and becomes
// the middle, so that Low and High are those two. Bytes are exact.
func cutFloored(text []byte) (s Size, ok bool) {
	n, rest, ok := cutNumber(bytes.TrimSpace(text))
	unit, _ := cutUnit(rest)
	if !ok || unit == 0 || n.decimals > 0 {
		return Size{}, false
	}
	return floored(n, unit)
}

// floored is a number of units that was rounded down, see [cutFloored].
func floored(n decimal, unit int64) (s Size, ok bool) {
	n.digits, n.decimals = n.digits/int64(pow10[n.decimals]), 0
	s, ok = n.times(unit)
	if ok && unit > 1 {
		s.Bytes += unit / 2
	}
	return s, ok
}

// cutFloat is cutNumber for a float as Python prints it: "15492.84619140625", "4.76837158203125e-07".
func cutFloat(text []byte) (n decimal, rest []byte, ok bool) {
	n, rest, ok = cutNumber(text)
	if !ok || len(rest) < 3 || rest[0] != 'e' || rest[1] != '-' {
		return n, rest, ok
	}
	power, behind, isNumber := cutInt(rest[2:])
	if !isNumber {
		return n, rest, ok
	}
	for n.decimals += power; n.decimals >= len(pow10) && n.digits != 0; n.decimals-- {
		n.digits /= 10
	}
	n.decimals = min(n.decimals, len(pow10)-1)
	return n, behind, true
}

// cutInt cuts a whole number of things off the text: a device, a rank.
func cutInt(text []byte) (n int, rest []byte, ok bool) {
	i := 0
	for ; i < len(text) && isDigit(text[i]) && i < 9; i++ {
		n = n*10 + int(text[i]-'0')
	}
	if i == 0 || i < len(text) && isDigit(text[i]) {
		return 0, text, false
	}
	return n, text[i:], true
}
