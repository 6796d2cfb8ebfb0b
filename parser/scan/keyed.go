package scan

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Keyed is the key after which a program prints a quantity.
type Keyed struct {
	Key string
	Q   record.Quantity
}

// keyedMax is how many bytes of a line are searched for keys. keyedLines is the most lines of a
// block of keys.
const (
	keyedMax   = 8 << 10
	keyedLines = 256
)

// KeyNeedles returns the keys as needles, for a dialect whose records begin with one of them.
func KeyNeedles(keys []Keyed) (needles []string) {
	for _, k := range keys {
		needles = append(needles, k.Key)
	}
	return needles
}

// StartsKeyed reports whether one of the keys, with a value, is at an offset of the line.
func StartsKeyed(l *Line, at int, keys []Keyed) bool {
	for _, k := range keys {
		if bytes.HasPrefix(l.Text[at:], []byte(k.Key)) {
			if _, ok := CutKeyed(l.Text, at, at+len(k.Key)); ok {
				return true
			}
		}
	}
	return false
}

// ReadKeyed reads the values of the keys, beginning at an offset of the line. It reads each key
// once. It goes on to the next line as long as the function `more` reports that the line belongs to
// the block. The function cut converts a value to a size. end is the offset behind the last value,
// or 0 if ReadKeyed found no key.
func ReadKeyed(
	l *Line,
	at int,
	keys []Keyed,
	more func(text []byte) bool,
	cut func(value []byte) (record.Size, bool),
) (r record.Reading, end int) {
	for n := range keyedLines {
		text := l.Text[:min(len(l.Text), at+keyedMax)]
		for _, k := range keys {
			for from := at; from < len(text); {
				i := bytes.Index(text[from:], []byte(k.Key))
				if i < 0 {
					break
				}
				i, from = from+i, from+i+len(k.Key)
				value, ok := CutKeyed(text, i, from)
				if !ok {
					continue
				}
				if s, ok := cut(value); ok && s.Bytes >= 0 {
					r.Set(k.Q, s)
					end = max(end, len(text)-len(value)+1)
				}
				break
			}
		}
		next, ok := l.Peek(1)
		next = next[:min(len(next), 512)]
		if !ok || n == keyedLines-1 || r.Len() == 0 || !more(next) || hasKey(next, keys, &r) {
			break
		}
		l.Next()
		at, end = 0, max(1, len(l.Text))
	}
	if r.Len() == 0 {
		return r, 0
	}
	return r, end
}

// hasKey reports whether a line has a key that was read already. Such a line begins the next block.
func hasKey(text []byte, keys []Keyed, r *record.Reading) bool {
	for _, k := range keys {
		if _, has := r.Get(k.Q); has && bytes.Contains(text, []byte(k.Key)) {
			return true
		}
	}
	return false
}

// CutKeyed returns the value of the key text[start:end]. It knows the forms "key: 1", 'key': 1,
// "key": "1", key=1, and ('key', 1) of a printed OrderedDict. A key in program source has no value,
// as in stats["key"] and stats.get("key", 0).
func CutKeyed(text []byte, start, end int) (value []byte, ok bool) {
	if start > 0 && lex.IsWordByte(text[start-1]) {
		return nil, false
	}
	rest := text[end:]
	quoted := start > 0 && (text[start-1] == '\'' || text[start-1] == '"')
	if quoted {
		if len(rest) == 0 || rest[0] != text[start-1] {
			return nil, false
		}
		rest = rest[1:]
	}
	rest = lex.TrimBlanks(rest)
	switch {
	case len(rest) == 0:
		return nil, false
	case rest[0] == ':' || rest[0] == '=':
	case rest[0] == ',' && quoted && start > 1 && text[start-2] == '(' &&
		(start == 2 || !lex.IsWordByte(text[start-3])):
	default:
		return nil, false
	}
	rest = lex.TrimBlanks(rest[1:])
	if len(rest) > 0 && (rest[0] == '\'' || rest[0] == '"') {
		rest = rest[1:]
	}
	return rest, len(rest) > 0 && (lex.IsDigit(rest[0]) || rest[0] == '-' || rest[0] == '.')
}
