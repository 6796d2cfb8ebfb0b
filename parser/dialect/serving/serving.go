package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// addSampled adds a reading of one buffer, model or cache, or of a level that a server logs when
// it starts. The reading is Sampled, so that it begins no stage: a server prints the same names
// again when it loads a second model for drafts. addSampled returns the reading, so that the
// caller can add more sizes.
//
// A negative size becomes a [record.Change]. It is the difference of two levels, and negative
// because another process freed memory between them.
func addSampled(
	l *scan.Line,
	at int,
	name string,
	lane record.Lane,
	q record.Quantity,
	s record.Size,
) *record.Checkpoint {
	if s.Bytes < 0 {
		change := record.Change{Header: l.Header(at), Name: name, Lane: lane}
		change.Set(q, s)
		l.Add(change)
		return &record.Checkpoint{}
	}
	c := l.Checkpoint(at, name)
	c.Lane, c.Sampled = lane, true
	c.Set(q, s)
	return c
}

// readSize reads the size at the offset from, behind blanks. It returns the size and the offset
// behind it, or 0 if there is no size. If the line was cut off inside the size, ok is false and
// end is the line's length. readSize then adds an error for the reading that begins at the offset
// `at`.
func readSize(l *scan.Line, at, from int) (s record.Size, end int, ok bool) {
	text := l.Text[from:]
	if s, rest, ok := lex.CutSize(text, 0); ok {
		return s, len(l.Text) - len(rest), true
	}
	n, rest, number := lex.CutNumber(lex.TrimBlanks(text))
	unit, _ := lex.CutUnit(rest)
	_, fits := n.Times(max(unit, 1))
	if number && (len(bytes.TrimSpace(rest)) == 0 || !fits) {
		l.Bad(
			at,
			"a size such as 5.79 GiB",
			"the value is left out; the line was cut, or two processes write to the log",
		)
		return record.Size{}, len(l.Text), false
	}
	return record.Size{}, 0, false
}

// parallelRank returns the rank in words such as "Worker_TP1", "EngineCore_DP0" or "TP0 EP0". It
// is the rank in tensor, data or pipeline parallelism. If the words give two of these ranks, as
// in "DP1 TP0", neither is the rank of the process, and parallelRank returns 0. The rank in
// expert parallelism (EP) does not count, because it repeats another rank.
func parallelRank(words []byte) (rank int) {
	kinds := 0
	for len(words) > 0 {
		var word []byte
		if i := bytes.IndexAny(words, "_ "); i >= 0 {
			word, words = words[:i], words[i+1:]
		} else {
			word, words = words, nil
		}
		if len(word) < 3 || word[1] != 'P' || word[0] != 'T' && word[0] != 'D' && word[0] != 'P' {
			continue
		}
		if n, rest, ok := lex.CutInt(word[2:]); ok && len(rest) == 0 {
			rank = n
			kinds++
		}
	}
	if kinds != 1 {
		return 0
	}
	return rank
}
