package soaklog

import (
	"bytes"
	"cmp"
	"iter"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A quoteMark is the record of a [record.QuoteLine]. It is kept until the reader knows whether
// the line itself is quoted.
type quoteMark struct{ record.Header }

// Moved returns a copy of the mark whose line number is larger by the given number of lines.
func (q quoteMark) Moved(lines int) record.Record {
	q.Pos.Line += lines
	return q
}

// readHarness reads a line of the harness, or a line that looks like one.
func readHarness(l *scan.Line, at int) (end int) {
	switch {
	case !l.Begins(at) || !l.IsOwn():
		if end = readAltered(l, at); end == 0 {
			return 0
		}
	default:
		rec := ownRecord(l, at)
		if l.IsWrapped() {
			rec = wrappedLine{rec, wrongWrap(l, at)}
		}
		l.Add(rec)
	}
	l.NoteOwn()
	if before, ok := l.Previous(1); ok && string(bytes.TrimSpace(before)) == record.QuoteLine {
		end = at + len(record.HarnessPrefix) // the line may be quoted
	}
	return cmp.Or(end, len(l.Text))
}

// ownRecord returns the record of a line of the harness.
func ownRecord(l *scan.Line, at int) record.Record {
	if string(bytes.TrimSpace(l.Text[at:])) == record.QuoteLine {
		return quoteMark{l.Header(at)}
	}
	return parseRecord(l.Text[at+len(record.HarnessPrefix):], l.Header(at), false)
}

// Quotes separates the lines that the harness wrote in a log from the lines that the harness
// quoted.
type Quotes struct {
	line int  // number of the line that the last quote quotes; 0 if none
	own  int  // number of the last line that the harness wrote
	seen bool // a line was read in the form in which the harness writes
	// wrap says how that line was wrapped. All lines of the harness are wrapped alike, because who
	// wrapped one wrapped the whole log.
	wrap source.WrapKind
}

// Resolve replaces the records of quoted lines by [record.Quoted], in the next batch of the log.
// If a pipeline prints a line that looks like the harness's, the harness writes "[vramsoak]
// quote" before it; Resolve removes the record of this quote. In the lines that the harness
// wrote, Resolve removes the records of all other dialects.
func (q *Quotes) Resolve(b *scan.Batch) {
	if !b.Own {
		return
	}
	left := b.Entries[:0]
	for _, e := range b.Entries {
		q.unwrap(&e)
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
			e.Other = record.Quoted{Header: head} // the harness does not quote such a line of the pipeline
		case isChanged:
			q.own = at
			if change.Expected == "" {
				continue
			}
			e.Other = change.SyntaxError
		case named:
			if !q.seen {
				q.wrap = e.Wrap
			}
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

// unwrap sets the record of a wrapped line that may be of the harness. If the line is wrapped
// otherwise than the harness's first line in this log, the pipeline printed it, or somebody added
// the wrapper later.
func (q *Quotes) unwrap(e *scan.Entry) {
	line, wrapped := e.Other.(wrappedLine)
	switch {
	case wrapped && (!q.seen || e.Wrap == q.wrap):
		e.Other = line.Record
	case wrapped && line.wrong.Expected == "":
		e.Other = record.Quoted{Header: line.Head()}
	case wrapped:
		e.Other = line.wrong
	case q.wrap != 0 && e.Other != nil && e.Wrap == 0 && e.Other.Head().Dialect == Harness.Name:
		if _, quoted := e.Other.(record.Quoted); !quoted {
			e.Other = record.SyntaxError{
				Header:   e.Other.Head(),
				Expected: "a line of vramsoak behind the same prefix as the lines of vramsoak before it",
				Found:    record.HarnessPrefix,
				Advice:   "this file joins several logs; run vramsoak check on each soak.log",
			}
		}
	}
}

// ResolveQuotes returns the batches of a log with their quotes resolved, see [Quotes.Resolve].
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
