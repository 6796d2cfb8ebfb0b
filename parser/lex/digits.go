package lex

func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

func IsHex(c byte) bool { return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// InWord says that a byte is part of a word.
func InWord(c byte) bool {
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
func Digits(b []byte) (n int) {
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n
}

// IsWord says that a byte may stand in a number or a name: -1.5e+3, null, NaN.
func IsWord(c byte) bool {
	return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}
