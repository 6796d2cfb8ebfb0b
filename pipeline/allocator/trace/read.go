package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"vramsoak/pipeline/allocator"
)

// Read reads a trace; name is for errors. Reading ends at the first error, an [*Error] where the trace is wrong. Lines may be of
// any length; those that are empty or a comment are passed over.
func Read(r io.Reader, name string) iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		lines := bufio.NewReaderSize(r, 256<<10)
		var long []byte // a line that does not fit the reader's buffer
		for number := 1; ; number++ {
			text, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				long, err = readLong(lines, append(long[:0], text...))
				text = long
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Op{}, fmt.Errorf("reading %s: %w", name, err))
				return
			}
			if len(text) == 0 {
				return
			}
			l := line{text: bytes.TrimSuffix(text, []byte{'\n'}), canonical: true}
			op, something := l.op()
			if l.bad != nil {
				l.bad.Name, l.bad.Line = name, number
				yield(Op{}, l.bad)
				return
			}
			if !something {
				continue
			}
			op.Line = number
			if !l.canonical {
				op.Text = string(l.text)
			}
			if !yield(op, nil) {
				return
			}
		}
	}
}

// readLong reads the rest of a line.
func readLong(lines *bufio.Reader, begun []byte) ([]byte, error) {
	for {
		more, err := lines.ReadSlice('\n')
		begun = append(begun, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return begun, err
		}
	}
}

// A line is a line of a trace that is being read.
type line struct {
	text []byte
	at   int // offset of what comes next
	// canonical says that the line is as Op.AppendTo writes it, so far.
	canonical bool
	bad       *Error
}

// op reads the operation; false where there is none, or where it is bad.
func (l *line) op() (op Op, something bool) {
	l.blanks(0)
	if l.ended() {
		return op, false
	}
	op.Kind = Kind(l.text[l.at])
	begin := l.at
	l.at++
	switch op.Kind {
	case Malloc:
		op.ID = l.number("the ID of a block")
		op.Size = int64(min(l.number("a size in bytes"), math.MaxInt64)) // either is more than any card has
		if l.blanks(1); !l.ended() {
			op.Stream, op.OnStream = l.stream(), true
		}
	case Free:
		op.ID = l.number("the ID of a block")
	case RecordStream:
		op.ID = l.number("the ID of a block")
		op.Stream = l.stream()
	case Synchronize, EmptyCache, ResetPeak, Snapshot:
	case MemoryFraction:
		word := l.word()
		fraction, err := strconv.ParseFloat(string(word), 64)
		if err != nil {
			l.expected("a fraction, such as 0.8", word)
		}
		op.Fraction, l.canonical = fraction, false
	case Configure:
		l.blanks(1)
		op.Conf = string(l.text[l.at:])
		l.at = len(l.text)
	default:
		l.at = begin
		l.expected("an operation (a, f, s, y, e, r, F, c or S)", l.word())
		return op, false
	}
	if l.blanks(0); !l.ended() {
		l.expected("the end of the line", l.word())
	}
	return op, l.bad == nil
}

// ended says that only a comment may follow.
func (l *line) ended() bool {
	if l.at == len(l.text) {
		return true
	}
	if l.text[l.at] == '#' {
		l.canonical = false
		return true
	}
	return false
}

// blanks passes over blanks, of which the canonical form has a number here.
func (l *line) blanks(canonical int) {
	begin := l.at
	for l.at < len(l.text) && isBlank(l.text[l.at]) {
		l.at++
	}
	if n := l.at - begin; n != canonical || n == 1 && l.text[begin] != ' ' {
		l.canonical = false
	}
}

// number reads a decimal number. Larger ones than fit are the largest that does, as strtoull has it.
func (l *line) number(what string) uint64 {
	l.blanks(1)
	begin := l.at
	n := uint64(0)
	for l.at < len(l.text) {
		digit := l.text[l.at] - '0'
		if digit > 9 {
			break
		}
		if n > (math.MaxUint64-uint64(digit))/10 {
			n, l.canonical = math.MaxUint64, false
		} else {
			n = 10*n + uint64(digit)
		}
		l.at++
	}
	if l.at == begin || l.at < len(l.text) && !isBlank(l.text[l.at]) && l.text[l.at] != '#' {
		l.at = begin
		l.expected(what, l.word())
	}
	if l.text[min(begin, len(l.text)-1)] == '0' && l.at > begin+1 {
		l.canonical = false
	}
	return n
}

func (l *line) stream() allocator.Stream {
	const most = 1 << 20 // streams, so that what knows them by number stays small
	begin := l.at
	n := l.number("a stream, from 0 on")
	if n >= most {
		l.at = begin
		l.blanks(1)
		l.expected("a stream below "+strconv.Itoa(most), l.word())
	}
	return allocator.Stream(n)
}

// word is what comes next, up to a blank.
func (l *line) word() []byte {
	l.blanks(1)
	rest := l.text[l.at:]
	if end := slices.IndexFunc(rest, isBlank); end >= 0 {
		rest = rest[:end]
	}
	l.at += len(rest)
	return rest
}

// expected notes the first thing that is wrong: the word that was just read.
func (l *line) expected(what string, word []byte) {
	if l.bad != nil {
		return
	}
	const most = 40 // bytes of a word that is shown
	found := "the end of the line"
	if len(word) > 0 {
		found = strconv.Quote(string(word[:min(len(word), most)]))
	}
	l.bad = &Error{Column: l.at - len(word) + 1, Expected: what, Found: found}
}

// isBlank says what separates words; a carriage return ends lines that were written elsewhere.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }
