package soaklog

import (
	"bytes"
	"fmt"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// An alteredLine is the record of a line that resembles a line of the harness, but has another
// form. For example, it has colours, or text before the prefix:
//
//	ESC[32m[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2ESC[0m
//	2026-11-20T02:00:00Z [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed
//
// The record is kept until [Quotes.Resolve] knows whether the harness quoted the line. If the
// harness quoted it, the pipeline printed it. If not, somebody changed the log after it was
// written.
//
// A changed line is not read as a line of the harness. Some changed lines say that a file or a
// process failed, or that a run began. If vramsoak ignored such a line, a failing log could pass.
// So such a line is a syntax error.
type alteredLine struct {
	record.SyntaxError // Expected is "" if no failing log can pass without the line
	// inside is set if an escape is inside the prefix. The harness does not quote a line with
	// such a prefix.
	inside bool
}

// Moved returns a copy of the line whose number is larger by the given number of lines.
func (c alteredLine) Moved(lines int) record.Record {
	c.Pos.Line += lines
	return c
}

// A wrappedLine is the record of a line of the harness behind the prefix of a container or the
// like, see [source.Unwrapper]. It is kept until [Quotes.Resolve] knows how the log's other lines
// of the harness are wrapped. wrong is the error if the harness's other lines have different
// wrappers. Its Expected is "" if no failing log can pass without the line.
type wrappedLine struct {
	record.Record
	wrong record.SyntaxError
}

// Moved returns a copy of the line whose number is larger by the given number of lines.
func (w wrappedLine) Moved(lines int) record.Record {
	w.Record = w.Record.Moved(lines)
	w.wrong.Pos.Line += lines
	return w
}

// wrongWrap returns the error for a line at an offset that is wrapped otherwise than the lines of
// the harness.
func wrongWrap(l *scan.Line, at int) (wrong record.SyntaxError) {
	word, hides := alteredWord(l.Text[at+len(record.HarnessPrefix) : min(len(l.Text), at+scan.Near)])
	if hides {
		l.Bad(at, record.HarnessPrefix+" "+word+" at the beginning of its line; elsewhere it is not read",
			"a prefix precedes it; remove it from each line, or check soak.log itself")
		wrong, _ = l.Last().(record.SyntaxError)
		l.Undo()
	}
	return wrong
}

// readAltered reads a line that has the harness's prefix, but not the form in which the harness
// writes lines.
func readAltered(l *scan.Line, at int) (end int) {
	begins := l.Begins(at)
	word, hides := alteredWord(l.Text[at+len(record.HarnessPrefix) : min(len(l.Text), at+scan.Near)])
	if source.IsQuoted(l.Text, at) &&
		(len(bytes.Trim(l.Text[:at], " \t\"'`")) > 0 || !hasHarnessTime(l, at)) {
		word = "" // a mention, or program source
	}
	switch {
	case begins && word == "":
		l.Add(record.Quoted{Header: l.Header(at)})
		return at + len(record.HarnessPrefix)
	case !begins && !hides, word == "", l.Cut():
		return 0
	}
	c := alteredLine{record.SyntaxError{Header: l.Header(at)}, !record.NeedsQuote(l.Written())}
	if hides {
		what, advice := "as vramsoak writes it: with no colours and nothing else added",
			"the line was changed after it was written; check soak.log itself"
		if !begins {
			what = "at the beginning of its line; elsewhere it is not read"
			advice = fmt.Sprintf("%d bytes precede it; remove them from each line, "+
				"or check soak.log itself", at)
		}
		l.Bad(at, record.HarnessPrefix+" "+word+" "+what, advice)
		c.SyntaxError, _ = l.Last().(record.SyntaxError)
		l.Undo()
	}
	l.Add(c)
	return len(l.Text)
}

// hasHarnessTime reports whether the text behind the prefix at an offset has a time as the
// harness writes it.
func hasHarnessTime(l *scan.Line, at int) bool {
	return bytes.Contains(l.Text[at:min(len(l.Text), at+scan.Near)], []byte(" time=2"))
}

// alteredWord returns the kind of record that the text behind the harness's prefix names, or ""
// if the harness writes no such line. hides is set if a failing log could pass without the line.
// Markup may precede the kind: "**[vramsoak]** file-end time=2026-11-20T...".
func alteredWord(text []byte) (word string, hides bool) {
	text = bytes.TrimLeft(text, " \t*_`:")
	name, rest, _ := bytes.Cut(text, []byte(" "))
	says := func(words ...string) bool {
		for _, w := range words {
			if bytes.Contains(rest, []byte(w)) {
				return true
			}
		}
		return false
	}
	switch word = string(name[:min(len(name), 16)]); word {
	case "run-start":
		hides = says("time=")
	case "file-end":
		hides = says("status=failed", "status=crashed", "status=timeout", "status=oom")
	case "exit":
		hides = says(" code=") && !says(" code=0") && says("time=")
	}
	if stamp, ok := lex.CutPrefix(rest, "time="); !hides &&
		(!ok || len(stamp) == 0 || !lex.IsDigit(stamp[0])) {
		return "", false
	}
	return word, hides
}
