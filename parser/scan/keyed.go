package scan

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Keyed is a quantity that a program prints behind a key of its own.
type Keyed struct {
	Key string
	Q   record.Quantity
}

// keyedMax is how much of a line is searched for keys, and keyedLines how many lines a block of them may have.
const (
	keyedMax   = 8 << 10
	keyedLines = 256
)

// KeyNeedles are the keys, for a dialect whose records begin with one.
func KeyNeedles(keys []Keyed) (needles []string) {
	for _, k := range keys {
		needles = append(needles, k.Key)
	}
	return needles
}

// StartsKeyed says that the key at an offset of the line has a value.
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

// ReadKeyed reads the keys that follow an offset of the line, and of the following lines so long as more says that they
// belong to them, each key once. end is the offset behind the last of them, 0 where there is none.
func ReadKeyed(
	l *Line, at int, keys []Keyed, more func(text []byte) bool, cut func(value []byte) (record.Size, bool),
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

// hasKey says that a line has one of the keys that are read already: it is of the next block.
func hasKey(text []byte, keys []Keyed, r *record.Reading) bool {
	for _, k := range keys {
		if _, has := r.Get(k.Q); has && bytes.Contains(text, []byte(k.Key)) {
			return true
		}
	}
	return false
}

// CutKeyed is the value behind the key text[start:end]: "key: 1", 'key': 1, "key": "1", key=1, or ('key', 1) of a printed
// OrderedDict. Program source that asks for the key has none: stats["key"], stats.get("key", 0).
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
	case rest[0] == ',' && quoted && start > 1 && text[start-2] == '(' && (start == 2 || !lex.IsWordByte(text[start-3])):
	default:
		return nil, false
	}
	rest = lex.TrimBlanks(rest[1:])
	if len(rest) > 0 && (rest[0] == '\'' || rest[0] == '"') {
		rest = rest[1:]
	}
	return rest, len(rest) > 0 && (lex.IsDigit(rest[0]) || rest[0] == '-' || rest[0] == '.')
}
