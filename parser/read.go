package parser

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

const (
	// window is how much of a line is looked at in one piece; no record is longer than recordMax.
	window    = 1 << 20
	recordMax = 4 << 10
)

// Read yields the records of a log in its order. name stands in their positions. A line that looks like a record and
// cannot be read is a [SyntaxError] record; an I/O error is yielded once, with a nil record, and ends the reading.
//
// Lines may be of any length and hold any bytes: a '\r' ends a piece of a line as '\n' does (progress bars), and terminal
// escapes are passed over. Memory is constant.
func Read(r io.Reader, name string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		pos := Position{Path: name, Line: 1}
		var line []byte // what is read of the current line and not yet looked at
		start := true   // line holds the line's beginning, where the harness's lines are told by their prefix
		emit := func() bool {
			for _, rec := range parseLine(line, pos, start) {
				if !yield(rec, nil) {
					return false
				}
			}
			return true
		}
		for {
			piece, err := lines.ReadSlice('\n')
			line = append(line, piece...)
			switch {
			case err == nil:
				if !emit() {
					return
				}
				pos.Line++
				line, start = line[:0], true
			case errors.Is(err, bufio.ErrBufferFull):
				if len(line) < window {
					continue
				}
				// A line of 100 MB: look at what is there, but keep a record that may go on behind the window.
				keep := line[len(line)-len(MemoryPrefix):] // of which half may be behind it
				if i := bytes.LastIndex(line[len(line)-recordMax:], []byte(MemoryPrefix)); i >= 0 {
					keep = line[len(line)-recordMax+i:]
				}
				tail := bytes.Clone(keep)
				line = line[:len(line)-len(keep)]
				if !emit() {
					return
				}
				line, start = append(line[:0], tail...), false
			case errors.Is(err, io.EOF):
				if len(line) > 0 {
					emit()
				}
				return
			default:
				yield(nil, fmt.Errorf("reading %s after line %d: %w", name, pos.Line, err))
				return
			}
		}
	}
}

// ParseLine reads one line of a log, with or without its newline, and returns the records that it holds: mostly none or
// one, more where '\r' or a torn write put several on one line.
func ParseLine(line []byte, pos Position) []Record { return parseLine(line, pos, true) }

func parseLine(line []byte, pos Position, start bool) []Record {
	if !containsAny(line, needles) {
		return nil
	}
	var records []Record
	for piece := range bytes.SplitSeq(bytes.TrimRight(line, "\r\n"), []byte{'\r'}) {
		piece = stripEscapes(piece)
		text := bytes.TrimLeft(piece, " \t")
		switch {
		case start && bytes.HasPrefix(text, []byte(HarnessPrefix)):
			records = append(records, parseOwn(text[len(HarnessPrefix):], pos, false))
		case start && bytes.HasPrefix(text, []byte(ProtocolPrefix)):
			records = append(records, parseOwn(text[len(ProtocolPrefix):], pos, true))
		default:
			records = appendMemory(records, piece, pos)
			records = appendWarning(records, piece, pos)
			records = appendOutOfMemory(records, piece, pos)
		}
	}
	return records
}

// needles are what a line must contain to hold a record; nearly every line of a log contains none of them.
var needles = slices.Concat([][]byte{
	[]byte(MemoryPrefix), []byte(HarnessPrefix), []byte(ProtocolPrefix), []byte("GPU memory"),
}, oomNeedles)

func containsAny(line []byte, needles [][]byte) bool {
	return slices.ContainsFunc(needles, func(needle []byte) bool { return bytes.Contains(line, needle) })
}

// stripEscapes removes terminal control sequences: "\x1b[32m[GPU Memory] ...\x1b[0m". ECMA-48: ESC '[', parameter and
// intermediate bytes 0x20-0x3f, one final byte 0x40-0x7e; any other ESC takes one byte with it.
func stripEscapes(b []byte) []byte {
	if bytes.IndexByte(b, 0x1b) < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b {
			out = append(out, b[i])
			continue
		}
		i++
		if i < len(b) && b[i] == '[' {
			i++
			for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f {
				i++
			}
		}
	}
	return out
}
