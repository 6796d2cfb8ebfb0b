package trace

import (
	"fmt"
	"strconv"

	"vramsoak/pipeline/allocator"
)

// A Kind is the kind of an operation: its letter in a trace. The package's description lists the
// letters.
type Kind byte

// The kinds of operations.
const (
	Malloc         Kind = 'a'
	Free           Kind = 'f'
	RecordStream   Kind = 's'
	Synchronize    Kind = 'y'
	EmptyCache     Kind = 'e'
	ResetPeak      Kind = 'r'
	MemoryFraction Kind = 'F'
	Configure      Kind = 'c'
	Snapshot       Kind = 'S'
)

// An Op is one operation of a trace.
type Op struct {
	Kind Kind
	// OnStream is true if the trace names the stream of a Malloc, even if the stream is 0.
	OnStream bool
	Stream   allocator.Stream // of Malloc and RecordStream
	Line     int              // in the trace, from 1
	// ID names a block from its Malloc to its Free. Malloc, Free and RecordStream have an ID.
	ID       uint64
	Size     int64   // bytes, of Malloc
	Fraction float64 // of MemoryFraction
	Conf     string  // of Configure
	// Text is the operation's line in the trace, if AppendTo would write the line differently; else
	// "".
	Text string
}

// AppendTo appends the operation's line in a trace, without the line's end.
func (o *Op) AppendTo(b []byte) []byte {
	if o.Text != "" {
		return append(b, o.Text...)
	}
	b = append(b, byte(o.Kind))
	switch o.Kind {
	case Malloc:
		b = strconv.AppendUint(append(b, ' '), o.ID, 10)
		b = strconv.AppendInt(append(b, ' '), o.Size, 10)
		if o.OnStream {
			b = strconv.AppendUint(append(b, ' '), uint64(o.Stream), 10)
		}
	case Free:
		b = strconv.AppendUint(append(b, ' '), o.ID, 10)
	case RecordStream:
		b = strconv.AppendUint(append(b, ' '), o.ID, 10)
		b = strconv.AppendUint(append(b, ' '), uint64(o.Stream), 10)
	case MemoryFraction:
		b = strconv.AppendFloat(append(b, ' '), o.Fraction, 'g', -1, 64)
	case Configure:
		b = append(append(b, ' '), o.Conf...)
	}
	return b
}

func (o Op) String() string { return string(o.AppendTo(nil)) }

// An Error says where a trace has an operation that cannot be read or carried out.
type Error struct {
	Name     string // of the trace
	Line     int    // from 1
	Column   int    // in bytes from 1
	Expected string
	Found    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: expected %s, found %s", e.Name, e.Line, e.Column,
		e.Expected, e.Found)
}
