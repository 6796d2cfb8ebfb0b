package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A machine runs the instructions of a pickle, of protocols 2 to 5, that make plain data. Python's
// pickletools.py describes these instructions.
type machine struct {
	path       string
	data       []byte // the part of the pickle that was read so far
	input      *input // the rest of the pickle; nil if data holds all of it
	pos        int    // offset of the next byte to take
	at         int    // offset of the current instruction
	stack      []value
	memo       []value
	containers [][]container // slices of `chunk` containers each
	items      int64         // the room in all containers, in values
	made       int64         // bytes of the snapshot that the decoder has made so far
	framed     frame         // the frame that began last
}

// Opcodes, with Python's names for them.
const (
	opMark            = '('
	opStop            = '.'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opNone            = 'N'
	opBinUnicode      = 'X'
	opAppend          = 'a'
	opAppends         = 'e'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opEmptyList       = ']'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opTuple           = 't'
	opEmptyTuple      = ')'
	opSetItems        = 'u'
	opEmptyDict       = '}'
	opBinFloat        = 'G'
	opProto           = 0x80
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opLong1           = 0x8a
	opLong4           = 0x8b
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opMemoize         = 0x94
	opFrame           = 0x95
)

// refused holds the instructions that no snapshot needs, and what each would do.
var refused = map[byte]string{
	'c': "GLOBAL, which names a function or a class", 'i': "INST, which makes an object",
	'o': "OBJ, which makes an object",
	'R': "REDUCE, which calls a function", 'b': "BUILD, which sets the state of an object",
	'P': "PERSID, a reference to elsewhere",
	'Q': "BINPERSID, a reference to elsewhere", 0x81: "NEWOBJ, which makes an object",
	0x92: "NEWOBJ_EX, which makes an object",
	0x82: "EXT1, which names a class", 0x83: "EXT2, which names a class",
	0x84: "EXT4, which names a class",
	0x93: "STACK_GLOBAL, which names a function or a class", 'B': "BINBYTES", 'C': "SHORT_BINBYTES",
	0x8e: "BINBYTES8",
	0x96: "BYTEARRAY8", 0x97: "NEXT_BUFFER, data outside of the file", 0x98: "READONLY_BUFFER",
	0x8f: "EMPTY_SET",
	0x90: "ADDITEMS of a set", 0x91: "FROZENSET", '0': "POP", '1': "POP_MARK", '2': "DUP",
	'I': "INT of protocol 0", 'L': "LONG of protocol 0", 'F': "FLOAT of protocol 0",
	'S': "STRING of protocol 0",
	'U': "SHORT_BINSTRING of Python 2", 'T': "BINSTRING of Python 2", 'V': "UNICODE of protocol 0",
	'g': "GET of protocol 0",
	'p': "PUT of protocol 0", 'd': "DICT of protocol 0", 'l': "LIST of protocol 0",
}

const (
	plainData   = "plain data: dicts, lists, tuples, strings, numbers, booleans, None"
	adviceWrite = `give what torch.cuda.memory._dump_snapshot("FILE.pickle") wrote`
	adviceWhole = "give the whole file; write it anew where it was cut off"
)

// A FormatError says where a file differs from the format of snapshots: "PATH: byte OFFSET:
// expected ..., found ...; what to do".
type FormatError struct {
	Path            string
	Offset          int64
	Expected, Found string
	Advice          string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: byte %d: expected %s, found %s; %s", e.Path, e.Offset, e.Expected,
		e.Found, e.Advice)
}

// bad returns a FormatError at the current instruction.
func (m *machine) bad(expected, found, advice string) error {
	return &FormatError{
		Path: m.path, Offset: int64(m.at), Expected: expected, Found: found,
		Advice: advice,
	}
}

// run runs the pickle's instructions and returns the value that they make.
func (m *machine) run() (value, error) {
	if err := m.begin(); err != nil {
		return 0, err
	}
	for steps := 1; ; steps++ {
		if steps%checkInterval == 0 {
			if err := m.checkMemory(); err != nil {
				return 0, err
			}
		}
		m.at = m.pos
		op, err := m.take(1, "the next instruction; the last is STOP")
		if err != nil {
			return 0, err
		}
		if op[0] == opStop {
			return m.end()
		}
		if err := m.step(op[0]); err != nil {
			return 0, err
		}
	}
}

