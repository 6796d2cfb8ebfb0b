package dialect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// transcriptionDialect is that of the transcription pipelines, and of our own lines, in every
// wrapper that they put around them:
//
//	[GPU Memory] Before Transcription: Allocated: 0.23GB (1.0%) | Reserved: 0.68GB (2.8%) | Free: 23.32GB | Total: 24.00GB
//	[2026-01-10 02:14:07.123] [INFO] [GPU Memory] Before Transcription: Allocated: ...
//	2026-01-10 02:14:07,123 - pipeline - INFO - [GPU Memory] Before Transcription: Allocated: ...
//	  [GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)   ✅
//
// A checkpoint ends where the next begins, so a line into which two were torn gives both, and an
// error for what was lost. With them come the pipelines' own warnings:
//
//	WARNING: GPU memory usage is critically high (87.1%). Consider reducing batch size or using a smaller model.
//	NOTICE: GPU memory usage is elevated (72.3%). Monitor for potential OOM conditions.
//	Failed to log GPU memory: CUDA driver shutting down
var transcriptionDialect = scan.Dialect{
	Name:    "transcription",
	Needles: []string{record.MemoryPrefix, highUsage, failedReading},
	Read: func(l *scan.Line, at int) int {
		switch l.Text[at] {
		case record.MemoryPrefix[0]:
			return readCheckpoint(l, at)
		case highUsage[0]:
			return readHighUsage(l, at)
		}
		return readFailedReading(l, at)
	},
}

const (
	highUsage     = "GPU memory usage is "
	failedReading = "Failed to log GPU memory: "
)

// readCheckpoint reads the checkpoint whose mark stands at an offset.
func readCheckpoint(l *scan.Line, at int) (end int) {
	text := l.Text[at+len(record.MemoryPrefix):]
	end = len(l.Text)
	if next := bytes.Index(text, []byte(record.MemoryPrefix)); next >= 0 {
		text, end = text[:next], at+len(record.MemoryPrefix)+next
	}
	name, fields, ok := cutName(text)
	if !ok || len(name) > scan.NameMax {
		// The line of program source that prints checkpoints is not one, and not a broken one:
		//	f"[GPU Memory] {stage_name}: Allocated: {allocated:.2f}GB ({allocated_pct:.1f}%) | "
		if bytes.ContainsAny(text, "{}") ||
			end == len(l.Text) && !looksCut(text) && len(text) <= scan.NameMax {
			return end
		}
		l.BadCheckpoint(at, "a checkpoint's name, then \": Allocated: 7.23GB\"", text)
		return end
	}
	if source.IsTemplate(name) {
		return end
	}
	c := l.Checkpoint(at, l.Str(name))
	rest, bad := readFields(c, fields)
	c.Own = true // unless source= says otherwise
	bad = cmp.Or(bad, readTail(c, rest))
	if c.Len() == 0 {
		l.Undo()
		if source.IsTemplate(firstField(fields)) {
			return end
		}
	}
	if bad != nil {
		l.BadCheckpoint(at, bad.Expected, bad.Found)
	}
	return end
}

// looksCut says that text without a readable field was to be a checkpoint: "Before Whisper Cleanup:
// Allo", or one in another order. Other remarks stand behind the mark too: "[GPU Memory] cache
// cleared".
func looksCut(text []byte) bool {
	if allocatedNumber().Match(text) {
		return true
	}
	i := bytes.LastIndexByte(text, ':')
	return i > 0 &&
		strings.HasPrefix("allocated", strings.ToLower(string(bytes.TrimSpace(text[i+1:]))))
}

// allocatedNumber tells "After Whisper Cleanup allocated 0.18GB" from "Deallocated 12 tensors".
var allocatedNumber = lex.Expression(`(?i)\ballocated\b\s*(?:[:=]|\d)`)

// cutName splits at the colon before the first field's label: "Before Whisper Cleanup", "Allocated:
// 7.23GB (30.1%)".
func cutName(text []byte) (name, fields []byte, ok bool) {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], ':')
		if i < 0 {
			return nil, nil, false
		}
		from += i + 1
		if len(text) >= from+12 && string(text[from:from+12]) == " Allocated: " && from > 1 {
			return text[:from-1], text[from+1:], true
		}
		rest := lex.TrimBlanks(text[from:])
		if _, _, known := cutLabel(rest); known && from > 1 {
			return text[:from-1], rest, true
		}
	}
}

