package filetype

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"vramsoak/parser/lex"
	"vramsoak/parser/source"
)

// A jsonReader reads JSON as a stream. It keeps no values in memory, so a string may have any
// length.
type jsonReader struct {
	r    *bufio.Reader
	line int // line number of the next byte, from 1
}

func newJSONReader(r io.Reader) *jsonReader {
	return &jsonReader{r: bufio.NewReaderSize(&sticky{r: r}, 64<<10), line: 1}
}

// A jsonError is a syntax error. found is empty at the end of the text.
type jsonError struct{ expected, found string }

func (e *jsonError) Error() string {
	return fmt.Sprintf("expected %s, found %q", e.expected, e.found)
}

// mistake returns the error that `expected` was expected and the next bytes were found. If
// reading failed, it returns the I/O error instead.
func (j *jsonReader) mistake(expected string) error {
	found, err := j.r.Peek(80)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	found, _, _ = bytes.Cut(found, source.Newline)
	return &jsonError{expected, string(bytes.ToValidUTF8(found, []byte("�")))}
}

// next returns the next byte that is not a blank, and leaves it in the stream. It returns 0 at the
// end of the text and after an I/O error.
func (j *jsonReader) next() byte {
	for {
		b, err := j.r.Peek(1)
		if err != nil {
			return 0
		}
		switch b[0] {
		case '\n':
			j.line++
		case ' ', '\t', '\r':
		default:
			return b[0]
		}
		j.drop(1)
	}
}

// drop skips n bytes, which must be in the buffer and must not contain '\n'.
func (j *jsonReader) drop(n int) {
	_, _ = j.r.Discard(n) // cannot fail: the bytes are in the buffer
}

// take skips blanks and the byte `want`. If another byte follows the blanks, take returns an
// error.
func (j *jsonReader) take(want byte, expected string) error {
	if j.next() != want {
		return j.mistake(expected)
	}
	j.drop(1)
	return nil
}

// object reads an object. For each key, it calls member, which must read or skip the key's value.
// If the next value is not an object, object skips it.
func (j *jsonReader) object(member func(key string) error) error {
	if j.next() != '{' {
		return j.skip()
	}
	j.drop(1)
	var key []byte
	for first := true; ; first = false {
		switch {
		case j.next() == '}' && first:
			j.drop(1)
			return nil
		case j.next() != '"':
			return j.mistake("a key in quotes")
		}
		key = key[:0]
		err := j.text(func(b []byte) error {
			if len(key) < 64 { // the keys that are looked for are shorter
				key = append(key, b...)
			}
			return nil
		})
		if err == nil {
			err = j.take(':', "a colon and a value")
		}
		if err == nil {
			err = member(string(key))
		}
		if err != nil {
			return err
		}
		if j.next() == '}' {
			j.drop(1)
			return nil
		}
		if err := j.take(',', "a comma or a closing brace"); err != nil {
			return err
		}
	}
}

// array reads an array. It calls element to read each value. If the next value is not an array,
// array skips it.
func (j *jsonReader) array(element func() error) error {
	if j.next() != '[' {
		return j.skip()
	}
	j.drop(1)
	if j.next() == ']' {
		j.drop(1)
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if j.next() == ']' {
			j.drop(1)
			return nil
		}
		if err := j.take(',', "a comma or a closing bracket"); err != nil {
			return err
		}
	}
}

