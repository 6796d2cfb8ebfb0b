package allocator

import "slices"

// An entry is a free block in a freeSet: its key and its index.
type entry struct {
	size  int64
	addr  uint64
	block int32
}

func (e entry) compare(o entry) int {
	switch {
	case e.size != o.size:
		if e.size < o.size {
			return -1
		}
		return 1
	case e.addr < o.addr:
		return -1
	case e.addr > o.addr:
		return 1
	}
	return 0
}

// A freeSet holds the free blocks of a pool and a stream in the order of best fit: by size, then by address
// (BlockComparatorSize; the stream comes first there, here each has its own set).
type freeSet struct{ entries []entry }

// ceil returns the position of the first block of at least size bytes; len if there is none.
func (s *freeSet) ceil(size int64) int {
	i, _ := slices.BinarySearchFunc(s.entries, entry{size: size}, entry.compare)
	return i
}

func (s *freeSet) len() int { return len(s.entries) }

func (s *freeSet) insert(e entry) {
	i, _ := slices.BinarySearchFunc(s.entries, e, entry.compare)
	s.entries = slices.Insert(s.entries, i, e)
}

func (s *freeSet) remove(e entry) {
	if i, ok := slices.BinarySearchFunc(s.entries, e, entry.compare); ok {
		s.entries = slices.Delete(s.entries, i, i+1)
	}
}
