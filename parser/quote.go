package parser

import (
	"bytes"
	"cmp"
)

// QuoteLine is the line that the harness writes before a line of the pipeline that could be taken for
// the harness's own: the next line is the pipeline's, whatever it says. A pipeline that prints this
// line gets a quote before it too. So a reader who starts at the log's first line knows whose each
// line is, without a secret.
//
//	[vramsoak] quote
//	[vramsoak] file-end index=12 path=audio/0012.wav status=ok
const QuoteLine = HarnessPrefix + " quote"

// MayBeOwn reports whether a line of the pipeline could be taken for one of the harness, by this
// program or another: it is to be quoted. It says so of more lines than [Read] takes for the harness's.
func MayBeOwn(line []byte) bool { return bytes.Contains(line, harnessPrefix) }

var harnessPrefix = []byte(HarnessPrefix)

// A Quoted is a line in the harness's name that the harness did not write. As the harness's word it says
// nothing; what else the pipeline says in it is read as anywhere.
type Quoted struct{ Header }

// A quote is a QuoteLine, until it is known whether it is itself quoted.
type quote struct{ Header }

// isOwn reports whether the line is where the harness writes its lines, and begins as they do: it is not
// drawn over another one, wrapped in escapes, or printed by a program in a notebook.
func (l *line) isOwn() bool {
	text := l.s.win.buf[l.start:l.end]
	if l.docker != nil {
		text = l.inner
	}
	ownLine := l.start == 0 || l.s.win.buf[l.start-1] == '\n'
	return ownLine && !l.s.printed && bytes.HasPrefix(trimBlanks(withoutHole(text)), harnessPrefix)
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
	l.s.out.own = true
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
