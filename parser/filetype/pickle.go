package filetype

import (
	"io"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// isPickle reports whether a file is a pickle of protocol 2 to 5: Python's format for objects, in
// which PyTorch writes memory snapshots. Such a file begins with the instruction PROTO (0x80) and
// the protocol's number. No text in UTF-8 or in UTF-16 with a byte order mark begins like this.
func isPickle(head []byte) bool {
	return len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// readPickle yields one error, which names the command that reads memory snapshots. Package
// snapshot reads them, because they give no records.
func readPickle(
	_ io.Reader,
	name string,
	_ *scan.Dialects,
	yield func(record.Record, error) bool,
) {
	yield(record.SyntaxError{
		Header:   record.Header{Pos: record.Position{Path: name, Line: 1}},
		Expected: "a log", Found: "a pickle",
		Advice: "for a memory snapshot of PyTorch run: vramsoak snapshot " + argument(name),
	}, nil)
}
