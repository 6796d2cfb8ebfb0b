package source

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// inUTF8 returns a reader of r's text in UTF-8, without its byte order mark. The operator ">" of
// Windows PowerShell writes UTF-16, and editors on Windows put a byte order mark before UTF-8.
// Text without a byte order mark is read unchanged.
func inUTF8(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 64<<10)
	mark, _ := b.Peek(3) // the next read returns the same error again
	switch {
	case bytes.HasPrefix(mark, []byte{0xff, 0xfe}):
		return transform.NewReader(b, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case bytes.HasPrefix(mark, []byte{0xfe, 0xff}):
		return transform.NewReader(b, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder())
	case bytes.HasPrefix(mark, []byte{0xef, 0xbb, 0xbf}):
		_, _ = b.Discard(3) // Peek has read these bytes
	}
	return b
}
