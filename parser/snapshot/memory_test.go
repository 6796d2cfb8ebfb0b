package snapshot

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"vramsoak/parser/record"
)

// TestMemoryAddsUp applies random events to a memory; few of them fit its blocks. It compares the
// sums that the memory keeps with sums over all its blocks.
func TestMemoryAddsUp(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := &Device{Segments: []Segment{blocks(12, true), blocks(8, false)}}
		d.Segments[1].Address += 40 * mib
		d.Segments[1].Pool = [2]int64{0, int64(random.IntN(2))}
		for i := range d.Segments[1].Blocks {
			d.Segments[1].Blocks[i].Address += 40 * mib
		}
		for range 60 {
			d.Events = append(d.Events, Event{
				Action: Action(random.IntN(int(OOM) + 1)), Address: base + uint64(random.IntN(64))*mib,
				Size:   int64(random.IntN(4)) * mib,
				Stream: uint64(random.IntN(8) / 7),
			})
		}
		asked := []demand{{}, {small: true}, {stream: 1}, {small: true, stream: 1}}
		for _, a := range asked {
			size := int64(2 * mib)
			if a.small {
				size = 1
			}
			d.Events = append(d.Events, Event{Action: OOM, Size: size, Stream: a.stream})
		}
		m := d.first()
		m.watchGaps(d.Events)
		for i, e := range d.Events {
			m.do(e, i)
			addsUp(t, m, asked)
		}
		if t.Failed() {
			t.Fatalf("%+v", d.Events)
		}
	}
}

func addsUp(t *testing.T, m *memory, asked []demand) {
	t.Helper()
	type free struct{ all, usable, largest int64 }
	want := map[demand]*free{}
	for _, a := range asked {
		want[a] = &free{}
	}
	idle, blocks, end := 0, 0, uint64(0)
	var reserved, active, allocated int64
	for s := range m.inOrder() {
		if s.address < end || s.size <= 0 {
			t.Errorf("a span of %d bytes at %#x, after one that ends at %#x", s.size, s.address, end)
		}
		at, n := s.address, 0
		gap := func(until uint64) {
			if until < at {
				t.Errorf("a block or span ends at %#x, the one before it at %#x", until, at)
			}
			size := int64(until - at)
			for a, f := range want {
				f.all += size
				if a == (demand{s.small, s.stream, s.pool}) {
					f.usable, f.largest = f.usable+size, max(f.largest, size)
				}
			}
		}
		for h := range m.heldBy(s) {
			gap(h.address)
			at = h.end()
			n++
			active += h.size
			if !h.pending {
				allocated += h.size
			}
		}
		gap(s.end())
		if n == 0 {
			idle++
		}
		end, reserved, blocks = s.end(), reserved+s.size, blocks+n
	}
	if m.idle != idle || m.reserved != reserved || m.active != active || m.allocated != allocated ||
		m.blocks.Len() != blocks {
		t.Errorf(
			"%d idle, %d reserved, %d active, %d allocated, %d blocks; its spans say %d, %d, %d, %d, %d",
			m.idle, m.reserved, m.active, m.allocated, m.blocks.Len(), idle, reserved, active, allocated,
			blocks)
	}
	for a, f := range want {
		var got free
		if got.all, got.usable, got.largest = m.free(a); got != *f {
			t.Errorf("%+v: free is %+v, the sum of its spans %+v", a, got, *f)
		}
	}
}

// blocks returns a segment of n blocks of 1 MiB. Every second block is in use.
func blocks(n int, expandable bool) Segment {
	s := Segment{Address: base, Size: int64(n) * mib, Expandable: expandable}
	for i := range n {
		b := Block{Address: base + uint64(i)*mib, Size: mib, State: record.BlockFree}
		if i%2 == 0 {
			b.State, b.Requested = record.BlockAllocated, mib
			s.Active, s.Allocated, s.Requested = s.Active+mib, s.Allocated+mib, s.Requested+mib
		}
		s.Blocks = append(s.Blocks, b)
	}
	return s
}

