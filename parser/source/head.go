package source

import (
	"bytes"
	"errors"
	"io"
)

// headMax is how many bytes at a log's beginning are used to detect the log's format.
const headMax = 64 << 10

// Head returns the first bytes of a log, up to 64 KiB, and a reader of the whole log.
func Head(r io.Reader) (head []byte, all io.Reader) {
	head = make([]byte, headMax)
	if log, ok := r.(*Log); ok && log.file != nil {
		n, _ := log.file.ReadAt(head, 0) // reading the log gives the same error again
		return head[:n], r
	}
	n, err := readFull(r, head)
	for n == 0 && errors.Is(err, errQuiet) {
		n, err = readFull(r, head)
	}
	head = head[:n]
	switch {
	case errors.Is(err, errQuiet): // the reader of the whole log must return this error, too
		return head, io.MultiReader(bytes.NewReader(head), &quietOnce{}, r)
	case err == nil:
		return head, io.MultiReader(bytes.NewReader(head), r)
	case errors.Is(err, io.EOF):
		return head, bytes.NewReader(head)
	}
	return head, io.MultiReader(bytes.NewReader(head), failing{err})
}

// readFull reads until head is full or an error occurs, and returns the reader's own error.
// io.ReadFull is of no use here. It returns io.ErrUnexpectedEOF for every short log, and this
// error must mean that a compressed file is cut off.
func readFull(r io.Reader, head []byte) (n int, err error) {
	for n < len(head) && err == nil {
		var k int
		k, err = r.Read(head[n:])
		n += k
	}
	return n, err
}

// A quietOnce reader returns [errQuiet] once, then io.EOF.
type quietOnce struct{ done bool }

func (q *quietOnce) Read([]byte) (int, error) {
	if q.done {
		return 0, io.EOF
	}
	q.done = true
	return 0, errQuiet
}

// A failing reader always returns its error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
