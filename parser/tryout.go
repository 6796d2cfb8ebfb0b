package parser

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

// A Trial is what a dialect of the user's own makes of a line.
type Trial struct {
	Pos     record.Position
	Dialect string
	// Text is the line without terminal escapes, or the piece of one that ends with '\r'.
	Text string
	// Groups are those of the matches, in the order in which they begin; an enclosing one comes first.
	Groups []Group
	// Records are what was read. Without records and groups one of the dialect's literals stands in
	// the line, but the pattern does not match it.
	Records []record.Record
}

// A Group is what a named group of a pattern matched: Text[Start:End].
type Group struct {
	Name       string
	Start, End int
}

// Matched says that the pattern matches the line.
func (t *Trial) Matched() bool { return len(t.Groups) > 0 || len(t.Records) > 0 }

// Try reads a log in the user's dialects alone and yields each line that one of them matches, or
// has a literal in. It is for those who write a pattern. An I/O error is yielded once and ends the
// reading.
func Try(r io.Reader, name string, user []dialect.User) iter.Seq2[Trial, error] {
	return func(yield func(Trial, error) bool) {
		var tries []*tryout
		for _, d := range user {
			set, err := NewSet(d.Name, d)
			if err != nil {
				yield(Trial{}, err)
				return
			}
			tries = append(tries, &tryout{d.Reader(0), set, d.Literals()})
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

type tryout struct {
	*dialect.UserReader
	set      *Set
	literals []string
}

func (t *tryout) line(l logPiece) (trial Trial, ok bool) {
	near := slices.ContainsFunc(
		t.literals,
		func(s string) bool { return bytes.Contains(l.text, []byte(s)) },
	)
	if !near && len(t.literals) > 0 {
		return Trial{}, false
	}
	trial = Trial{Pos: l.pos, Dialect: t.Name}
	for _, match := range t.Re.FindAllSubmatchIndex(l.text, -1) {
		for i, name := range t.Names {
			if start, end := match[2*i], match[2*i+1]; name != "" && start >= 0 {
				trial.Groups = append(trial.Groups, Group{name, start, end})
			}
		}
	}
	slices.SortStableFunc(trial.Groups, func(a, b Group) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	for _, rec := range t.set.ParseLine(l.text, l.pos) {
		if rec.Head().Dialect == t.Name {
			trial.Records = append(trial.Records, rec)
		}
	}
	trial.Text = string(l.text)
	return trial, near || trial.Matched()
}

// A logPiece is a line, or what of it ends with '\r', without its end and without escapes.
type logPiece struct {
	text []byte
	pos  record.Position
}

// pieces yields the lines of a log. One that is longer than 64 KiB comes in pieces.
func pieces(r io.Reader, name string) iter.Seq2[logPiece, error] {
	return func(yield func(logPiece, error) bool) {
		buffered := bufio.NewReaderSize(r, source.Margin)
		for n := 1; ; {
			text, err := buffered.ReadSlice('\n')
			whole := len(text) > 0 && text[len(text)-1] == '\n'
			for piece := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if !yield(logPiece{source.PlainText(piece, true), record.Position{Path: name, Line: n}}, nil) {
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
