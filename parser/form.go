package parser

import (
	"bytes"
	"errors"
	"io"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A form is what a file is written in whose records are not simply in its lines. It yields the records and says whether
// to go on, as an iterator does.
type form struct {
	// is tells the form by how the file begins.
	is   func(head []byte) bool
	read func(r io.Reader, name string, m *scan.Dialects, yield func(record.Record, error) bool)
}

// forms are all that are known.
var forms = []form{
	{isNotebook, readNotebook},
	{isProfile, readProfile},
}

// headMax is how much of a file is looked at to tell its form.
const headMax = 64 << 10

// formOf tells the form of a log, nil for lines, and gives all of the log to be read.
func formOf(r io.Reader) (f *form, all io.Reader) {
	head := make([]byte, headMax)
	if log, ok := r.(*source.Log); ok && log.File != nil {
		n, _ := log.File.ReadAt(head, 0) // an error comes again
		return formIn(head[:n]), r
	}
	n, err := readHead(r, head)
	for n == 0 && errors.Is(err, source.ErrQuiet) {
		n, err = readHead(r, head)
	}
	head = head[:n]
	switch {
	case errors.Is(err, source.ErrQuiet): // which is to be heard by who reads on, too
		all = io.MultiReader(bytes.NewReader(head), &quietOnce{}, r)
	case err == nil:
		all = io.MultiReader(bytes.NewReader(head), r)
	case errors.Is(err, io.EOF):
		all = bytes.NewReader(head)
	default:
		all = io.MultiReader(bytes.NewReader(head), &sticky{err: err})
	}
	return formIn(head), all
}

// readHead is io.ReadFull with the reader's own error: that of a compressed file that was cut off is io.ErrUnexpectedEOF.
func readHead(r io.Reader, head []byte) (n int, err error) {
	for n < len(head) && err == nil {
		var k int
		k, err = r.Read(head[n:])
		n += k
	}
	return n, err
}

func formIn(head []byte) *form {
	for i := range forms {
		if forms[i].is(head) {
			return &forms[i]
		}
	}
	return nil
}

// A quietOnce says once that there is nothing for now, and ends.
type quietOnce struct{ said bool }

func (q *quietOnce) Read([]byte) (int, error) {
	if q.said {
		return 0, io.EOF
	}
	q.said = true
	return 0, source.ErrQuiet
}

// A sticky reader gives its error again and again.
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
