package snapshot

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"vramsoak/parser/record"
)

// An Op is one operation in a trace for vramsoak replay. Each line of a trace is one operation.
type Op struct {
	// Kind is 'a' allocate, 'f' free, 'e' empty the cache, 'r' reset the peaks, 'c' configure, or
	// '#' for a comment.
	Kind   byte
	ID     int
	Size   int64 // bytes; only for an allocation
	Stream int
	Text   string // the text of a comment or a configuration
	// Event is the index of the event that the operation comes from. It is -1 for an operation
	// that builds the memory held before the first event.
	Event int
}

func (o Op) String() string {
	switch o.Kind {
	case 'a':
		if o.Stream == 0 {
			return fmt.Sprintf("a %d %d", o.ID, o.Size)
		}
		return fmt.Sprintf("a %d %d %d", o.ID, o.Size, o.Stream)
	case 'f':
		return fmt.Sprintf("f %d", o.ID)
	case 'e', 'r':
		return string(o.Kind)
	}
	return string(o.Kind) + " " + o.Text
}

// WriteTrace writes the device's events as a trace for vramsoak replay.
func (d *Device) WriteTrace(w io.Writer) error {
	buf := bufio.NewWriter(w)
	for op := range d.Ops() {
		if _, err := fmt.Fprintln(buf, op); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// Ops yields the device's events as operations of an allocator. The first operations build the
// memory that the program held before the first event. That memory is found by undoing all events
// from the segments in the file.
//
// The operations build one segment after another, in the order of addresses. They fill each
// segment completely: with the blocks in use, and with fillers for the free parts. So the next
// block must go into a new segment. After the last segment, they free the fillers. Some segments
// are larger than their first block needs, because the allocator made them for an older block.
// The operations first allocate such a segment as one block and free this block. The allocator's
// settings come only after these operations, because settings could round up fillers or leave
// large blocks unsplit. The mapped parts of an expandable segment are put side by side.
//
// An allocation becomes an "a" with the requested size. A block is freed when its free is
// completed, because a stream may use it until then. Segments that went back to the driver become
// an "e" if no free segment was left afterwards, as after torch.cuda.empty_cache() or a failed
// cudaMalloc. In other cases the replayed allocator returns segments by itself, if its device is
// as large. A failed allocation becomes an "a" that is freed at once, in case it succeeds in the
// replay.
func (d *Device) Ops() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		t := tracer{
			device: d, yield: yield, ids: map[uint64]int{}, streams: map[uint64]int{0: 0},
			memory: d.first(), event: -1,
		}
		t.setUp()
		for i := range d.Events {
			if t.stopped {
				return
			}
			t.event = i
			t.do(i)
		}
	}
}

type tracer struct {
	device  *Device
	yield   func(Op) bool
	stopped bool
	memory  *memory
	ids     map[uint64]int // ids of the active blocks, by address
	last    int            // the last id in use
	streams map[uint64]int // the number of each stream in the trace, by the stream's pointer
	event   int
}

func (t *tracer) emit(o Op) {
	o.Event = t.event
	t.stopped = t.stopped || !t.yield(o)
}

func (t *tracer) comment(format string, args ...any) {
	t.emit(Op{Kind: '#', Text: fmt.Sprintf(format, args...)})
}

func (t *tracer) stream(s uint64) int {
	n, ok := t.streams[s]
	if !ok {
		n = len(t.streams)
		t.streams[s] = n
	}
	return n
}

// alloc emits an allocation and returns its id.
func (t *tracer) alloc(size int64, stream uint64) int {
	t.last++
	t.emit(Op{Kind: 'a', ID: t.last, Size: size, Stream: t.stream(stream)})
	return t.last
}

func (t *tracer) free(id int) { t.emit(Op{Kind: 'f', ID: id}) }

