package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// gigaBytes are the labels of the readings that see_memory_usage printed before December 2020,
// one reading a line. If one label ends with another, as "Max Memory Allocated " does, the longer
// label comes first.
var gigaBytes = []struct {
	label string
	q     record.Quantity
}{
	{"Max Memory Allocated ", record.Peak},
	{"Memory Allocated ", record.Allocated},
	{"Max cache Allocated ", record.PeakReserved},
	{"Cache Allocated ", record.Reserved},
}

// cutGigaBytes finds the first of these labels in the text and reads the size behind it. The
// result at is the label's offset.
func cutGigaBytes(text []byte) (q record.Quantity, s record.Size, at int, ok bool) {
	for _, f := range gigaBytes {
		if at = bytes.Index(text, []byte(f.label)); at < 0 {
			continue
		}
		n, rest, ok := lex.CutFloat(lex.TrimBlanks(text[at+len(f.label):]))
		_, known := lex.CutPrefix(lex.TrimBlanks(rest), "GigaBytes")
		s, fits := n.Times(record.GiB)
		s.Resolution = 0 // Python prints all digits of the float
		return f.q, s, at, ok && known && fits
	}
	return 0, record.Size{}, 0, false
}

// readGigaBytes reads the readings that see_memory_usage printed before December 2020. It makes
// one checkpoint of those on this line and on the following lines.
func readGigaBytes(l *scan.Line, at int) (end int) {
	// The label may begin before the needle: "Max Memory Allocated ", "Max cache Allocated ".
	start := max(0, at-len("Max c"))
	q, s, from, ok := cutGigaBytes(lex.FirstBytes(l.Text[start:], nearby))
	if from += start; !ok || from > at {
		return 0
	}
	c := l.Checkpoint(from, "see_memory_usage")
	if q == record.Allocated {
		c.Name = messageBefore(l, from)
	}
	c.Set(q, s)
	for {
		text, ok := l.Peek(1)
		if !ok {
			break
		}
		q, s, _, ok := cutGigaBytes(text)
		if _, has := c.Get(q); !ok || has {
			break
		}
		l.Next()
		c.Set(q, s)
	}
	return len(l.Text)
}

// readWorkspace reads the three lines about the inference workspace. When DeepSpeed allocates the
// workspace again, it prints the total from a variable that it did not set. So readWorkspace
// leaves out a total that is below the free memory or above 1 TiB.
func readWorkspace(l *scan.Line, at int) (end int) {
	cut := func(text []byte, label string) (record.Size, bool) {
		i := bytes.Index(text, []byte(label))
		if i < 0 {
			return record.Size{}, false
		}
		n, rest, ok := lex.CutNumber(lex.TrimBlanks(text[i+len(label):]))
		_, known := lex.CutPrefix(lex.TrimBlanks(rest), "(GigaBytes)")
		s, fits := n.Times(record.GiB)
		return s, ok && known && fits && n.Digits >= 0
	}
	free, ok := cut(l.Text[at:], needleWorkspace)
	if !ok {
		return 0
	}
	c := l.Checkpoint(at, "inference workspace")
	c.Sampled = true
	c.Set(record.Free, free)
	for _, f := range []struct {
		label string
		q     record.Quantity
	}{{"Total memory: ", record.Total}, {"Requested memory: ", record.Buffer}} {
		text, there := l.Peek(1)
		s, ok := cut(text, f.label)
		if !there || !ok {
			break
		}
		l.Next()
		if f.q != record.Total || s.Bytes >= free.Bytes && s.Bytes <= record.TiB {
			c.Set(f.q, s)
		}
	}
	return len(l.Text)
}

// nearby is how many bytes before or behind a needle are searched for the rest of a reading.
const nearby = 512
