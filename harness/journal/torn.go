package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

const (
	// tornBlock is how many bytes lastOwnLine reads at once. It searches backwards from the end of the
	// log.
	tornBlock = 1 << 20
	// tornLine is the length, in bytes, of the longest line at the end of a log that is parsed. A
	// longer line is searched for NUL bytes only.
	tornLine = 1 << 20
)

// soundLength returns the length in bytes of the part of a log that a kill or a power failure left
// sound. The bytes after that part are incomplete or damaged; [Journal.Resume] cuts them off.
//
// Everything up to the last readable line of the harness is sound. The lines of the pipeline after
// that line are sound up to the first that is incomplete, or that a power failure filled with NUL
// bytes or with bytes of another file. A quote line at the end is not sound without the line that
// it quotes: readers would take the next line that the harness writes for the quoted line.
func soundLength(log io.ReaderAt, size int64, dialects *parser.Set) (int64, error) {
	at, isQuote, err := lastOwnLine(log, size)
	if err != nil {
		return 0, err
	}
	sound := at // without a quote line that still lacks its line
	if isQuote {
		sound -= int64(len(quoteLine))
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(log, at, size-at), tornLine)
	for {
		n := int64(0)
		line, err := lines.ReadSlice('\n')
		n += int64(len(line))
		ok := soundLine(line, dialects, err == nil)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = lines.ReadSlice('\n')
			n += int64(len(line))
			ok = ok && bytes.IndexByte(line, 0) < 0
		}
		switch {
		case errors.Is(err, io.EOF):
			return sound, nil // the line is incomplete
		case err != nil:
			return 0, fmt.Errorf("reading the log: %w", err)
		case !ok && !isQuote:
			return sound, nil
		}
		at += n
		sound, isQuote = at, false
	}
}

// soundLine reports whether the pipeline may have printed this line, or this beginning of a line. A
// line with NUL bytes, a whole line with a syntax error in a record, and a whole line that is not
// UTF-8 come from a power failure. Set complete if line is a whole line.
func soundLine(line []byte, dialects *parser.Set, complete bool) bool {
	if bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	if !complete {
		return true
	}
	for _, rec := range dialects.ParseLine(line, record.Position{}) {
		if _, bad := rec.(record.SyntaxError); bad {
			return false
		}
	}
	return utf8.Valid(line)
}

// quoteLine is the line that the harness writes before a line of the pipeline that looks like a
// line of the harness.
var quoteLine = []byte(record.QuoteLine + "\n")

// lastOwnLine returns the offset of the end of the last readable line of the harness, or 0 if there
// is none. It reports in isQuote whether that line is a quote line.
func lastOwnLine(log io.ReaderAt, size int64) (end int64, isQuote bool, err error) {
	mark := []byte(record.HarnessPrefix + " ")
	block := make([]byte, tornBlock+len(mark)+1)
	for end := size; end > 0; {
		begin := max(0, end-tornBlock)
		// Read one more byte at the front, because it may be the newline that ends the line before. Read
		// a few more bytes at the end, because the harness's prefix may lie across two blocks.
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

// isQuoted reports whether the line at an offset is quoted: a quote line before it says that the
// pipeline printed it. Several quote lines may come before the line. The first of them quotes the
// second, the third quotes the fourth, and so on. So the line is quoted if the number of quote
// lines is odd.
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
			if len(text) > 0 && text[len(text)-1] != '\n' { // the first match ends another line
				quotes--
			}
			return quotes%2 == 1, nil
		}
	}
}

// ownLine returns the length in bytes of the line at an offset, or 0 if that line is not a readable
// line of the harness. It reports in isQuote whether the line is a quote line.
func ownLine(log io.ReaderAt, at, size int64) (n int64, isQuote bool, err error) {
	begin := io.NewSectionReader(log, at, min(size-at, 4*tornLine))
	line, err := bufio.NewReader(begin).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the log: %w", err)
	}
	if bytes.Equal(line, quoteLine) {
		return int64(len(line)), true, nil
	}
	var none *parser.Set // the harness's own lines need no dialect
	records := none.ParseLine(line, record.Position{})
	if len(records) != 1 || bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(line) {
		return 0, false, nil // the harness writes UTF-8
	}
	if _, bad := records[0].(record.SyntaxError); bad {
		return 0, false, nil
	}
	return int64(len(line)), false, nil
}
