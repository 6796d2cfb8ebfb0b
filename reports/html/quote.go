package html

import (
	"bufio"
	"errors"
	"io"
	"slices"

	"vramsoak/parser"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/reports/sink"
)

// A quotation is a few lines of a log around the line that shows a finding.
type quotation struct {
	Log   string
	Lines []quotedLine
}

type quotedLine struct {
	Number int
	Text   string
	Shows  bool // this line shows the finding
}

// The limits of quotations.
const (
	quotesMax   = 60  // quotations on a page
	linesBefore = 4   // before the line that shows the finding
	linesAfter  = 4   // after it
	lineMax     = 400 // bytes of a line
)

// quotes collects which lines of which logs the page quotes.
type quotes struct {
	all  []*quotation
	want map[string][]want // by the log's name
}

type want struct {
	line int
	into *quotation
}

// around returns a quotation of the lines around a position, which has no lines yet. It returns nil
// if the page has enough quotations.
func (q *quotes) around(at *record.Position) *quotation {
	if at == nil || len(q.all) >= quotesMax {
		return nil
	}
	out := &quotation{Log: sink.Line(at.Path)}
	if q.want == nil {
		q.want = map[string][]want{}
	}
	q.all = append(q.all, out)
	q.want[at.Path] = append(q.want[at.Path], want{at.Line, out})
	return out
}

// read reads a log again, up to the last line that is quoted. The log has the name name in
// positions, and lies at path.
func (q *quotes) read(name, path string) error {
	wanted := q.want[name]
	if len(wanted) == 0 {
		return nil
	}
	log, err := parser.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	last := 0
	for _, w := range wanted {
		last = max(last, w.line+linesAfter)
	}
	slices.SortStableFunc(wanted, func(a, b want) int { return a.line - b.line })
	r := bufio.NewReaderSize(log, 64<<10)
	first := 0 // the first of wanted that is not complete yet
	for line := 1; line <= last; line++ {
		text, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for first < len(wanted) && wanted[first].line+linesAfter < line {
			first++
		}
		for _, w := range wanted[first:] {
			if w.line-linesBefore > line {
				break
			}
			if len(text) > 0 || err == nil {
				shown := sink.Line(lex.Shorten(source.Shown(text), lineMax))
				w.into.Lines = append(w.into.Lines, quotedLine{line, shown, line == w.line})
			}
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// readLine reads a line of any length, and returns at most its first 4 x lineMax bytes.
func readLine(r *bufio.Reader) (string, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := 4*lineMax - len(text); room > 0 {
			text = append(text, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(text), err
		}
	}
}
