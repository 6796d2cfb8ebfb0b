package allocator

import "math/bits"

// An event is recorded when a block is freed while another stream uses it. When that stream has
// done its work up to the event, the block can be reused.
type event struct {
	number uint64
	block  int32
}

// A streamTable maps streams to their pending events. Its iteration order is the same as in
// PyTorch's hash table (ska::flat_hash_map in c10/util/flat_hash_map.h). The order affects the
// statistics: the peak of InactiveSplit depends on which of two neighbours is merged first.
//
// It is a robin-hood hash table: a stream is in its home slot, whose index is its hash value, or a
// few slots after it. If two streams want the same slot, the stream that is further from its home
// slot gets it. The table has a few more slots than hash values, so that streams can move on from
// the last home slot.
type streamTable struct {
	slots   []slot
	buckets int // number of hash values; 0 before the first insertion
	lookups int // the table grows if a stream would be so many slots from home
	shift   int
	count   int
	spare   [][]event // emptied lists, to be used again
	old     []slot    // room for the slots while the table grows
}

type slot struct {
	distance int8 // from the home slot; -1: empty
	stream   Stream
	events   []event
}

const minLookups = 4

// reset removes all streams and all slots.
func (t *streamTable) reset() { t.resize(0, minLookups-1, 63) }

func (t *streamTable) resize(buckets, lookups, shift int) {
	t.buckets, t.lookups, t.shift, t.count = buckets, lookups, shift, 0
	// The last slot ends every walk over the table. As in PyTorch it has distance 0 and holds no
	// stream.
	n := max(buckets, 1) + lookups
	if cap(t.slots) < n {
		t.slots = make([]slot, n)
	}
	t.slots = t.slots[:n]
	for i := range t.slots {
		t.slots[i] = slot{distance: -1}
	}
	t.slots[n-1].distance = 0
}

// holds reports whether a slot has a stream.
func (t *streamTable) holds(k int) bool { return t.slots[k].distance >= 0 && k < len(t.slots)-1 }

// home returns the hash value of a stream, which is the first slot to try. c10 multiplies the bits
// of the c10::Stream (device type CUDA is 1, device 0, the handle) by 2^64 over the golden ratio
// and takes the highest bits (PyTorch's fibonacci_hash_policy).
func (t *streamTable) home(s Stream) int {
	hash := uint64(1)<<56 | uint64(s)*16
	return int((11400714819323198485 * hash) >> t.shift)
}

// emplace returns the slot of a stream, and adds the stream if it is new.
func (t *streamTable) emplace(s Stream) int {
	k, distance := t.home(s), 0
	for ; int(t.slots[k].distance) >= distance; k, distance = k+1, distance+1 {
		if t.slots[k].stream == s && k < len(t.slots)-1 {
			return k
		}
	}
	if t.buckets == 0 || distance == t.lookups || t.count+1 > t.buckets/2 {
		t.grow()
		return t.emplace(s)
	}
	in := slot{int8(distance), s, t.list()}
	at := k
	for ; ; k++ {
		switch here := &t.slots[k]; {
		case here.distance < 0:
			*here = in
			t.count++
			return at
		case k == at || here.distance < in.distance:
			*here, in = in, *here
			in.distance++
		default:
			if in.distance++; int(in.distance) == t.lookups {
				t.slots[at], in = slot{t.slots[at].distance, in.stream, in.events}, t.slots[at]
				t.grow()
				return t.put(in)
			}
		}
	}
}

// put inserts a stream together with its events, and returns its slot.
func (t *streamTable) put(in slot) int {
	k := t.emplace(in.stream)
	t.slots[k].events = in.events
	return k
}

func (t *streamTable) grow() {
	old := append(t.old[:0], t.slots[:len(t.slots)-1]...)
	t.old = nil // the table may grow again on the way
	n := max(minLookups, 2*t.buckets)
	log := bits.Len(uint(n)) - 1
	t.resize(n, max(minLookups, log), 64-log)
	for _, s := range old {
		if s.distance >= 0 {
			t.put(s)
		}
	}
	t.old = old
}

// erase empties slot k. Streams in the slots after it that are not in their home slots move up by
// one.
func (t *streamTable) erase(k int) {
	t.spare = append(t.spare, t.slots[k].events[:0])
	t.count--
	for ; t.slots[k+1].distance > 0; k++ {
		t.slots[k] = t.slots[k+1]
		t.slots[k].distance--
	}
	t.slots[k] = slot{distance: -1}
}

// clear removes all streams but keeps the number of slots.
func (t *streamTable) clear() {
	for k := range t.slots {
		if t.holds(k) {
			t.spare = append(t.spare, t.slots[k].events[:0])
			t.slots[k] = slot{distance: -1}
		}
	}
	t.count = 0
}

// list returns an empty list for events, one that was used before if possible.
func (t *streamTable) list() []event {
	n := len(t.spare)
	if n == 0 {
		return nil
	}
	l := t.spare[n-1]
	t.spare = t.spare[:n-1]
	return l
}
