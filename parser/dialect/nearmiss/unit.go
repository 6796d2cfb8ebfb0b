package nearmiss

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"vramsoak/parser/source"
)

// unitNames are units of memory, in lower case, and their names in a dialect.
var unitNames = map[string]string{
	"gb": "GB", "gib": "GiB", "mb": "MB", "mib": "MiB", "kb": "kB", "kib": "KiB", "tb": "TB",
	"bytes": "B", "b": "B", "g": "GiB", "m": "MiB", "гб": "GB", "мб": "MB", "кб": "kB", "гиб": "GiB",
	"миб": "MiB", "gigabytes": "GB", "megabytes": "MB", "ギガバイト": "GB", "メガバイト": "MB",
}

// A unit is the unit behind a number.
type unit struct {
	name   string // in a dialect; "" if there is no unit
	length int    // of the blanks and the unit
	known  bool   // each dialect reads this unit behind a number
}

// unitAt returns the unit at the beginning of the text behind a number. "GB/s" is no unit of
// memory.
func unitAt(rest []byte) (u unit) {
	text := bytes.TrimLeft(rest, " \t")
	blanks := len(rest) - len(text)
	end := 0
	for end < len(text) {
		r, n := utf8.DecodeRune(text[end:])
		if !unicode.IsLetter(r) || (r >= utf8.RuneSelf) != (text[0] >= utf8.RuneSelf) {
			break
		}
		end += n
	}
	word := string(text[:end])
	u.name, u.length = unitNames[strings.ToLower(word)], blanks+end
	if end == 1 && (word[0] >= 'a' || blanks > 0 && word != "B") ||
		bytes.HasPrefix(text[end:], []byte("/s")) || bytes.HasPrefix(text[end:], []byte("_")) {
		return unit{}
	}
	u.known = end > 0 && text[0] < utf8.RuneSelf && blanks <= 1 && !strings.HasSuffix(word, "abytes")
	return u
}

// keyUnit returns the unit in which a label ends: "gpu_mem_used_mb=", "GPU memory (MB): ".
func keyUnit(label string) string {
	label = strings.TrimRight(label, " \t:=\"')]：")
	word := label[strings.LastIndexFunc(label, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	if len(word) < 2 {
		return ""
	}
	return unitNames[word]
}

// labelStart returns the offset at which the label of a number begins: behind a bar, a comma, a
// bracket or the number before, and at most labelMax bytes before the number.
func labelStart(text []byte, number int) int {
	from := max(0, number-labelMax)
	for from < number && !utf8.RuneStart(text[from]) {
		from++
	}
	start := from
	message := source.MessageStart(text[:number])
	if message > start && hasLetter(text[message:number]) {
		start = message
	}
	for i := start; i < number; i++ {
		if bytes.IndexByte([]byte("|,;{}[]"), text[i]) >= 0 && hasLetter(text[i+1:number]) {
			start = i + 1
		}
	}
	if first := bytes.IndexFunc(text[start:number], unicode.IsLetter); first > 0 {
		start += first
	}
	return start
}

// hasLetter reports whether a text has a letter of any alphabet.
func hasLetter(text []byte) bool { return bytes.IndexFunc(text, unicode.IsLetter) >= 0 }

// hasAny reports whether a text has one of the words. A word of ASCII letters must be a whole word,
// except that it may be a part of a key: "gpu_mem_mb".
func hasAny(text string, words []string) bool {
	for _, word := range words {
		for from := 0; ; {
			i := strings.Index(text[from:], word)
			if i < 0 {
				break
			}
			i += from
			from = i + len(word)
			if word[0] >= utf8.RuneSelf || !letterAt(text, i-1) && !letterAt(text, from) {
				return true
			}
		}
	}
	return false
}

// letterAt reports whether an ASCII letter is at an offset of the text.
func letterAt(text string, at int) bool {
	return at >= 0 && at < len(text) && text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z'
}
