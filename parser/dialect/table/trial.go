package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A Trial says how a program reads a line. It helps to write a pattern.
type Trial struct {
	Pos     record.Position
	Dialect string
	// Text is the line without terminal escapes, or a piece of the line that ends with '\r'.
	Text string
	// Groups are the groups of all matches, in the order of their beginnings. A group comes before
	// the groups inside it.
	Groups []Group
	// Records are the records of the line. A line without records and groups has one of the literals,
	// but no pattern matches it.
	Records []record.Record
}

// A Group is a named group of a pattern. It matched Text[Start:End].
type Group struct {
	Name       string
	Start, End int
}

// Matched reports whether a pattern matches the line.
func (t *Trial) Matched() bool { return len(t.Groups) > 0 || len(t.Records) > 0 }

// Try reads a log with the patterns of some programs alone. It yields each line that a pattern
// matches, or that has one of a program's literals. It yields an I/O error once and ends there.
func Try(r io.Reader, name string, programs []Program) iter.Seq2[Trial, error] {
	return func(yield func(Trial, error) bool) {
		var tries []*try
		for i := range programs {
			p := &programs[i]
			if wrong := p.Mistakes(); len(wrong) > 0 {
				yield(
					Trial{},
					fmt.Errorf("dialect %q: %s: expected %s", p.Name, wrong[0].Field, wrong[0].Expected),
				)
				return
			}
			tries = append(tries, newTry(p))
		}
		for l, err := range pieces(r, name) {
			if err != nil {
				yield(Trial{}, err)
				return
			}
			for _, t := range tries {
				if trial, ok := t.line(l); ok && !yield(trial, nil) {
					return
				}
			}
		}
	}
}

// A try is a program that tries to read lines.
type try struct {
	name     string
	dialects []*scan.Dialect
	readers  []*reader
	literals []string
}

func newTry(p *Program) *try {
	t := &try{name: p.Name, dialects: p.Dialects(), literals: p.Literals()}
	for i := range p.Lines {
		t.readers = append(t.readers, newReader(p, i))
	}
	return t
}

// line returns the trial of a line. ok is false if the line neither matches nor has a literal.
func (t *try) line(l logPiece) (trial Trial, ok bool) {
	near := slices.ContainsFunc(
		t.literals,
		func(s string) bool { return bytes.Contains(l.text, []byte(s)) },
	)
	if !near && len(t.literals) > 0 {
		return Trial{}, false
	}
	trial = Trial{Pos: l.pos, Dialect: t.name, Text: string(l.text)}
	for _, r := range t.readers {
		var f loggedFinder
		logger := func() int { return source.LoggerEnd(l.text) }
		for f.begin(r.pattern, l.text, logger); f.next(); {
			for _, g := range r.groups {
				if start, end := f.slots[g.start], f.slots[g.end]; start >= 0 && g.kind != kindBegun {
					trial.Groups = append(trial.Groups, Group{g.name, start, end})
				}
			}
		}
	}
	slices.SortStableFunc(trial.Groups, func(a, b Group) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	trial.Records = read(l.text, l.pos, t.dialects)
	return trial, near || trial.Matched()
}

// A logPiece is a line, or a piece of a line that ends with '\r'. It has no line end and no
// escapes.
type logPiece struct {
	text []byte
	pos  record.Position
}

// pieces yields the lines of a log. It cuts a line of more than 64 KiB into pieces.
func pieces(r io.Reader, name string) iter.Seq2[logPiece, error] {
	return func(yield func(logPiece, error) bool) {
		buffered := bufio.NewReaderSize(r, source.Margin)
		for n := 1; ; {
			text, err := buffered.ReadSlice('\n')
			whole := len(text) > 0 && text[len(text)-1] == '\n'
			for piece := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if !yield(logPiece{source.Unwrapped(piece), record.Position{Path: name, Line: n}}, nil) {
					return
				}
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil && !errors.Is(err, bufio.ErrBufferFull):
				yield(logPiece{}, fmt.Errorf("reading %s after line %d: %w", name, n-1, err))
				return
			}
			if whole {
				n++
			}
		}
	}
}
