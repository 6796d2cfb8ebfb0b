package soaklog

import (
	"bytes"
	"cmp"
	"iter"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A quote is a QuoteLine, until it is known whether it is itself quoted.
type quoteMark struct{ record.Header }

func (q quoteMark) Moved(lines int) record.Record {
	q.Pos.Line += lines
	return q
}

// readHarness reads a line of the harness, or what looks like one.
func readHarness(l *scan.Line, at int) (end int) {
	switch {
	case !l.Begins(at) || !l.IsOwn():
		if end = readAltered(l, at); end == 0 {
			return 0
		}
	case string(bytes.TrimSpace(l.Text[at:])) == record.QuoteLine:
		l.Add(quoteMark{l.Header(at)})
	default:
		l.Add(parseRecord(l.Text[at+len(record.HarnessPrefix):], l.Header(at), false))
	}
	l.NoteOwn()
	if before, ok := l.Previous(1); ok && string(bytes.TrimSpace(before)) == record.QuoteLine {
		end = at + len(record.HarnessPrefix) // it may be quoted
	}
	return cmp.Or(end, len(l.Text))
}

// Quotes tells the lines of the harness in a log from those that are quoted.
type Quotes struct {
	line int  // the one that is quoted last, 0 where none is
	own  int  // the last one of the harness
	seen bool // there was one, in the harness's own form
}

// Resolve replaces the harness's records of quoted lines in the next batch of the log, and takes out the quotes, and what
// else was read in the harness's lines.
func (q *Quotes) Resolve(b *scan.Batch) {
	if !b.Own {
		return
	}
	left := b.Entries[:0]
	for _, e := range b.Entries {
		head := e.Header
		if e.Other != nil {
			head = e.Other.Head()
		}
		at := head.Pos.Line + b.Line
		_, isQuoted := e.Other.(record.Quoted)
		_, isQuote := e.Other.(quoteMark)
		change, isChanged := e.Other.(alteredLine)
		switch named := head.Dialect == Harness.Name && !isQuoted; {
		case named && at == q.line:
			e.Other = record.Quoted{Header: head}
		case isChanged && change.inside && q.seen:
			e.Other = record.Quoted{Header: head} // the harness was there, and had no cause to quote it
		case isChanged:
			q.own = at
			if change.Expected == "" {
				continue
			}
			e.Other = change.SyntaxError
		case named:
			q.own, q.seen = at, true
			if isQuote {
				q.line = at + 1
				continue
			}
		case at == q.own && !isQuoted:
			continue
		}
		left = append(left, e)
	}
	clear(b.Entries[len(left):])
	b.Entries = left
}

// Resolved returns the batches of a log, in which the lines of the harness are told from those that
// are quoted.
func ResolveQuotes(batches iter.Seq2[*scan.Batch, error]) iter.Seq2[*scan.Batch, error] {
	return func(yield func(*scan.Batch, error) bool) {
		var q Quotes
		for b, err := range batches {
			q.Resolve(b)
			if !yield(b, err) {
				return
			}
		}
	}
}
