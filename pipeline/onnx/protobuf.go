package onnx

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// A source reads protobuf messages inside a file. It skips weights, so it needs only a few KiB of
// memory to check a model of gigabytes.
type source struct {
	file io.ReaderAt
	size int64

	buffer [4096]byte
	from   int64 // offset in the file of the buffer's content
	filled int
}

// peek returns n bytes at offset, or fewer at the end of the file. n is at most a quarter of the
// buffer.
func (s *source) peek(offset int64, n int) ([]byte, error) {
	if offset < s.from || offset+int64(n) > s.from+int64(s.filled) {
		filled, err := s.file.ReadAt(s.buffer[:min(int64(len(s.buffer)), s.size-offset)], offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		s.from, s.filled = offset, filled
	}
	at := int(offset - s.from)
	return s.buffer[at:min(at+n, s.filled)], nil
}

// A field is a field of a message. value is set for a varint or a fixed number. For bytes (strings,
// messages, packed numbers), span says where in the file they are.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
	span
}

// A span is the part of the file from offset start to before end.
type span struct{ start, end int64 }

func (s span) len() int64 { return s.end - s.start }

// malformed is the error for a file that is not a protobuf message, or was cut off.
type malformed struct {
	at   int64
	what string
}

func (e *malformed) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.what) }

// fields calls visit for each field of the message in the span. It ends if visit returns an error.
func (s *source) fields(in span, visit func(field) error) error {
	for at := in.start; at < in.end; {
		f, next, err := s.field(at, in.end)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// field reads the field at offset of a message that ends at end. It also returns the offset of the
// next field.
func (s *source) field(offset, end int64) (field, int64, error) {
	// A tag and a varint have at most ten bytes each.
	head, err := s.peek(offset, int(min(end-offset, 20)))
	if err != nil {
		return field{}, 0, err
	}
	number, kind, n := protowire.ConsumeTag(head)
	if n < 0 {
		return field{}, 0, &malformed{offset, "no field begins here"}
	}
	f := field{number: number, kind: kind, span: span{offset + int64(n), 0}}
	rest := head[n:]
	switch kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		f.value = uint64(v)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(rest)
	case protowire.BytesType:
		var length uint64
		length, n = protowire.ConsumeVarint(rest)
		if n > 0 {
			f.start += int64(n)
			if left := end - f.start; length > uint64(left) {
				return field{}, 0, &malformed{
					offset,
					fmt.Sprintf("a field of %d bytes begins here and %d are left", length, left),
				}
			}
			f.end = f.start + int64(length)
			return f, f.end, nil
		}
	default:
		return field{}, 0, &malformed{offset, "a group begins here, which ONNX does not have"}
	}
	if n < 0 {
		return field{}, 0, &malformed{offset, "a field begins here that does not end"}
	}
	f.end = f.start + int64(n)
	return f, f.end, nil
}

// longestText is the length in bytes of the longest name or value that is read. All texts that are
// needed are shorter.
const longestText = 1 << 16

// text returns the string in the span.
func (s *source) text(in span) (string, error) {
	if in.len() > longestText {
		return "", &malformed{in.start, fmt.Sprintf("expected a name of at most %d bytes, found %d",
			longestText, in.len())}
	}
	if in.len() <= int64(len(s.buffer))/4 {
		b, err := s.peek(in.start, int(in.len()))
		if err == nil && int64(len(b)) < in.len() {
			err = io.ErrUnexpectedEOF // the file has become shorter
		}
		return string(b), err
	}
	b := make([]byte, in.len())
	_, err := s.file.ReadAt(b, in.start)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return string(b), err
}

// numbers calls visit for each varint in the span of a packed field.
func (s *source) numbers(in span, visit func(uint64) error) error {
	for at := in.start; at < in.end; {
		b, err := s.peek(at, int(min(in.end-at, 10)))
		if err != nil {
			return err
		}
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return &malformed{at, "a number begins here that does not end"}
		}
		if err := visit(v); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