// labelOf is the quantity whose field for people begins with a letter, and the field's label. The
// transcription pipelines print them capitalized, the documents write them in lower case too, and
// "Cached" is the older word for reserved.
func labelOf(first byte) (word string, q record.Quantity) {
	switch first | 0x20 {
	case 'a':
		return "allocated", record.Allocated
	case 'r':
		return "reserved", record.Reserved
	case 'f':
		return "free", record.Free
	case 't':
		return "total", record.Total
	case 'c':
		return "cached", record.Reserved
	case 'u':
		return "used", record.Used
	case 'p':
		return "peak", record.Peak
	}
	return "", 0
}

// cutLabel cuts a field's label and the colon behind it off the text that begins with them.
func cutLabel(text []byte) (q record.Quantity, rest []byte, ok bool) {
	if len(text) == 0 {
		return 0, nil, false
	}
	word, q := labelOf(text[0])
	if word == "" || len(text) <= len(word) || !equalFold(text[:len(word)], word) {
		return 0, nil, false
	}
	rest = text[len(word):]
	if rest[0] != ':' {
		if rest = lex.TrimBlanks(rest); len(rest) == 0 || rest[0] != ':' {
			return 0, nil, false
		}
	}
	return q, rest[1:], true
}

// equalFold says whether b is the lower-case ASCII word of its length in any case.
func equalFold(b []byte, word string) bool {
	for i := range b {
		if b[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

func firstField(fields []byte) []byte {
	_, rest, _ := bytes.Cut(fields, []byte(":"))
	rest = lex.TrimBlanks(rest)
	if i := bytes.IndexAny(
		rest,
		" \"'",
	); i >= 0 { // {"log":"[GPU Memory] A: Allocated: 1.00GB","stream":"stderr"}
		rest = rest[:i]
	}
	return rest
}

// readFields reads "Allocated: 7.23GB (30.1%) | Reserved: 7.50GB (31.3%) | ..." and returns what
// follows the last field.
func readFields(c *record.Checkpoint, text []byte) (rest []byte, bad *lex.Mistake) {
	text, read := usualFields(&c.Reading, text)
	if read {
		var more bool
		if text, more = nextField(text); !more {
			return text, nil
		}
	}
	for {
		q, after, known := cutLabel(text)
		if !known {
			return text, bad
		}
		label := text[:len(text)-len(after)-1]
		after = lex.TrimBlanks(after)
		n, behind, ok := lex.CutNumber(after)
		unit, end := lex.CutUnit(behind)
		size, fits := n.Times(max(unit, 1))
		switch {
		case !ok || !fits || unit == 0 && startsWord(behind):
			return nil, &lex.Mistake{
				Expected: fmt.Sprintf("a size such as 7.23GB after %q", string(bytes.TrimSpace(label))+":"),
				Found:    after,
			}
		case unit == 0:
			number := after[:len(after)-len(behind)]
			return nil, &lex.Mistake{
				Expected: fmt.Sprintf(
					"a unit such as GB after %q",
					string(bytes.TrimSpace(label))+": "+string(number),
				),
				Found: after,
			}
		case size.Bytes < 0 && q != record.Free: // free is total minus allocated, and allocated may be more in a wrong log
			if bad == nil {
				bad = &lex.Mistake{
					Expected: fmt.Sprintf("a size of 0 or more after %q", string(bytes.TrimSpace(label))+":"),
					Found:    after,
				}
			}
		default:
			c.Set(q, size)
		}
		if text, ok = nextField(end); !ok {
			return text, bad
		}
	}
}

// nextField goes on to the field behind a size: over " (30.1%) | ".
func nextField(text []byte) (rest []byte, ok bool) {
	text = lex.TrimBlanks(text)
	if len(text) > 0 && text[0] == '(' {
		if i := bytes.IndexByte(text, ')'); i >= 0 {
			text = lex.TrimBlanks(text[i+1:])
		}
	}
	if len(text) == 0 || text[0] != '|' {
		return text, false
	}
	return lex.TrimBlanks(text[1:]), true
}

// usualFields reads the fields in the very form that the pipelines print, "Allocated: 7.23GB
// (30.1%) | ", at once. It stops before a field that has another form, or behind a size that
// another thing follows, of which read is true.
func usualFields(r *record.Reading, text []byte) (rest []byte, read bool) {
	for len(text) >= 12 {
		var q record.Quantity
		var i int
		switch word := binary.LittleEndian.Uint64(text); {
		case word == wordAllocated && text[8] == 'd':
			q, i = record.Allocated, len("allocated")
		case word == wordReserved:
			q, i = record.Reserved, len("reserved")
		case word<<24 == wordTotal:
			q, i = record.Total, len("total")
		case word<<32 == wordFree:
			q, i = record.Free, len("free")
		}
		if i == 0 || text[i] != ':' || text[i+1] != ' ' {
			return lex.TrimBlanks(text), false
		}
		i += 2
		first := i
		var n lex.Decimal
		for ; i < len(text) && text[i]-'0' <= 9 && i < first+5; i++ {
			n.Digits = n.Digits*10 + int64(text[i]-'0')
		}
		// Two decimals and the unit.
		if i == first || i+5 > len(text) || text[i] != '.' || text[i+1]-'0' > 9 || text[i+2]-'0' > 9 ||
			text[i+4] != 'B' ||
			i+5 < len(text) && lex.IsTextByte(text[i+5]) {
			return lex.TrimBlanks(text), false
		}
		n.Digits = n.Digits*100 + int64(text[i+1]-'0')*10 + int64(text[i+2]-'0')
		n.Decimals = 2
		unit := record.GiB
		if text[i+3] != 'G' {
			if unit = record.MiB; text[i+3] != 'M' {
				return lex.TrimBlanks(text), false
			}
		}
		size, _ := n.Times(unit) // which fits
		r.Set(q, size)
		text = text[i+5:]
		// " (30.1%) | ", or " | "
		i = 0
		if len(text) > 10 && text[0] == ' ' && text[1] == '(' {
			for i = 3; i < 10 && text[i-1] != ')'; {
				i++
			}
		}
		if len(text) < i+3 || i > 0 && text[i-1] != ')' || text[i] != ' ' || text[i+1] != '|' ||
			text[i+2] != ' ' {
			return text, true
		}
		text = text[i+3:]
	}
	return lex.TrimBlanks(text), false
}

// The labels' first letters, as eight bytes are read.
var (
	wordAllocated = binary.LittleEndian.Uint64([]byte("Allocate"))
	wordReserved  = binary.LittleEndian.Uint64([]byte("Reserved"))
	wordTotal     = binary.LittleEndian.Uint64([]byte("...Total")) >> 24 << 24
	wordFree      = binary.LittleEndian.Uint64([]byte("....Free")) >> 32 << 32
)

// startsWord says that a word follows, after blanks.
func startsWord(b []byte) bool {
	b = lex.TrimBlanks(b)
	return len(b) > 0 && (b[0]|0x20 >= 'a' && b[0]|0x20 <= 'z' || b[0] == '.')
}

// readTail reads the exact tail of our own line; where it is present it wins. What follows it, or
// stands in its place, is a person's remark or the rest of the logger's wrapper:
//
//	[GPU Memory] After Whisper Cleanup: Allocated: 5.42GB (22.6%)  # Should be <1GB
//	{"msg": "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB | allocated=193273528 device=0"}
//
// An exact value outside of what the printed digits allow comes from a line that was cut: the
// printed one stays.
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
			if c.Own = string(value) != record.SourceDevice; c.Own && string(value) != record.SourceProcess {
				return bad // a remark
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

// tailKeys are the keys of the exact tail beside the quantities.
var tailKeys = []string{"device", "rank", "stream", "source"}

// setExact sets a quantity to what the tail says, or returns what was expected of it.
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

// cutValue cuts a value off the text that begins with it. A value ends at a blank, or where a
// wrapper's quotes and brackets close around the line.
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

// usagePattern is the rest of the pipelines' word on high usage.
var usagePattern = lex.Expression(`^(critically high|elevated) \((\d+(?:\.\d+)?)%\)`)

func readHighUsage(l *scan.Line, at int) (end int) {
	m := usagePattern().FindSubmatchIndex(l.Text[at+len(highUsage):])
	if m == nil {
		return 0
	}
	rest := l.Text[at+len(highUsage):]
	percent, err := strconv.ParseFloat(string(rest[m[4]:m[5]]), 64)
	if err != nil {
		return 0 // unreachable: the pattern is a number's
	}
	level := "critical"
	if rest[m[2]] == 'e' {
		level = "notice"
	}
	l.Add(record.Warning{Header: l.Header(at), Level: level, Percent: percent, Text: l.Message(at)})
	return at + len(highUsage) + m[1]
}

func readFailedReading(l *scan.Line, at int) (end int) {
	if source.IsTemplate(l.Text[at:]) {
		return 0
	}
	l.Add(record.Warning{Header: l.Header(at), Level: "failed", Text: l.Message(at)})
	return len(l.Text)
}
