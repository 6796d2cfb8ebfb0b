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

// Read reads a trace. name is the trace's name in errors. Reading ends at the first error, which is
// an [*Error] if the trace is wrong. Read skips empty lines and comments. A comment may have any
// length, and an operation may have up to 1 MiB.
func Read(r io.Reader, name string) iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		lines := bufio.NewReaderSize(r, 256<<10)
		var long []byte // a line that does not fit the reader's buffer
		for number := 1; ; number++ {
			text, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				long, err = readLong(lines, append(long[:0], text...))
				text = long
				if len(text) > longest {
					yield(Op{}, &Error{
						Name: name, Line: number, Column: longest + 1,
						Expected: "the end of an operation", Found: "more than 1 MiB",
					})
					return
				}
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Op{}, fmt.Errorf("reading %s: %w", name, err))
				return
			}
			if len(text) == 0 {
				return
			}
			if last := len(text) - 1; text[last] == '\n' {
				text = text[:last]
			}
			if op := (Op{Line: number}); op.plain(text) {
				if !yield(op, nil) {
					return
				}
				continue
			}
			l := line{text: text, canonical: true}
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

// maxStreams limits the numbers of streams, because each stream costs memory and time: about 1.5 KB
// for its pools, and a search in the list of streams of each block that it uses. PyTorch itself
// makes 32 streams of each priority.
const maxStreams = 1 << 16

// longest is the length of the longest line that an operation may have, in bytes.
const longest = 1 << 20

// readLong reads the rest of a line that begins with begun, and returns the line. For a comment it
// returns only the beginning. If the line has more than longest bytes, readLong stops early.
func readLong(lines *bufio.Reader, begun []byte) ([]byte, error) {
	comment := false
	if first := slices.IndexFunc(begun, func(c byte) bool { return !isBlank(c) }); first >= 0 {
		comment = begun[first] == '#'
	}
	for {
		more, err := lines.ReadSlice('\n')
		if !comment {
			begun = append(begun, more...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(begun) > longest {
			return begun, err
		}
	}
}

// plain is a fast reader for nearly all lines: operations on a block that are written as AppendTo
// writes them. It returns false for other operations, other spellings and mistakes, which line.op
// reads.
func (o *Op) plain(text []byte) bool {
	const digits = 18 // numbers with so many digits cannot overflow
	if len(text) < 3 || text[1] != ' ' {
		return false
	}
	var numbers [3]uint64
	n := 0
	for i := 1; i < len(text); n++ {
		if text[i] != ' ' || n == len(numbers) {
			return false
		}
		i++
		begin, value := i, uint64(0)
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			value = 10*value + uint64(text[i]-'0')
		}
		if i == begin || i-begin > digits || text[begin] == '0' && i > begin+1 {
			return false
		}
		numbers[n] = value
	}
	o.Kind, o.ID = Kind(text[0]), numbers[0]
	switch {
	case o.Kind == Free && n == 1:
	case o.Kind == Malloc && n >= 2 && numbers[2] < maxStreams:
		o.Size, o.Stream, o.OnStream = int64(numbers[1]), allocator.Stream(numbers[2]), n == 3
	case o.Kind == RecordStream && n == 2 && numbers[1] < maxStreams:
		o.Stream = allocator.Stream(numbers[1])
	default:
		return false
	}
	return true
}

// A line reads one line of a trace.
type line struct {
	text []byte
	at   int // offset of the next word
	// canonical is true as long as the line is written as Op.AppendTo would write it.
	canonical bool
	bad       *Error
}

// op reads the operation. something is false for an empty line, a comment and a mistake.
func (l *line) op() (op Op, something bool) {
	if !l.more() {
		return op, false
	}
	l.canonical = l.at == 0
	op.Kind = Kind(l.text[l.at])
	begin := l.at
	l.at++
	switch op.Kind {
	case Malloc:
		op.ID = l.number("the ID of a block")
		op.Size = l.size()
		if l.more() {
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
		l.canonical = l.more() && l.canonical
		op.Conf = string(l.text[l.at:])
		l.at = len(l.text)
	default:
		l.at = begin
		l.expected("an operation (a, f, s, y, e, r, F, c or S)", l.word())
		return op, false
	}
	if l.more() {
		l.expected("the end of the line", l.word())
	}
	return op, l.bad == nil
}

// more skips blanks and reports whether something other than a comment comes next.
func (l *line) more() bool {
	begin := l.at
	for l.at < len(l.text) && isBlank(l.text[l.at]) {
		l.at++
	}
	if l.at == len(l.text) || l.text[l.at] == '#' {
		l.canonical = l.canonical && begin == len(l.text)
		return false
	}
	l.canonical = l.canonical && l.at == begin+1 && l.text[begin] == ' '
	return true
}

// number reads a decimal number. what describes the number in errors. A number above 2^64-1 becomes
// 2^64-1, as in C's strtoull.
func (l *line) number(what string) uint64 {
	const digits = 19 // numbers with so many digits cannot overflow
	if !l.more() {
		l.expected(what, nil)
		return 0
	}
	rest := l.text[l.at:]
	n, end := uint64(0), 0
	for end < len(rest) && rest[end]-'0' <= 9 {
		n = 10*n + uint64(rest[end]-'0')
		end++
	}
	if end > digits {
		l.canonical = false
		if parsed, err := strconv.ParseUint(string(rest[:end]), 10, 64); err != nil {
			n = math.MaxUint64
		} else {
			n = parsed
		}
	}
	if end == 0 || end < len(rest) && !isBlank(rest[end]) && rest[end] != '#' {
		l.expected(what, l.word())
		return 0
	}
	if rest[0] == '0' && end > 1 {
		l.canonical = false
	}
	l.at += end
	return n
}

// size reads a size in bytes. It refuses 2^63 and more, because PyTorch cannot allocate them: its
// rounding overflows to 0.
func (l *line) size() int64 {
	begin := l.at
	n := l.number("a size in bytes")
	if n > math.MaxInt64 {
		l.expected("a size below 2^63 bytes", bytes.TrimLeft(l.text[begin:l.at], " \t\r"))
	}
	return int64(n)
}

func (l *line) stream() allocator.Stream {
	n := l.number("a stream, from 0 on")
	if n >= maxStreams {
		l.expected("a stream below "+strconv.Itoa(maxStreams), strconv.AppendUint(nil, n, 10))
	}
	return allocator.Stream(n)
}

// word returns the text up to the next blank.
func (l *line) word() []byte {
	for l.at < len(l.text) && isBlank(l.text[l.at]) {
		l.at++
	}
	rest := l.text[l.at:]
	if end := slices.IndexFunc(rest, isBlank); end >= 0 {
		rest = rest[:end]
	}
	l.at += len(rest)
	return rest
}

// isBlank reports whether a byte separates words. A carriage return counts as a blank, because
// lines from Windows end in it.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// expected records that word, which was just read, is not `what`. It keeps only the first mistake
// of a line.
func (l *line) expected(what string, word []byte) {
	if l.bad != nil {
		return
	}
	const most = 40 // bytes of a word that are shown
	found := "the end of the line"
	if len(word) > 0 {
		found = strconv.Quote(string(word[:min(len(word), most)]))
	}
	l.bad = &Error{Column: l.at - len(word) + 1, Expected: what, Found: found}
}
