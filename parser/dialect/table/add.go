package table

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// add adds the records of the match m to the line, and reports whether there were any. slots holds
// the offsets of the match and of its groups.
func (r *reader) add(l *scan.Line, m *match, slots []int) bool {
	before := l.Added()
	head := r.head(l, m, slots)
	header := func() record.Header {
		h := l.Header(head)
		if !m.time.IsZero() {
			m.time.Into(&h)
		}
		return h
	}
	if len(m.file) > 0 {
		l.Add(record.FileStart{Header: header(), Pipeline: true, Path: l.Str(m.file)})
	}
	if m.Len() > 0 {
		name := r.named
		if m.name != nil {
			name = l.Str(m.name)
		}
		if r.Change {
			l.Add(record.Change{Header: header(), Name: name, Lane: m.lane, Reading: m.Reading})
		} else {
			c := l.Checkpoint(head, name)
			if !m.time.IsZero() {
				m.time.Into(&c.Header)
			}
			c.Sampled, c.Lane, c.Reading = m.sampled, m.lane, m.Reading
		}
	}
	if m.fallback {
		l.Add(record.Event{Header: header(), Kind: record.EventFallback, Text: l.Message(m.first)})
	}
	switch {
	case r.whole == "":
		for _, wrong := range m.mistakes {
			r.bad(l, header(), wrong.expected, wrong.at)
		}
		if m.torn {
			r.bad(l, header(), "a whole line", r.tear(l, m, slots))
		}
	case m.torn || len(m.mistakes) > 0:
		expected := r.whole
		if len(m.mistakes) > 0 {
			expected = m.mistakes[0].expected + ", as in " + r.whole
		}
		if at := r.tear(l, m, slots); !source.HasPlaceholder(lex.FirstBytes(l.Text[at:], templateMax)) {
			l.Bad(at, expected, record.TornAdvice)
		}
	}
	return l.Added() > before
}

// head returns the offset at which the record begins. The time is before the match or its first
// group if there is one, else before the first size.
func (r *reader) head(l *scan.Line, m *match, slots []int) int {
	head := slots[0]
	for _, next := range []int{m.first, m.value} {
		if next <= head || !hasDigit(l.Text[head:next]) {
			continue // no time is between
		}
		if !m.time.IsZero() || hasDigit(l.Text[:head]) && !l.Header(head).Time.IsZero() {
			break
		}
		head = next
	}
	return head
}

// hasDigit reports whether a text has a digit, as every time has.
func hasDigit(text []byte) bool { return slices.ContainsFunc(text, lex.IsDigit) }

// templateMax is how many bytes of a torn line are checked for placeholders of program source.
const templateMax = 512

// tear returns the offset from which an error quotes a torn line. This is the end of the last
// number that counts. If none does, it is the offset of the first literal in the match, or else
// of the match.
func (r *reader) tear(l *scan.Line, m *match, slots []int) int {
	if m.kept >= 0 {
		return m.kept
	}
	for _, s := range r.literals {
		if i := bytes.Index(l.Text[slots[0]:], s); i >= 0 {
			return slots[0] + i
		}
	}
	return slots[0]
}

// bad adds a syntax error for a line that matches a pattern and cannot be read.
func (r *reader) bad(l *scan.Line, h record.Header, expected string, at int) {
	l.Add(record.SyntaxError{
		Header:   h,
		Expected: expected,
		Found:    lex.Shorten(strings.ToValidUTF8(string(l.Text[at:]), "�"), 80),
		Advice: "the line matches the pattern of the dialect " + r.program +
			"; correct the pattern, or give it a unit",
	})
}
