package html

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"slices"

	"vramsoak/parser"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/reports/sink"
)

// A quotation is a few lines of a log: those around the line that shows a finding, and further ones
// that belong to the evidence.
type quotation struct {
	Log   string
	Lines []quotedLine
}

type quotedLine struct {
	Number int
	Text   string
	Shows  bool // this line shows the finding
	Gap    bool // the quotation leaves out lines before this one
}

// The limits of quotations.
const (
	quotesMax   = 60  // quotations on a page
	linesBefore = 6   // before the line that shows the finding
	linesAfter  = 4   // after it
	furtherMax  = 8   // further lines of a quotation
	lineMax     = 400 // bytes of a line
)

// quotes collects which lines of which logs the page quotes.
type quotes struct {
	count int
	want  map[string]map[int][]want // by the log's name and the line
	last  map[string]int            // the last line that is quoted, by the log's name
}

type want struct {
	into  *quotation
	shows bool
}

// around returns a quotation of the lines around a position, and of further lines of the same log.
// It has no lines yet. It is nil if the page has enough quotations. The line of the position shows
// the finding, or the line shown instead, if that is not 0.
func (q *quotes) around(at *record.Position, shown int, further ...int) *quotation {
	if at == nil || q.count >= quotesMax {
		return nil
	}
	if q.want == nil {
		q.want, q.last = map[string]map[int][]want{}, map[string]int{}
	}
	if q.want[at.Path] == nil {
		q.want[at.Path] = map[int][]want{}
	}
	q.count++
	out := &quotation{Log: sink.Name(at.Path)}
	shown = cmp.Or(shown, at.Line)
	lines := slices.Clone(further[:min(len(further), furtherMax)])
	for line := max(1, min(shown, at.Line)-linesBefore); line <= at.Line+linesAfter; line++ {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		q.want[at.Path][line] = append(q.want[at.Path][line], want{out, line == shown})
		q.last[at.Path] = max(q.last[at.Path], line)
	}
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
	r := bufio.NewReaderSize(log, 64<<10)
	for line := 1; line <= q.last[name]; line++ {
		text, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) > 0 || err == nil {
			for _, w := range wanted[line] {
				w.into.add(line, text, w.shows)
			}
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// add appends a line.
func (q *quotation) add(number int, text string, shows bool) {
	n := len(q.Lines)
	q.Lines = append(q.Lines, quotedLine{
		Number: number, Text: sink.Name(lex.Shorten(source.Shown(text), lineMax)), Shows: shows,
		Gap: n > 0 && q.Lines[n-1].Number != number-1,
	})
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
