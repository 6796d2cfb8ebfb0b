package parser

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// labels are the fields for people, as the transcription pipelines print them. The documents write them in lower case
// too, and "Cached" is the older word for reserved.
var labels = map[string]Quantity{
	"allocated": Allocated, "reserved": Reserved, "cached": Reserved, "free": Free, "total": Total, "used": Used,
	"peak": Peak,
}

// appendMemory reads the checkpoints of a line, in every wrapper that the pipelines put around them:
//
//	[GPU Memory] Before Transcription: Allocated: 0.23GB (1.0%) | Reserved: 0.68GB (2.8%) | Free: 23.32GB | Total: 24.00GB
//	[2026-01-10 02:14:07.123] [INFO] [GPU Memory] Before Transcription: Allocated: ...
//	2026-01-10 02:14:07,123 - pipeline - INFO - [GPU Memory] Before Transcription: Allocated: ...
//	  [GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)   ✅
//
// A checkpoint ends where the next begins, so a line into which two were torn gives both, and an error for what was lost.
func appendMemory(records []Record, line []byte, pos Position) []Record {
	mark := []byte(MemoryPrefix)
	at := bytes.Index(line, mark)
	if at < 0 {
		return records
	}
	head := Header{Pos: pos}
	head.Time, head.Local = findTime(line[:at])
	for at >= 0 {
		rest := line[at+len(mark):]
		next := bytes.Index(rest, mark)
		text := rest
		if next >= 0 {
			text = rest[:next]
			at += len(mark) + next
		} else {
			at = -1
		}
		records = appendCheckpoint(records, strings.TrimSpace(strings.ToValidUTF8(string(text), "�")), head, next >= 0)
	}
	return records
}

// appendCheckpoint reads one checkpoint; cut says that another one follows on its line.
func appendCheckpoint(records []Record, text string, head Header, cut bool) []Record {
	name, fields, ok := cutName(text)
	if !ok {
		// The line of program source that prints checkpoints is not one, and not a broken one:
		//	f"[GPU Memory] {stage_name}: Allocated: {allocated:.2f}GB ({allocated_pct:.1f}%) | "
		if strings.ContainsAny(text, "{}") || !cut && !looksCut(text) {
			return records
		}
		return append(records, badMemory(head, "a checkpoint's name, then \": Allocated: 7.23GB\"", text))
	}
	if strings.ContainsAny(name+firstWord(fields), "{}") {
		return records
	}
	c := Checkpoint{Header: head, Name: name}
	rest, bad := c.readFields(fields)
	bad = cmp.Or(bad, c.readTail(rest))
	if c.Len() > 0 {
		records = append(records, c)
	}
	if bad != nil {
		records = append(records, *bad)
	}
	return records
}

// looksCut says that text without a readable field was to be a checkpoint: "Before Whisper Cleanup: Allo", or one in
// another order. Other remarks stand behind the mark too: "[GPU Memory] cache cleared".
func looksCut(text string) bool {
	if allocatedNumber.MatchString(text) {
		return true
	}
	i := strings.LastIndexByte(text, ':')
	return i > 0 && strings.HasPrefix("allocated", strings.ToLower(strings.TrimSpace(text[i+1:])))
}

// allocatedNumber tells "After Whisper Cleanup allocated 0.18GB" from "Deallocated 12 tensors".
var allocatedNumber = regexp.MustCompile(`(?i)\ballocated\b\s*(?:[:=]|\d)`)

// cutName splits at the colon before the first field's label: "Before Whisper Cleanup", "Allocated: 7.23GB (30.1%)".
func cutName(text string) (name, fields string, ok bool) {
	for i := range len(text) {
		if text[i] != ':' {
			continue
		}
		rest := strings.TrimLeft(text[i+1:], " \t")
		if label, _, found := strings.Cut(rest, ":"); found {
			if _, known := labels[strings.ToLower(strings.TrimSpace(label))]; known && i > 0 {
				return strings.TrimSpace(text[:i]), rest, true
			}
		}
	}
	return "", "", false
}