// text reads a string and calls out with one piece of it after another, in UTF-8. A surrogate
// that is not in a pair becomes U+FFFD.
func (j *jsonReader) text(out func([]byte) error) error {
	if err := j.take('"', "a string"); err != nil {
		return err
	}
	var high rune // the first surrogate of a pair
	var utf [2 * utf8.UTFMax]byte
	for {
		plain, err := j.plain()
		if err != nil {
			return err
		}
		if len(plain) > 0 {
			if high != 0 {
				high = 0
				if err := out(utf8.AppendRune(utf[:0], utf8.RuneError)); err != nil {
					return err
				}
			}
			if err := out(plain); err != nil {
				return err
			}
			j.drop(len(plain))
			continue
		}
		r, quote, err := j.escape()
		if err != nil {
			return err
		}
		piece := utf[:0]
		switch pair := utf16.DecodeRune(high, r); {
		case high != 0 && pair != utf8.RuneError:
			high, r = 0, pair
		case high != 0:
			high = 0
			piece = utf8.AppendRune(piece, utf8.RuneError)
		}
		switch {
		case quote:
		case r >= 0xd800 && r < 0xdc00:
			high = r
		default:
			piece = utf8.AppendRune(piece, r)
		}
		if len(piece) > 0 {
			if err := out(piece); err != nil {
				return err
			}
		}
		if quote {
			return nil
		}
	}
}

// plain returns bytes of a string that are in the buffer, up to the next quote or escape. The
// bytes are valid until the next read.
func (j *jsonReader) plain() ([]byte, error) {
	if _, err := j.r.Peek(1); err != nil {
		return nil, j.mistake("the rest of a string")
	}
	b, _ := j.r.Peek(j.r.Buffered())
	for i, c := range b {
		switch {
		case c == '"' || c == '\\':
			return b[:i], nil
		case c < ' ' && c != '\t':
			j.drop(i)
			return nil, j.mistake("the rest of a string, in which a line break is written \\n")
		}
	}
	return b, nil
}

// escape reads the escape at this place. If the quote that ends the string is there instead,
// quote is set.
func (j *jsonReader) escape() (r rune, quote bool, err error) {
	b, _ := j.r.Peek(2)
	if b[0] == '"' {
		j.drop(1)
		return 0, true, nil
	}
	const expected = "an escape such as \\n or \\u001b"
	if len(b) < 2 {
		return 0, false, j.mistake(expected)
	}
	if i := bytes.IndexByte([]byte(`nrtbf"\/`), b[1]); i >= 0 {
		j.drop(2)
		return rune("\n\r\t\b\f\"\\/"[i]), false, nil
	}
	b, _ = j.r.Peek(6)
	if len(b) < 6 || b[1] != 'u' {
		return 0, false, j.mistake(expected)
	}
	for _, c := range b[2:] {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if digit < 0 || c < '0' {
			return 0, false, j.mistake(expected)
		}
		r = r<<4 | rune(digit)
	}
	j.drop(6)
	return r, false, nil
}

// depthMax is how deep values may be nested, as in encoding/json.
const depthMax = 10_000

// skip skips a value of any kind. It checks only brackets and strings. Everything else in a
// skipped value need not be valid JSON.
func (j *jsonReader) skip() error {
	var open []byte
	for {
		switch c := j.next(); {
		case c == '{' || c == '[':
			if len(open) == depthMax {
				return j.mistake(fmt.Sprintf("values in at most %d others", depthMax))
			}
			open = append(open, c+2) // ']' is '[' + 2, '}' is '{' + 2
			j.drop(1)
		case (c == '}' || c == ']') && len(open) > 0 && open[len(open)-1] == c:
			open = open[:len(open)-1]
			j.drop(1)
		case c == '"':
			if err := j.skipText(); err != nil {
				return err
			}
		case (c == ',' || c == ':') && len(open) > 0:
			j.drop(1)
			continue
		case lex.IsScalarByte(c):
			for b, err := j.r.Peek(1); err == nil && lex.IsScalarByte(b[0]); b, err = j.r.Peek(1) {
				j.drop(1)
			}
		default:
			return j.mistake("a value")
		}
		if len(open) == 0 {
			return nil
		}
	}
}

// skipText skips a string.
func (j *jsonReader) skipText() error {
	j.drop(1)
	for {
		plain, err := j.plain()
		if err != nil {
			return err
		}
		if len(plain) > 0 {
			j.drop(len(plain))
			continue
		}
		if _, quote, err := j.escape(); quote || err != nil {
			return err
		}
	}
}

// A sticky reader returns its first error again at each later read.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.r.Read(p)
	}
	return n, s.err
}
