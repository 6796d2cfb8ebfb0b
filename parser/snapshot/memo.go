package snapshot

import "fmt"

// put stores the value at the top of the stack in the memo. The entries of the memo are numbered
// from 0.
func (m *machine) put(op byte) error {
	index := uint64(len(m.memo))
	if op != opMemoize {
		var err error
		if index, err = m.length(indexSize(op == opLongBinPut)); err != nil {
			return err
		}
	}
	if index > uint64(len(m.memo)) {
		return m.bad(fmt.Sprintf("a place in the memo of at most %d", len(m.memo)),
			fmt.Sprintf("%d", index), adviceWrite)
	}
	if len(m.stack) == 0 || m.stack[len(m.stack)-1].kind() == mark {
		return m.bad("a value to keep", "none", adviceWrite)
	}
	v := m.stack[len(m.stack)-1]
	if index == uint64(len(m.memo)) {
		m.memo = append(m.memo, v)
	} else {
		m.memo[index] = v
	}
	return nil
}

// indexSize returns the number of bytes of a memo index in an instruction.
func indexSize(long bool) uint64 {
	if long {
		return 4
	}
	return 1
}

// get pushes an entry of the memo. The instruction op gives the entry's index.
func (m *machine) get(op byte) error {
	index, err := m.length(indexSize(op == opLongBinGet))
	if err != nil {
		return err
	}
	if index >= uint64(len(m.memo)) {
		return m.bad(fmt.Sprintf("a place in the memo below %d", len(m.memo)), fmt.Sprintf("%d", index),
			adviceWrite)
	}
	m.push(m.memo[index])
	return nil
}

// A frame is a part of a pickle file. Python reads a whole frame at once.
type frame struct {
	at, begin int    // offsets of the frame's instruction and of its first byte
	size      uint64 // bytes
}

// frame reads the frame's length, which has 8 bytes. The rest of the frame need not be read yet.
func (m *machine) frame() error {
	n, err := m.length(8)
	m.framed = frame{at: m.at, begin: m.pos, size: n}
	return err
}

// inFrame returns an error if the last frame is longer than the rest of the file. Call it when
// the whole file has been read.
func (m *machine) inFrame() error {
	f := m.framed
	if rest := len(m.data) - f.begin; f.size > uint64(rest) {
		m.at = f.at
		return m.bad(fmt.Sprintf("a frame of %d bytes", f.size),
			fmt.Sprintf("%d until the end of the file", rest), adviceWhole)
	}
	return nil
}