// begin reads the first two bytes, which contain the protocol's version.
func (m *machine) begin() error {
	const expected = "a pickle of protocol 2 to 5"
	if err := m.read(2); err != nil {
		return err
	}
	switch head := m.data[:min(2, len(m.data))]; {
	case len(head) < 2:
		return m.bad(expected, fmt.Sprintf("a file of %d bytes", len(m.data)), adviceWhole)
	case bytes.Equal(head, []byte("PK")):
		return m.bad(expected, "a zip archive, as torch.save writes", adviceWrite)
	case head[0] != opProto:
		return m.bad(expected, fmt.Sprintf("%q", m.data[:min(8, len(m.data))]), adviceWrite+
			"; for a log or a memory profile of JAX run: vramsoak check "+m.argument())
	case head[1] < 2 || head[1] > 5:
		return m.bad(expected, fmt.Sprintf("protocol %d", head[1]), adviceWrite)
	}
	m.pos = 2
	return nil
}

// argument returns the file's name as an argument of a command that reads the file.
func (m *machine) argument() string {
	if m.path == "standard input" { // see Open
		return "-"
	}
	return m.path
}

// end returns the pickle's value. It returns an error if the stack holds anything else, or if bytes
// follow in the file.
func (m *machine) end() (value, error) {
	if len(m.stack) != 1 || m.stack[0].kind() == mark {
		return 0, m.bad("one object at STOP", fmt.Sprintf("%d", len(m.stack)), adviceWrite)
	}
	const looked = 1 << 20 // how many bytes to look at behind the pickle
	if err := m.read(looked); err != nil {
		return 0, err
	}
	switch rest := len(m.data) - m.pos; {
	case rest >= looked:
		m.at = m.pos
		return 0, m.bad("the end of the file after STOP", "1 MiB and more", adviceWrite)
	case rest > 0:
		m.at = m.pos
		return 0, m.bad("the end of the file after STOP", fmt.Sprintf("%d bytes more", rest), adviceWrite)
	}
	if err := m.inFrame(); err != nil {
		return 0, err
	}
	return m.stack[0], m.checkMemory()
}

// step runs one instruction.
func (m *machine) step(op byte) error {
	switch op {
	case opNone:
		m.push(valueOf(none, 0))
	case opNewTrue:
		m.push(valueOf(boolean, 1))
	case opNewFalse:
		m.push(valueOf(boolean, 0))
	case opBinInt, opBinInt1, opBinInt2, opLong1, opLong4, opBinFloat:
		return m.number(op)
	case opShortBinUnicode, opBinUnicode, opBinUnicode8:
		return m.text(op)
	case opMark:
		m.push(valueOf(mark, 0))
	case opEmptyList, opEmptyTuple:
		m.contain(list, nil)
	case opEmptyDict:
		m.contain(dict, nil)
	case opTuple, opTuple1, opTuple2, opTuple3:
		return m.tuple(op)
	case opAppend, opAppends, opSetItem, opSetItems:
		return m.fill(op)
	case opBinPut, opLongBinPut, opMemoize:
		return m.put(op)
	case opBinGet, opLongBinGet:
		return m.get(op)
	case opProto:
		return m.bad("one PROTO, at the beginning", "another", adviceWrite)
	case opFrame:
		return m.frame()
	default:
		name, ok := refused[op]
		if !ok {
			return m.bad("an instruction of a pickle", fmt.Sprintf("byte %#02x", op), adviceWhole)
		}
		return m.bad(plainData, "the instruction "+name,
			"it was not run; do not load the file in Python unless you know who made it")
	}
	return nil
}

func (m *machine) push(v value) { m.stack = append(m.stack, v) }

// contain makes a list or a dict with these items and pushes it.
func (m *machine) contain(k kind, items []value) {
	last := len(m.containers) - 1
	if last < 0 || len(m.containers[last]) == chunk {
		m.containers = append(m.containers, make([]container, 0, chunk))
		last++
	}
	m.containers[last] = append(m.containers[last], container{items: items, at: uint32(m.at)})
	m.push(valueOf(k, int64(last*chunk+len(m.containers[last])-1)))
}

// of returns the container of a list or a dict.
func (m *machine) of(v value) *container {
	return &m.containers[v.number()/chunk][v.number()%chunk]
}

// take returns the next n bytes. The parameter what names them in an error.
func (m *machine) take(n uint64, what string) ([]byte, error) {
	if n > uint64(len(m.data)-m.pos) {
		if n > MaxSize {
			return nil, m.bad(fmt.Sprintf("%s (%d bytes) in a file of at most %d GiB", what, n,
				MaxSize>>30), "a longer one", adviceWhole)
		}
		if err := m.read(int(n)); err != nil {
			return nil, err
		}
	}
	if n > uint64(len(m.data)-m.pos) {
		if err := m.inFrame(); err != nil {
			return nil, err
		}
		return nil, m.bad(fmt.Sprintf("%s (%d bytes)", what, n),
			fmt.Sprintf("the end of the file at byte %d", len(m.data)), adviceWhole)
	}
	b := m.data[m.pos : m.pos+int(n)]
	m.pos += int(n)
	return b, nil
}

