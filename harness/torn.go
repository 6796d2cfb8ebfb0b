package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"vramsoak/parser"
)

const (
	// tornBlock is how much of a log is looked at in one go, from its end, for the last line of the harness.
	tornBlock = 1 << 20
	// tornLine is the longest line that is looked into at the end of a log; of a longer one only its bytes are.
	tornLine = 1 << 20
)

// soundLength is how much of a log counts after a kill or the machine's end: what comes behind is torn. Lines count up to
// the last of the harness that can be read, and those of the pipeline behind that up to the first that a write cut short or
// that the machine's end left full of NULs or of another file's bytes.
func soundLength(log io.ReaderAt, size int64, dialects *parser.Set) (int64, error) {
	at, err := lastOwnLine(log, size)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(log, at, size-at), tornLine)
	for {
		n := int64(0)
		line, err := lines.ReadSlice('\n')
		n += int64(len(line))
		sound := soundLine(line, dialects, err == nil)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = lines.ReadSlice('\n')
			n += int64(len(line))
			sound = sound && bytes.IndexByte(line, 0) < 0
		}
		switch {
		case errors.Is(err, io.EOF):
			return at, nil // without its end
		case err != nil:
			return 0, fmt.Errorf("reading the log: %w", err)
		case !sound:
			return at, nil
		}
		at += n
	}
}

// soundLine says that nothing speaks against a line, or against its beginning where it is not whole.
func soundLine(line []byte, dialects *parser.Set, whole bool) bool {
	if bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	if !whole {
		return true
	}
	for _, rec := range dialects.ParseLine(line, parser.Position{}) {
		if _, bad := rec.(parser.SyntaxError); bad {
			return false
		}
	}
	return utf8.Valid(line)
}

// lastOwnLine is where the last line of the harness ends that can be read; 0 where there is none.
func lastOwnLine(log io.ReaderAt, size int64) (int64, error) {
	mark := []byte(parser.HarnessPrefix + " ")
	block := make([]byte, tornBlock+len(mark)+1)
	for end := size; end > 0; {
		begin := max(0, end-tornBlock)
		// Of the line before, the newline is looked at too, and of the block behind, what completes a mark.
		from, to := max(0, begin-1), min(size, end+int64(len(mark)))
		text := block[:to-from]
		if _, err := log.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("reading the log: %w", err)
		}
		for {
			i := bytes.LastIndex(text, mark)
			if i < 0 {
				break
			}
			if at := from + int64(i); at == 0 || i > 0 && text[i-1] == '\n' {
				n, err := ownLine(log, at, size)
				if n > 0 || err != nil {
					return at + n, err
				}
			}
			text = text[:i]
		}
		end = begin
	}
	return 0, nil
}

// ownLine is how long the line is that begins at a place, 0 where it cannot be read.
func ownLine(log io.ReaderAt, at, size int64) (int64, error) {
	line, err := bufio.NewReader(io.NewSectionReader(log, at, min(size-at, 4*tornLine))).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the log: %w", err)
	}
	var none *parser.Set // whatever the policy's dialects, these lines are ours
	records := none.ParseLine(line, parser.Position{})
	if len(records) != 1 || bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(line) { // what the harness writes is UTF-8
		return 0, nil
	}
	if _, bad := records[0].(parser.SyntaxError); bad {
		return 0, nil
	}
	return int64(len(line)), nil
}
