package parser

import (
	"bytes"
	"cmp"
	"iter"
)

// A quote is a QuoteLine, until it is known whether it is itself quoted.
type quote struct{ Header }

func (q quote) Moved(lines int) Record {
	q.Pos.Line += lines
	return q
}

// readHarness reads a line of the harness, or what looks like one.
func readHarness(l *line, at int) (end int) {
	switch {
	case !l.begins(at) || !l.isOwn():
		if end = readChanged(l, at); end == 0 {
			return 0
		}
	case string(bytes.TrimSpace(l.text[at:])) == QuoteLine:
		l.add(quote{l.header(at)})
	default:
		l.add(parseOwn(l.text[at+len(HarnessPrefix):], l.header(at), false))
	}
	l.noteOwn()
	if before, ok := l.previous(1); ok && string(bytes.TrimSpace(before)) == QuoteLine {
		end = at + len(HarnessPrefix) // it may be quoted
	}
	return cmp.Or(end, len(l.text))
}

// quotes tells the lines of the harness in a log from those that are quoted.
type quotes struct {
	line int  // the one that is quoted last, 0 where none is
	own  int  // the last one of the harness
	seen bool // there was one, in the harness's own form
}

// resolve replaces the harness's records of quoted lines in the next batch of the log, and takes out the quotes, and what
// else was read in the harness's lines.
func (q *quotes) resolve(b *batch) {
	if !b.own {
		return
	}
	left := b.entries[:0]
	for _, e := range b.entries {
		head := e.Header
		if e.other != nil {
			head = e.other.Head()
		}
		at := head.Pos.Line + b.line
		_, isQuoted := e.other.(Quoted)
		_, isQuote := e.other.(quote)
		change, isChanged := e.other.(changed)
		switch named := head.Dialect == ownDialect.name && !isQuoted; {
		case named && at == q.line:
			e.other = Quoted{head}
		case isChanged && change.inside && q.seen:
			e.other = Quoted{head} // the harness was there, and had no cause to quote it
		case isChanged:
			q.own = at
			if change.Expected == "" {
				continue
			}
			e.other = change.SyntaxError
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
	clear(b.entries[len(left):])
	b.entries = left
}

// resolved returns the batches of a log, in which the lines of the harness are told from those that
// are quoted.
func resolved(batches iter.Seq2[*batch, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		var q quotes
		for b, err := range batches {
			q.resolve(b)
			if !yield(b, err) {
				return
			}
		}
	}
}