// length returns the next `size` bytes as an unsigned little-endian number.
func (m *machine) length(size uint64) (uint64, error) {
	b, err := m.take(size, "a length")
	if err != nil {
		return 0, err
	}
	var all [8]byte
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:]), nil
}

// number pushes the number that an instruction holds.
func (m *machine) number(op byte) error {
	var size uint64
	switch op {
	case opBinInt1:
		size = 1
	case opBinInt2:
		size = 2
	case opBinInt:
		size = 4
	case opBinFloat:
		size = 8
	case opLong1, opLong4:
		var err error
		if size, err = m.length(longSize(op)); err != nil {
			return err
		}
	}
	b, err := m.take(size, "a number")
	if err != nil {
		return err
	}
	var n int64
	switch op {
	case opBinInt:
		n = int64(int32(binary.LittleEndian.Uint32(b)))
	case opBinInt1:
		n = int64(b[0])
	case opBinInt2:
		n = int64(binary.LittleEndian.Uint16(b))
	case opBinFloat:
		m.push(valueOf(float, 0)) // the decoder uses no floats
		return nil
	case opLong1, opLong4:
		var ok bool
		if n, ok = int64Of(b); !ok {
			m.push(valueOf(wide, int64(m.at)))
			return nil
		}
	}
	m.push(m.integer(n))
	return nil
}

// longSize returns the number of bytes that hold the length of an integer in an instruction.
func longSize(op byte) uint64 {
	if op == opLong4 {
		return 4
	}
	return 1
}

// text pushes the string that an instruction holds.
func (m *machine) text(op byte) error {
	size := uint64(1)
	switch op {
	case opBinUnicode:
		size = 4
	case opBinUnicode8:
		size = 8
	}
	n, err := m.length(size)
	if err != nil {
		return err
	}
	if _, err := m.take(n, "a string"); err != nil {
		return err
	}
	m.made += noteSize
	m.push(valueOf(text, int64(m.at)))
	return nil
}

// sinceMark pops all values above the last mark, and the mark. The returned slice is valid until
// the next push.
func (m *machine) sinceMark() ([]value, error) {
	for i, v := range slices.Backward(m.stack) {
		if v.kind() == mark {
			items := m.stack[i+1:]
			m.stack = m.stack[:i]
			return items, nil
		}
	}
	return nil, m.bad("a MARK before this instruction", "none", adviceWrite)
}

// top pops n values. It returns an error if one of them is a mark.
func (m *machine) top(n int) ([]value, error) {
	if len(m.stack) < n {
		return nil, m.bad(fmt.Sprintf("%d values on the stack", n), fmt.Sprintf("%d", len(m.stack)),
			adviceWrite)
	}
	items := m.stack[len(m.stack)-n:]
	for _, v := range items {
		if v.kind() == mark {
			return nil, m.bad(fmt.Sprintf("%d values on the stack", n), "a MARK", adviceWrite)
		}
	}
	m.stack = m.stack[:len(m.stack)-n]
	return items, nil
}

// tuple makes a tuple and pushes it.
func (m *machine) tuple(op byte) error {
	var items []value
	var err error
	if op == opTuple {
		items, err = m.sinceMark()
	} else {
		items, err = m.top(int(op - opTuple1 + 1))
	}
	if err != nil {
		return err
	}
	items = append([]value(nil), items...)
	m.items += room(items)
	m.contain(list, items)
	return nil
}

// fill adds items to the list or dict below them on the stack. APPEND and SETITEM add one item,
// APPENDS and SETITEMS all items since the last mark.
func (m *machine) fill(op byte) error {
	var items []value
	var err error
	k, several := list, op == opAppends || op == opSetItems
	if op == opSetItem || op == opSetItems {
		k = dict
	}
	switch {
	case several:
		items, err = m.sinceMark()
	case k == list:
		items, err = m.top(1)
	default:
		items, err = m.top(2)
	}
	if err != nil {
		return err
	}
	if len(m.stack) == 0 || m.stack[len(m.stack)-1].kind() != k {
		return m.bad(k.String()+" to add to", "another value", adviceWrite)
	}
	if k == dict && len(items)%2 != 0 {
		return m.bad("as many values as keys", fmt.Sprintf("%d of both", len(items)), adviceWrite)
	}
	c := m.of(m.stack[len(m.stack)-1])
	m.items -= room(c.items)
	c.items = append(c.items, items...)
	m.items += room(c.items)
	return nil
}

// room returns the memory that a slice takes, as a number of values. A large slice counts twice,
// because the old and the new array exist at the same time while it grows.
func room(items []value) int64 {
	if n := int64(cap(items)); n < chunk {
		return n
	}
	return 2 * int64(cap(items))
}

// utf8Text returns a text as valid UTF-8, with U+FFFD in place of other bytes. Python writes such
// bytes for file names that are not UTF-8.
func utf8Text(b []byte) string {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return string(b)
}
