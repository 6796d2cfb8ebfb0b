package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// readTail reads the key=value pairs at the end of our own pipeline's lines. Their exact bytes
// replace the printed sizes:
//
//	{"msg": "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB | allocated=193273528 device=0"}
//
// Other text, such as a comment or the end of the logger's JSON, ends the pairs:
//
//	[GPU Memory] After Whisper Cleanup: Allocated: 5.42GB (22.6%)  # Should be <1GB
//
// An exact value that contradicts the printed digits is a mistake, because the line was cut inside
// the value. The checkpoint then keeps the printed size.
func readTail(c *record.Checkpoint, text []byte) (bad *lex.Mistake) {
	for {
		text = bytes.TrimLeft(text, " \t|")
		i := bytes.IndexByte(text[:min(len(text), 17)], '=')
		if i < 0 {
			return bad
		}
		key, rest := text[:i], text[i+1:]
		q, isQuantity := record.QuantityByKey[string(key)]
		if !isQuantity && !slices.Contains(tailKeys, string(key)) {
			return bad
		}
		var expected string
		value, behind := cutValue(rest)
		switch {
		case string(key) == "stream":
			c.Stream = strings.ToValidUTF8(string(value), "�")
		case string(key) == "source":
			c.Own = string(value) != record.SourceDevice
			if c.Own && string(value) != record.SourceProcess {
				return bad // text that our own pipeline does not write
			}
		case isQuantity:
			expected = setExact(c, q, value)
		default:
			n, after, ok := lex.CutInt(value)
			switch {
			case !ok || len(after) > 0:
				expected = "a number after " + string(key) + "="
			case string(key) == "device":
				c.Lane.Device = n
			default:
				c.Lane.Rank = n
			}
		}
		if expected != "" && bad == nil {
			bad = &lex.Mistake{Expected: expected, Found: value}
		}
		text = behind
	}
}

// tailKeys are the keys that may follow a line in addition to the keys of quantities.
var tailKeys = []string{"device", "rank", "stream", "source"}

// setExact sets a quantity to the exact bytes of a pair, or returns what was expected instead.
func setExact(c *record.Checkpoint, q record.Quantity, value []byte) (expected string) {
	n, rest, ok := lex.CutNumber(value)
	printed, has := c.Get(q)
	switch {
	case !ok || len(rest) > 0 || n.Decimals > 0 || !lex.IsDigit(value[0]) || n.Digits >= 1<<62:
		return "bytes after " + q.String() + "="
	case has && (n.Digits < printed.Low()-1 || n.Digits > printed.High()+1):
		return fmt.Sprintf("%s= to agree with the printed %s", q, printed)
	}
	c.Set(q, record.Exact(n.Digits))
	return ""
}

// cutValue cuts a value off the beginning of the text. A blank ends the value. The quotes and
// brackets with which a logger ends its line end the value, too.
func cutValue(text []byte) (value, behind []byte) {
	if len(text) > 0 && text[0] == '"' {
		if quoted, err := strconv.QuotedPrefix(string(text)); err == nil {
			if value, err := strconv.Unquote(quoted); err == nil {
				return []byte(value), text[len(quoted):]
			}
		}
	}
	end := bytes.IndexAny(text, " \t|\"'\\,;)]}")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}
