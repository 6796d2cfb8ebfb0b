package parser

import "bytes"

// gigaBytes are the readings that DeepSpeed prints on lines of their own; the longer label comes first where one ends with
// another.
var gigaBytes = []struct {
	label string
	q     Quantity
}{
	{"Max Memory Allocated ", Peak},
	{"Memory Allocated ", Allocated},
	{"Max cache Allocated ", PeakReserved},
	{"Cache Allocated ", Reserved},
}

// cutGigaBytes finds one of them in a line.
func cutGigaBytes(text []byte) (q Quantity, s Size, at int, ok bool) {
	for _, f := range gigaBytes {
		if at = bytes.Index(text, []byte(f.label)); at < 0 {
			continue
		}
		n, rest, ok := cutFloat(trimBlanks(text[at+len(f.label):]))
		_, known := cutPrefix(trimBlanks(rest), "GigaBytes")
		s, fits := n.times(GiB)
		s.Resolution = 0 // all of the float's digits
		return f.q, s, at, ok && known && fits
	}
	return 0, Size{}, 0, false
}

// readGigaBytes reads the lines of the earlier see_memory_usage, as many as follow one another.
func readGigaBytes(l *line, at int) (end int) {
	// What stands before the needle tells the reading: "Max Memory Allocated ", "Max cache Allocated ".
	start := max(0, at-len("Max c"))
	q, s, from, ok := cutGigaBytes(firstBytes(l.text[start:], nearby))
	if from += start; !ok || from > at {
		return 0
	}
	c := l.checkpoint(from, "see_memory_usage")
	if q == Allocated {
		c.Name = l.messageBefore(from)
	}
	c.Set(q, s)
	for {
		text, ok := l.peek(1)
		if !ok {
			break
		}
		q, s, _, ok := cutGigaBytes(text)
		if _, has := c.Get(q); !ok || has {
			break
		}
		l.next()
		c.Set(q, s)
	}
	return len(l.text)
}

// readWorkspace reads the block on the inference workspace. total_size is not set where the workspace is made anew, and the
// line then shows what stood there: a total below what is free, or above 1 TiB, is left out.
func readWorkspace(l *line, at int) (end int) {
	cut := func(text []byte, label string) (Size, bool) {
		i := bytes.Index(text, []byte(label))
		if i < 0 {
			return Size{}, false
		}
		n, rest, ok := cutNumber(trimBlanks(text[i+len(label):]))
		_, known := cutPrefix(trimBlanks(rest), "(GigaBytes)")
		s, fits := n.times(GiB)
		return s, ok && known && fits && n.digits >= 0
	}
	free, ok := cut(l.text[at:], needleWorkspace)
	if !ok {
		return 0
	}
	c := l.checkpoint(at, "inference workspace")
	c.Sampled = true
	c.Set(Free, free)
	for _, f := range []struct {
		label string
		q     Quantity
	}{{"Total memory: ", Total}, {"Requested memory: ", Buffer}} {
		text, there := l.peek(1)
		s, ok := cut(text, f.label)
		if !there || !ok {
			break
		}
		l.next()
		if f.q != Total || s.Bytes >= free.Bytes && s.Bytes <= TiB {
			c.Set(f.q, s)
		}
	}
	return len(l.text)
}

// nearby is how far from a needle the rest of a reading is looked for, in bytes.
const nearby = 512

// megatronRank is the N of the last "[Rank N]" in what stands before a reading, and where it stands, -1 where there is none.
func megatronRank(text []byte) (rank, at int) {
	if at = bytes.LastIndex(text, []byte("[Rank ")); at < 0 {
		return 0, -1
	}
	rank, rest, ok := cutInt(text[at+len("[Rank "):])
	if !ok || len(rest) == 0 || rest[0] != ']' {
		return 0, -1
	}
	return rank, at
}