// readFields reads "Allocated: 7.23GB (30.1%) | Reserved: 7.50GB (31.3%) | ..." and returns what follows the last field.
func (c *Checkpoint) readFields(text string) (rest string, bad *SyntaxError) {
	for {
		label, after, found := strings.Cut(text, ":")
		q, known := labels[strings.ToLower(strings.TrimSpace(label))]
		if !found || !known {
			return text, bad
		}
		after = strings.TrimLeft(after, " \t")
		end := sizeEnd(after)
		size, err := ParseSize(after[:end])
		switch {
		case err != nil:
			return "", c.bad(fmt.Sprintf("a size such as 7.23GB after %q", label+":"), after)
		case strings.TrimRight(after[:end], "0123456789.+-") == "":
			return "", c.bad(fmt.Sprintf("a unit such as GB after %q", label+": "+after[:end]), after)
		case size.Bytes < 0 && q != Free: // free is total minus allocated, and allocated may be more in a wrong log
			bad = cmp.Or(bad, c.bad(fmt.Sprintf("a size of 0 or more after %q", label+":"), after))
		default:
			c.Set(q, size)
		}
		text = strings.TrimLeft(after[end:], " \t")
		if strings.HasPrefix(text, "(") {
			if _, behind, closed := strings.Cut(text, ")"); closed {
				text = behind
			}
		}
		trimmed := strings.TrimLeft(text, " \t")
		if !strings.HasPrefix(trimmed, "|") {
			return trimmed, bad
		}
		text = strings.TrimLeft(trimmed[1:], " \t")
	}
}

// sizeEnd is the length of the number and unit that text begins with.
func sizeEnd(text string) int {
	i := 0
	for i < len(text) && strings.IndexByte("0123456789.+-", text[i]) >= 0 {
		i++
	}
	digits := i
	for i < len(text) && text[i] == ' ' {
		i++
	}
	unit := i
	for i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z') {
		i++
	}
	if i == unit {
		return digits
	}
	return i
}

// readTail reads the exact tail of our own line; where it is present it wins. What follows it, or stands in its place, is
// a person's remark or the rest of the logger's wrapper:
//
//	[GPU Memory] After Whisper Cleanup: Allocated: 5.42GB (22.6%)  # Should be <1GB
//	{"msg": "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB | allocated=193273528 device=0"}
//
// An exact value outside of what the printed digits allow comes from a line that was cut: the printed one stays.
func (c *Checkpoint) readTail(text string) (bad *SyntaxError) {
	for {
		text = strings.TrimLeft(text, " \t|")
		key, rest, found := strings.Cut(text, "=")
		q, isQuantity := quantityByKey[key]
		if !found || !isQuantity && key != "device" && key != "rank" && key != "stream" {
			return bad
		}
		var expected string
		value, behind := cutValue(rest)
		switch {
		case key == "stream":
			c.Stream = value
		case isQuantity:
			expected = c.setExact(q, value)
		default:
			n, err := parseCount(value)
			if err != nil {
				expected = "a number after " + key + "="
			} else if key == "device" {
				c.Lane.Device = n
			} else {
				c.Lane.Rank = n
			}
		}
		if expected != "" {
			bad = cmp.Or(bad, c.bad(expected, value))
		}
		text = behind
	}
}

// setExact sets a quantity to what the tail says, or returns what was expected of it.
func (c *Checkpoint) setExact(q Quantity, value string) (expected string) {
	exact, err := parseBytes(value)
	printed, has := c.Get(q)
	switch {
	case err != nil:
		return "bytes after " + q.String() + "="
	case has && (exact < printed.Low()-1 || exact > printed.High()+1):
		return fmt.Sprintf("%s= to agree with the printed %s", q, printed)
	}
	c.Set(q, Exact(exact))
	return ""
}

// cutValue cuts a value off the text that begins with it. A value ends at a blank, or where a wrapper's quotes and
// brackets close around the line.
func cutValue(text string) (value, behind string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		if value, err := strconv.Unquote(quoted); err == nil {
			return value, text[len(quoted):]
		}
	}
	end := strings.IndexAny(text, " \t|\"'\\,;)]}")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

func (c *Checkpoint) bad(expected, found string) *SyntaxError {
	e := badMemory(c.Header, expected, found)
	return &e
}

func badMemory(head Header, expected, found string) SyntaxError {
	return SyntaxError{
		Header: head, Expected: expected, Found: shorten(found, 80),
		Advice: "what cannot be read is left out; if two writers share the log, give each its own or write whole lines",
	}
}

func firstWord(s string) string {
	label, rest, _ := strings.Cut(s, ":")
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return label + word
}

// shorten cuts s to at most n bytes at a rune's edge.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}