// TestManyEventsOfManyBlocks takes minutes if the time for an event is proportional to the number
// of blocks.
func TestManyEventsOfManyBlocks(t *testing.T) {
	t.Parallel()
	const n = 1 << 15
	free := Segment{
		Address: base, Size: n * mib,
		Blocks: []Block{{Address: base, Size: n * mib, State: record.BlockFree}},
	}
	tests := map[string]struct {
		segment Segment // the segment at the end of the trace
		event   func(d *Device, i uint64)
		largest int64 // size of the largest free block at the last failure
	}{
		"allocations that fail": {blocks(n, true), func(d *Device, _ uint64) {
			d.Events = append(d.Events, Event{Action: OOM, Size: 4 * mib})
		}, mib},
		"frees, and allocations that fail": {free, func(d *Device, i uint64) {
			if at := base + 2*i*mib; i < n/2 {
				d.Events = append(d.Events, Event{Action: FreeRequested, Address: at, Size: mib},
					Event{Action: FreeCompleted, Address: at, Size: mib}, Event{Action: OOM, Size: 4 * mib})
			}
		}, n * mib},
		"an end that grows and shrinks": {blocks(n, true), func(d *Device, _ uint64) {
			d.Events = append(d.Events, Event{Action: SegmentMap, Address: base + n*mib, Size: mib},
				Event{Action: OOM, Size: 4 * mib}, Event{
					Action: SegmentUnmap, Address: base + n*mib,
					Size: mib,
				})
		}, 2 * mib},
		"a hole": {blocks(n, true), func(d *Device, _ uint64) {
			d.Events = append(d.Events, Event{Action: SegmentUnmap, Address: base + (n/2+1)*mib, Size: mib},
				Event{Action: OOM, Size: 4 * mib}, Event{
					Action: SegmentMap, Address: base + (n/2+1)*mib,
					Size: mib,
				})
		}, mib},
		"segments from the last to the first": {
			Segment{Address: base, Size: mib},
			func(d *Device, i uint64) {
				d.Events = append(d.Events, Event{Action: SegmentFree, Address: 2*base - 2*i*mib, Size: mib},
					Event{Action: OOM, Size: 4 * mib})
			}, mib,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &Device{Segments: []Segment{tt.segment}}
			for i := range uint64(n) {
				tt.event(d, i)
			}
			a := d.Analyze(nil)
			if got := a.Trace.OOMs[len(a.Trace.OOMs)-1].Largest; got != tt.largest ||
				a.Trace.Unexplained != 0 {
				t.Errorf("the largest free block has %d bytes, expected %d; %d events are unexplained", got,
					tt.largest, a.Trace.Unexplained)
			}
			ops := 0
			for range d.Ops() {
				ops++
			}
			if ops < n {
				t.Errorf("got %d operations", ops)
			}
		})
	}
}

// TestSegmentsAreNotCopied: an event allocates no more memory if it changes a larger segment.
func TestSegmentsAreNotCopied(t *testing.T) {
	allocated := func(n int) uint64 {
		d := &Device{Segments: []Segment{blocks(n, true)}}
		at := base + (uint64(n)/2+1)*mib
		m := d.last()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 1000 {
			m.do(Event{Action: SegmentUnmap, Address: at, Size: mib}, 0)
			m.do(Event{Action: SegmentMap, Address: at, Size: mib}, 0)
		}
		runtime.ReadMemStats(&after)
		if m.unexplained != 0 || m.spans.Len() != 1 {
			t.Fatalf("%d unexplained, %d spans", m.unexplained, m.spans.Len())
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(64), allocated(64<<8); many > 2*few {
		t.Errorf("%d bytes for 2,000 events of 64 blocks, %d of %d blocks", few, many, 64<<8)
	}
}

// TestInnermostAnnotation: the end of an annotation ends the last one with its name that began on
// the same device.
func TestInnermostAnnotation(t *testing.T) {
	t.Parallel()
	begin := func(name string, device int) Annotation {
		return Annotation{Name: name, Device: device, Start: true, Micros: 1}
	}
	end := func(name string, device int) Annotation {
		return Annotation{
			Name: name, Device: device,
			Micros: 1,
		}
	}
	for _, tt := range []struct {
		want string
		all  []Annotation
	}{
		{"", nil},
		{"b", []Annotation{begin("a", 1), begin("b", 1), begin("a", 1), end("a", 1)}},
		{"a", []Annotation{begin("a", 1), begin("b", 1), end("b", 1), end("b", 1)}},
		{"", []Annotation{end("a", 1)}},
		{"a", []Annotation{begin("z", 0), begin("a", 1), end("a", 2), begin("y", 3)}},
	} {
		if got := within(tt.all, 1, 1); got != tt.want {
			t.Errorf("got %q, want %q: %+v", got, tt.want, tt.all)
		}
	}
}
