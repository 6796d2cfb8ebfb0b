// Package filetype reads files whose records are not in plain lines: the outputs in a Jupyter
// notebook, and the device memory profiles of JAX (pprof). It recognises pickles, and says which
// command reads them.
package filetype

import (
	"io"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A Type is a kind of file that is not a log of lines.
type Type struct {
	// is reports whether a file that begins with head is of this type.
	is func(head []byte) bool
	// Read yields the records of a file, until yield returns false. The parameter name becomes
	// the path in the records' positions.
	Read func(r io.Reader, name string, dialects *scan.Dialects, yield func(record.Record, error) bool)
}

var types = []Type{
	{isNotebook, readNotebook},
	{isProfile, readProfile},
	{isPickle, readPickle},
}

// Of returns the type of a file that begins with head, or nil if it is a log of lines.
func Of(head []byte) *Type {
	for i := range types {
		if types[i].is(head) {
			return &types[i]
		}
	}
	return nil
}
