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

// soundLength is how much of a log counts after a kill or the machine's end: what comes behind is
// torn. Lines count up to the last of the harness that can be read, and those of the pipeline
// behind that up to the first that a write cut short or that the machine's end left full of NULs or
// of another file's bytes. A quote belongs to the line that it quotes: the next line that the
// harness writes must not be taken for that one.
func soundLength(log io.ReaderAt, size int64, dialects *parser.Set) (int64, error) {
	at, isQuote, err := lastOwnLine(log, size)
	if err != nil {
		return 0, err
	}
	whole := at // without the quote whose line is still to come
	if isQuote {
		whole -= int64(len(quoteLine))
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
			return whole, nil // without its end
		case err != nil:
			return 0, fmt.Errorf("reading the log: %w", err)
		case !sound && !isQuote:
			return whole, nil
		}
		at += n
		whole, isQuote = at, false
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

// quoteLine is the harness's line before one of the pipeline that looks like its own.
var quoteLine = []byte(parser.QuoteLine + "\n")

// lastOwnLine returns the end of the last readable line of the harness, or 0, and whether that line
// is a quote.
func lastOwnLine(log io.ReaderAt, size int64) (end int64, isQuote bool, err error) {
	mark := []byte(parser.HarnessPrefix + " ")
	block := make([]byte, tornBlock+len(mark)+1)
	for end := size; end > 0; {
		begin := max(0, end-tornBlock)
		// Of the line before, the newline is looked at too, and of the block behind, what completes a mark.
		from, to := max(0, begin-1), min(size, end+int64(len(mark)))
		text := block[:to-from]
		if _, err := log.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, fmt.Errorf("reading the log: %w", err)
		}
		for {
			i := bytes.LastIndex(text, mark)
			if i < 0 {
				break
			}
			if at := from + int64(i); at == 0 || i > 0 && text[i-1] == '\n' {
				n, isQuote, err := ownLine(log, at, size)
				if n > 0 && err == nil {
					var quoted bool
					if quoted, err = isQuoted(log, at); quoted {
						n = 0
					}
				}
				if n > 0 || err != nil {
					return at + n, isQuote, err
				}
			}
			text = text[:i]
		}
		end = begin
	}
	return 0, false, nil
}

// isQuoted reports whether the line that begins at an offset is quoted. The quotes right before it
// quote each other, from the first on: it is quoted where their number is odd.
func isQuoted(log io.ReaderAt, at int64) (bool, error) {
	block := make([]byte, 4096*len(quoteLine))
	quotes := 0
	for {
		text := block[:min(at, int64(len(block)))]
		at -= int64(len(text))
		if _, err := log.ReadAt(text, at); err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("reading the log: %w", err)
		}
		for bytes.HasSuffix(text, quoteLine) {
			text = text[:len(text)-len(quoteLine)]
			quotes++
		}
		if len(text) > 0 || at == 0 {
			if len(text) > 0 && text[len(text)-1] != '\n' { // the first is the end of another line
				quotes--
			}
			return quotes%2 == 1, nil
		}
	}
}

// ownLine returns the length of the line that begins at an offset, 0 if it cannot be read, and
// whether the line is a quote.
func ownLine(log io.ReaderAt, at, size int64) (n int64, isQuote bool, err error) {
	line, err := bufio.NewReader(io.NewSectionReader(log, at, min(size-at, 4*tornLine))).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the log: %w", err)
	}
	if bytes.Equal(line, quoteLine) {
		return int64(len(line)), true, nil
	}
	var none *parser.Set // whatever the policy's dialects, these lines are ours
	records := none.ParseLine(line, parser.Position{})
	if len(records) != 1 || bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(line) { // what the harness writes is UTF-8
		return 0, false, nil
	}
	if _, bad := records[0].(parser.SyntaxError); bad {
		return 0, false, nil
	}
	return int64(len(line)), false, nil
}