// setUp emits the operations that build the memory held before the first event.
func (t *tracer) setUp() {
	t.comment("device %d: %d events", t.device.Index, len(t.device.Events))
	if t.memory.spans.Len() > 0 {
		t.comment("held when the first event came: %s in %d segments, %s of it allocated",
			record.FormatBytes(t.memory.reserved), t.memory.spans.Len(),
			record.FormatBytes(t.memory.allocated))
	}
	expandable := false
	var fillers []int
	for s := range t.memory.inOrder() {
		if t.stopped {
			return
		}
		if s.expandable != expandable {
			expandable = s.expandable
			t.emit(Op{Kind: 'c', Text: "expandable_segments:" + pythonBool(expandable)})
		}
		fillers = append(fillers, t.rebuild(s)...)
	}
	for _, id := range fillers {
		t.free(id)
	}
	if settings := t.device.Settings; settings != nil && settings.Conf != "" {
		t.emit(Op{Kind: 'c', Text: strings.ReplaceAll(settings.Conf, "\n", " ")})
	}
	if t.memory.spans.Len() > 0 {
		t.emit(Op{Kind: 'r'}) // the fillers do not count for the program's peak
		t.comment("the events")
	}
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// rebuild emits the allocations of a segment: its blocks in use, and fillers. It returns the ids
// of the fillers.
func (t *tracer) rebuild(s *span) (fillers []int) {
	blocks := slices.Collect(t.memory.heldBy(s))
	if !s.small && !s.expandable && len(blocks) > 0 && blocks[0].size != s.size {
		t.free(t.alloc(s.size, s.stream))
	}
	at := s.address
	fill := func(until uint64) {
		for at < until {
			n := int64(until - at)
			if s.small {
				n = min(n, smallSize)
			}
			fillers = append(fillers, t.alloc(n, s.stream))
			at += uint64(n)
		}
	}
	shorten := map[int]*held{} // allocations that cover a block and the gap behind it
	for i, h := range blocks {
		// A gap before the block has this size only where a part of an expandable segment was
		// unmapped.
		if gap := h.address - at; !s.small && gap > 0 && gap <= smallSize {
			h = &held{address: at, size: h.size + int64(gap)}
		}
		fill(h.address)
		end := s.end()
		if i+1 < len(blocks) {
			end = blocks[i+1].address
		}
		at = h.address + uint64(h.size)
		if gap := end - at; !s.small && gap > 0 && gap <= smallSize {
			// A filler of this size would go into the small pool.
			shorten[t.alloc(h.size+int64(gap), s.stream)] = blocks[i]
			at = end
			continue
		}
		t.ids[blocks[i].address] = t.alloc(unrounded(s, h), s.stream)
	}
	fill(s.end())
	// Free and reallocate one block at a time, from the end of the segment. The freed block is
	// then the only free block, and does not merge with a gap before it.
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(shorten))) {
		h := shorten[id]
		t.free(id)
		t.ids[h.address] = t.alloc(unrounded(s, h), s.stream)
	}
	return fillers
}

// unrounded returns the size of a request that gives the block its size if the allocator has no
// settings. This is the requested size if the allocator would round it up to the block's size,
// else the block's size.
func unrounded(s *span, h *held) int64 {
	if rounded := (h.requested + blockGrain - 1) / blockGrain * blockGrain; rounded == h.size &&
		(s.small || h.requested > smallSize) {
		return h.requested
	}
	return h.size
}

// do emits the operations of one event.
func (t *tracer) do(i int) {
	e := t.device.Events[i]
	switch e.Action {
	case Alloc:
		t.ids[e.Address] = t.alloc(e.Size, e.Stream)
	case FreeCompleted:
		if id, ok := t.ids[e.Address]; ok {
			t.free(id)
			delete(t.ids, e.Address)
		}
	case OOM:
		t.comment("out of memory: %s, of which the driver had %s", record.FormatBytes(e.Size),
			record.FormatBytes(e.DeviceFree))
		t.free(t.alloc(e.Size, e.Stream))
	}
	t.memory.do(e, i)
	if returnsMemory(e) && (i+1 == len(t.device.Events) || !returnsMemory(t.device.Events[i+1])) {
		if t.memory.idle > 0 {
			t.comment("some segments were given back")
		} else {
			t.emit(Op{Kind: 'e'})
		}
	}
}

// returnsMemory reports whether an event returned memory to the driver.
func returnsMemory(e Event) bool { return e.Action == SegmentFree || e.Action == SegmentUnmap }
