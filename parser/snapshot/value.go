package snapshot

import (
	"encoding/binary"
	"math"
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
	wide // an integer of more than 60 bits
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

// int returns the value of an integer, 1 for True, and 0 for any other value.
func (m *machine) int(v value) int64 {
	switch v.stored() {
	case integer, boolean:
		return v.number()
	case wide: // only LONG1 with 8 bytes makes a wide integer
		return int64(binary.LittleEndian.Uint64(m.data[v.number()+2:]))
	}
	return 0
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
