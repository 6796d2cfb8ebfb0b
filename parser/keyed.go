package parser

import "bytes"

// A keyed is a quantity that a program prints behind a key of its own.
type keyed struct {
	key string
	q   Quantity
}

// keyedMax is how much of a line is searched for keys, and keyedLines how many lines a block of them may have.
const (
	keyedMax   = 8 << 10
	keyedLines = 256
)

// keyNeedles are the keys, for a dialect whose records begin with one.
func keyNeedles(keys []keyed) (needles []string) {
	for _, k := range keys {
		needles = append(needles, k.key)
	}
	return needles
}

// startsKeyed says that the key at an offset of the line has a value.
func startsKeyed(l *line, at int, keys []keyed) bool {
	for _, k := range keys {
		if bytes.HasPrefix(l.text[at:], []byte(k.key)) {
			if _, ok := cutKeyed(l.text, at, at+len(k.key)); ok {
				return true
			}
		}
	}
	return false
}

// readKeyed reads the keys that follow an offset of the line, and of the following lines so long as more says that they
// belong to them, each key once. end is the offset behind the last of them, 0 where there is none.
func readKeyed(
	l *line, at int, keys []keyed, more func(text []byte) bool, cut func(value []byte) (Size, bool),
) (r Reading, end int) {
	for n := range keyedLines {
		text := l.text[:min(len(l.text), at+keyedMax)]
		for _, k := range keys {
			for from := at; from < len(text); {
				i := bytes.Index(text[from:], []byte(k.key))
				if i < 0 {
					break
				}
				i, from = from+i, from+i+len(k.key)
				value, ok := cutKeyed(text, i, from)
				if !ok {
					continue
				}
				if s, ok := cut(value); ok && s.Bytes >= 0 {
					r.Set(k.q, s)
					end = max(end, len(text)-len(value)+1)
				}
				break
			}
		}
		next, ok := l.peek(1)
		next = next[:min(len(next), 512)]
		if !ok || n == keyedLines-1 || r.Len() == 0 || !more(next) || hasKey(next, keys, &r) {
			break
		}
		l.next()
		at, end = 0, max(1, len(l.text))
	}
	if r.Len() == 0 {
		return r, 0
	}
	return r, end
}

// hasKey says that a line has one of the keys that are read already: it is of the next block.
func hasKey(text []byte, keys []keyed, r *Reading) bool {
	for _, k := range keys {
		if _, has := r.Get(k.q); has && bytes.Contains(text, []byte(k.key)) {
			return true
		}
	}
	return false
}

// cutKeyed is the value behind the key text[start:end]: "key: 1", 'key': 1, "key": "1", key=1, or ('key', 1) of a printed
// OrderedDict. Program source that asks for the key has none: stats["key"], stats.get("key", 0).
func cutKeyed(text []byte, start, end int) (value []byte, ok bool) {
	if start > 0 && isWordByte(text[start-1]) {
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
	rest = trimBlanks(rest)
	switch {
	case len(rest) == 0:
		return nil, false
	case rest[0] == ':' || rest[0] == '=':
	case rest[0] == ',' && quoted && start > 1 && text[start-2] == '(' && (start == 2 || !isWordByte(text[start-3])):
	default:
		return nil, false
	}
	rest = trimBlanks(rest[1:])
	if len(rest) > 0 && (rest[0] == '\'' || rest[0] == '"') {
		rest = rest[1:]
	}
	return rest, len(rest) > 0 && (isDigit(rest[0]) || rest[0] == '-' || rest[0] == '.')
}
