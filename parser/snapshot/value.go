package snapshot

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// A kind is the type of a pickled value.
type kind uint8

const (
	none kind = iota
	boolean
	integer
	float
	text
	list // also tuples, because nothing in a snapshot depends on the difference
	dict
	mark // a mark on the stack, never part of the snapshot
	wide // an integer of more than 60 bits, which LONG1 or LONG4 made
)

func (k kind) String() string {
	return [...]string{
		"None", "a boolean", "an integer", "a number", "a string", "a list", "a dict",
		"a mark",
	}[k]
}

// A value has 8 bytes: its kind in the low bits, and a number in the bits above. For an integer
// this number is its value, and for True it is 1. For a text or a wide integer it is the offset
// of the instruction that made it. For a list or a dict it is the index of its container.
type value uint64

const kindBits = 4

func valueOf(k kind, n int64) value { return value(n)<<kindBits | value(k) }

// kind returns the kind of a value. A wide integer has the kind integer, too.
func (v value) kind() kind {
	if k := v.stored(); k != wide {
		return k
	}
	return integer
}

func (v value) stored() kind  { return kind(v & (1<<kindBits - 1)) }
func (v value) number() int64 { return int64(v) >> kindBits }

// integer returns n as a value. If n is too wide, the value holds the offset of the current
// instruction, from which n can be read again.
func (m *machine) integer(n int64) value {
	if v := valueOf(integer, n); v.number() == n {
		return v
	}
	return valueOf(wide, int64(m.at))
}

// int returns the value of an integer, 1 for True, and 0 for any other value. ok is false if the
// integer does not fit an int64. The returned value is then the nearest that fits.
//
// PyTorch writes such integers: pybind11 makes a Python integer of a uint64_t. So the line number
// -1 becomes 18446744073709551615, see [object.line].
func (m *machine) int(v value) (n int64, ok bool) {
	switch v.stored() {
	case integer, boolean:
		return v.number(), true
	case wide:
		return int64Of(m.long(v))
	}
	return 0, true
}

// bits returns an integer as 64 bits of two's complement. So it returns the same for -1 and for
// 18446744073709551615: PyTorch writes some addresses as int64_t and some as size_t. ok is false
// if the integer has more bits, or if v is no integer.
func (m *machine) bits(v value) (n uint64, ok bool) {
	switch v.stored() {
	case integer:
		return uint64(v.number()), true
	case wide:
		b := m.long(v)
		if n, ok := int64Of(b); ok {
			return uint64(n), true
		}
		if b[len(b)-1] < 0x80 && !hasOther(b[8:], 0) {
			return binary.LittleEndian.Uint64(b), true
		}
	}
	return 0, false
}

// long returns the bytes of a wide integer, from the instruction that made it.
func (m *machine) long(v value) []byte {
	rest := m.data[v.number():]
	if op, rest := rest[0], rest[1:]; op == opLong4 {
		return rest[4 : 4+int(binary.LittleEndian.Uint32(rest))]
	}
	return rest[2 : 2+int(rest[1])]
}

// int64Of returns the integer of bytes in two's complement, the lowest byte first. ok is false if
// it does not fit an int64; n is then the nearest that fits.
func int64Of(b []byte) (n int64, ok bool) {
	sign := byte(0)
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		sign = 0xff
	}
	all := [8]byte{sign, sign, sign, sign, sign, sign, sign, sign}
	rest := b[copy(all[:], b):]
	n = int64(binary.LittleEndian.Uint64(all[:]))
	if hasOther(rest, sign) || (n < 0) != (sign != 0) {
		if sign != 0 {
			return math.MinInt64, false
		}
		return math.MaxInt64, false
	}
	return n, true
}

// hasOther reports whether one of the bytes differs from a byte.
func hasOther(b []byte, from byte) bool {
	return slices.ContainsFunc(b, func(c byte) bool { return c != from })
}

// decimal returns an integer for a message.
func (m *machine) decimal(v value) string {
	if n, ok := m.int(v); ok {
		return fmt.Sprint(n)
	}
	b := m.long(v)
	const most = 16 // bytes
	if len(b) > most {
		return fmt.Sprintf("an integer of %d bytes", len(b))
	}
	whole := slices.Clone(b)
	slices.Reverse(whole)
	n := new(big.Int).SetBytes(whole)
	if whole[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(whole))))
	}
	return n.String()
}

// bytes returns the bytes of a text, from the instruction that made it.
func (m *machine) bytes(v value) []byte {
	rest := m.data[v.number():]
	switch op, rest := rest[0], rest[1:]; op {
	case opShortBinUnicode:
		return rest[1 : 1+int(rest[0])]
	case opBinUnicode:
		return rest[4 : 4+int(binary.LittleEndian.Uint32(rest))]
	default: // opBinUnicode8
		return rest[8 : 8+int(binary.LittleEndian.Uint64(rest))]
	}
}

// A container holds a list's items, or a dict's alternating keys and values.
type container struct {
	items []value
	at    uint32 // offset of the instruction that made the container
	// made is 0 at first. It becomes claimed when a part of the snapshot claims the container. If a
	// Frame or a Stack was made from the container, made is 1 plus the index in decoder.frames or
	// decoder.stacks.
	made uint32
}

// claimed marks a container that is already a part of the snapshot.
const claimed = math.MaxUint32

// chunk is the number of containers in one slice. A slice never grows beyond its capacity, so
// containers never move in memory.
const chunk = 1 << 10
