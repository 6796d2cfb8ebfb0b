// Package form reads files whose records are not simply in their lines: the outputs in a Jupyter
// notebook, and the device memory profiles of JAX (pprof).
package form

import (
	"io"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A Form is a format that a file may have.
type Form struct {
	// is tells the form by the beginning of a file.
	is func(head []byte) bool
	// Read yields the records of a file, until yield returns false. name is put into their positions.
	Read func(r io.Reader, name string, dialects *scan.Dialects, yield func(record.Record, error) bool)
}

var forms = []Form{
	{isNotebook, readNotebook},
	{isProfile, readProfile},
}

// Of returns the form of a file that begins with head, or nil if it is a log of lines.
func Of(head []byte) *Form {
	for i := range forms {
		if forms[i].is(head) {
			return &forms[i]
		}
	}
	return nil
}
