package lex

// The functions below are small tests and cuts that many dialects use.

// FirstBytes returns the first n bytes of a text, or all of a shorter text.
func FirstBytes(text []byte, n int) []byte { return text[:min(len(text), n)] }

// LastBytes returns the last n bytes of a text, or all of a shorter text.
func LastBytes(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// TrimBlanks returns the text without leading blanks and tabs.
func TrimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// CutPrefix is bytes.CutPrefix for a prefix that is a string.
func CutPrefix(text []byte, prefix string) (rest []byte, ok bool) {
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return text, false
	}
	return text[len(prefix):], true
}

// IsWordByte reports whether a byte can be part of an ASCII word or key. If such a byte precedes
// a label in a line, the label found there is only the end of a longer word.
func IsWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// Shorten returns s if it has at most n bytes. Otherwise it cuts s between two runes, at n bytes or
// before, and appends "...".
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsHex reports whether a byte is a hexadecimal digit.
func IsHex(c byte) bool { return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// IsTextByte reports whether a byte can be part of a word in UTF-8.
func IsTextByte(c byte) bool {
	return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

// CountDigits returns the number of digits that the text begins with.
func CountDigits(b []byte) (n int) {
	for n < len(b) && IsDigit(b[n]) {
		n++
	}
	return n
}

// ParseDigits returns the number that b spells in decimal. All bytes of b must be digits.
func ParseDigits(b []byte) (n int) {
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n
}

// IsScalarByte reports whether a byte can be part of a number or a name such as -1.5e+3, null or
// NaN.
func IsScalarByte(c byte) bool {
	return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}
