package parser

import "bytes"

// QuoteLine is the line that the harness writes before a line of the pipeline that could be taken for
// the harness's own: it says that the next line is the pipeline's, whatever stands in it. So a log is
// understood from its first line on, without a secret: what a pipeline prints is behind such a line, a
// line like this one too.
//
//	[vramsoak] quote
//	[vramsoak] file-end index=12 path=audio/0012.wav status=ok
const QuoteLine = HarnessPrefix + " quote"

// MayBeOwn reports whether a line of the pipeline could be taken for one of the harness, by this
// program or another: it is to be quoted. It says so of more lines than [Read] takes for the harness's.
func MayBeOwn(line []byte) bool { return bytes.Contains(line, harnessPrefix) }

var harnessPrefix = []byte(HarnessPrefix)

// A Quoted is a line in the harness's name that the harness did not write. It says nothing.
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
	case !l.begins(at):
		return 0
	case !l.isOwn():
		l.add(Quoted{l.header(at)})
	case string(bytes.TrimSpace(l.text[at:])) == QuoteLine:
		l.add(quote{l.header(at)})
	default:
		l.add(parseOwn(l.text[at+len(HarnessPrefix):], l.header(at), false))
	}
	l.s.out.own = true
	return len(l.text)
}

// quotes tells the lines of the harness in a log from those that are quoted.
type quotes struct {
	line int // the one that is quoted last, 0 where none is
}

// resolve replaces the records of quoted lines in the next batch of the log, and takes the quotes out.
func (q *quotes) resolve(b *batch) {
	if !b.own {
		return
	}
	left := b.entries[:0]
	for _, e := range b.entries {
		if e.other != nil && e.other.Head().Dialect == ownDialect.name {
			head := e.other.Head()
			_, isQuote := e.other.(quote)
			switch at := head.Pos.Line + b.line; {
			case at == q.line:
				e.other = Quoted{head}
			case isQuote:
				q.line = at + 1
				continue
			}
		}
		left = append(left, e)
	}
	clear(b.entries[len(left):])
	b.entries = left
}
