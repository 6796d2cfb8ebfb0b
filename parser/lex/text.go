package lex

// What the dialects share to look at a text.

// FirstBytes is the beginning of a text, of so many bytes at most.
func FirstBytes(text []byte, n int) []byte { return text[:min(len(text), n)] }

// LastBytes is the end of a text, of so many bytes at most.
func LastBytes(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// TrimBlanks is the text without the blanks and tabs that it begins with.
func TrimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// CutPrefix is bytes.CutPrefix for a string.
func CutPrefix(text []byte, prefix string) (rest []byte, ok bool) {
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return text, false
	}
	return text[len(prefix):], true
}

// IsWordByte says that a byte is of a word or a key, in ASCII: where one stands before a label, the label is the end of a
// longer one.
func IsWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// Shorten cuts s to at most n bytes at a rune's edge.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}

func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

func IsHex(c byte) bool { return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// InWord says that a byte is part of a word.
func IsTextByte(c byte) bool {
	return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

// CountDigits is the number of digits that the text begins with.
func CountDigits(b []byte) (n int) {
	for n < len(b) && IsDigit(b[n]) {
		n++
	}
	return n
}

// Digits is the number that a few digits are.
func ParseDigits(b []byte) (n int) {
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n
}

// IsWord says that a byte may stand in a number or a name: -1.5e+3, null, NaN.
func IsScalarByte(c byte) bool {
	return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}
