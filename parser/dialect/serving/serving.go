package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// What the dialects of the inference servers share.

// part adds a reading that is no place in the program that has a name: what one buffer, model or
// cache takes, or a level that a server logs as it starts. Servers load a second model (for drafts)
// under the same names, which are no sign of a new file. It returns the reading, to which more may
// be added. A negative size is the difference of two levels, between which another process gave
// memory back.
func part(
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

// sizeAt reads the size that stands at an offset, after blanks; end is where it ends, 0 where there
// is none. Where the line was torn in it, it adds an error for the reading that begins at an
// offset, and ok is false with an end.
func sizeAt(l *scan.Line, at, from int) (s record.Size, end int, ok bool) {
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
			"what cannot be read is left out; the line was cut, or two writers share the log",
		)
		return record.Size{}, len(l.Text), false
	}
	return record.Size{}, 0, false
}

// parallelRank is the rank that words such as "Worker_TP1", "EngineCore_DP0" or "TP0 EP0" give:
// that of the only parallelism among tensor, data and pipeline. Experts lie across the ranks of
// those, so theirs is not looked at. With two of them no number is that of the process, and it is
// 0.
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
