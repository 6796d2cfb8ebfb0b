package fragmentation

import (
	"cmp"
	"slices"

	"vramsoak/parser/record"
)

// laneSegments holds the segment maps of one device.
type laneSegments struct {
	lane     record.Lane
	frames   []*frame
	maps     int   // number of maps that were read
	failures int   // number of maps of failed allocations
	high     int64 // the most reserved memory, in bytes
	ages     map[uint64]age
	youngest int
}

// An age says when a segment was first seen, and how large it was then.
type age struct {
	number int
	size   int64
}

// fileMaps counts the maps of one file, for each device. The maps of a device are drawn at equal
// distances within the file.
type fileMaps struct {
	file int
	maps map[record.Lane]int
}

// A frame is one segment map in the form in which it is drawn.
type frame struct {
	of         *fileMaps
	place      int // position among the file's maps of this device, from 1
	number     int // position among all maps of this device, from 1
	name       string
	requested  int64
	total      int64
	used       int64
	sums       record.SegmentSums
	unreserved int64 // memory that the driver still has for the process; 0 if unknown
	bands      []band
	// largest is the offset in bytes, from the bottom of the column, at which the largest free
	// block begins.
	largest int64
}

// free returns all bytes that are not in use, both in the allocator's cache and in the driver.
func (f *frame) free() int64 { return f.sums.Free + f.unreserved }

// piece returns the largest request that can be served. This is the largest free block, or the
// memory that the driver has after the allocator returned everything releasable.
func (f *frame) piece() int64 { return max(f.sums.LargestFree, f.sums.Releasable+f.unreserved) }

// cached reports whether the largest piece is a free block in the allocator's cache.
func (f *frame) cached() bool { return f.sums.LargestFree > f.sums.Releasable+f.unreserved }

// stranded returns the free bytes outside of the largest piece.
func (f *frame) stranded() int64 { return f.free() - f.piece() }

// The states of the memory in a band.
const (
	inUse = iota
	pending
	pinned     // free, but in a segment that is in use
	releasable // free, and the allocator can return it to the driver
	uses
)

// A band is a block of reserved memory as it is drawn. It may also stand for several blocks that
// are too small to be drawn.
type band struct {
	size  int64
	parts [uses]float32 // shares of the band's size
	// segment is the size of the segment whose first band this is, or 0 for other bands.
	segment int64
}

const (
	framesMax = 512 // a picture has no room for more
	bandsMax  = 512 // approximate number of bands in one frame, for the same reason
)

// add appends a map.
func (l *laneSegments) add(m *record.SegmentMap, of *fileMaps) {
	l.maps++
	of.maps[l.lane]++
	f := &frame{
		of: of, place: of.maps[l.lane], number: l.maps, name: m.Name, requested: m.Requested,
		total: m.Total, used: m.Used, sums: m.Sums(),
	}
	f.unreserved, _ = m.Unreserved(f.sums.Reserved)
	f.stack(l.byAge(m.Segments))
	l.high = max(l.high, f.sums.Reserved)
	if m.Requested > 0 {
		l.failures++
	}
	if l.frames = append(l.frames, f); len(l.frames) == framesMax {
		l.thin()
	}
}

// byAge returns the segments in the order in which they were first seen. So a band stays at its
// height in the picture as long as the bands below it stay.
func (l *laneSegments) byAge(segments []record.Segment) []record.Segment {
	byAddress := slices.Clone(segments)
	slices.SortStableFunc(byAddress, func(a, b record.Segment) int {
		return cmp.Compare(a.Address, b.Address)
	})
	ages := make(map[uint64]age, len(byAddress))
	for _, s := range byAddress {
		old, known := l.ages[s.Address]
		if !known || old.size != s.Size && !s.Expandable {
			l.youngest++
			old.number = l.youngest
		}
		ages[s.Address] = age{old.number, s.Size}
	}
	l.ages = ages
	slices.SortStableFunc(byAddress, func(a, b record.Segment) int {
		return ages[a.Address].number - ages[b.Address].number
	})
	return byAddress
}

// stack sets the bands of the frame. It joins blocks that are too small to be drawn.
func (f *frame) stack(segments []record.Segment) {
	grain := max(1, f.sums.Reserved/bandsMax)
	var b band
	var bytes [uses]int64
	flush := func() {
		if b.size == 0 {
			return
		}
		for i := range bytes {
			b.parts[i] = float32(bytes[i]) / float32(b.size)
		}
		f.bands = append(f.bands, b)
		b, bytes = band{}, [uses]int64{}
	}
	height := int64(0)
	for i := range segments {
		s := &segments[i]
		if s.Size >= grain {
			flush()
			b.segment = s.Size
		}
		for p := range s.Pieces() {
			if p.State == record.BlockFree && !s.Small && p.Size == f.sums.LargestFree {
				f.largest = height
			}
			height += p.Size
			if p.Size >= grain {
				flush()
			}
			b.size += p.Size
			bytes[useOf(p)] += p.Size
			if b.size >= grain {
				flush()
			}
		}
	}
	flush()
}

func useOf(p record.Piece) int {
	switch {
	case p.State == record.BlockAllocated:
		return inUse
	case p.State == record.BlockPending:
		return pending
	case 2*p.Releasable >= p.Size:
		return releasable
	}
	return pinned
}

// thin keeps one of every two neighbouring frames, the one that shows more. It also keeps all
// frames that a picture needs.
func (l *laneSegments) thin() {
	needed := l.needed()
	kept := l.frames[:0]
	for i := 0; i < len(l.frames); i += 2 {
		if i+1 == len(l.frames) {
			kept = append(kept, l.frames[i])
			break
		}
		a, b := l.frames[i], l.frames[i+1]
		switch {
		case needed[a] && needed[b]:
			kept = append(kept, a, b)
		case needed[a]:
			kept = append(kept, a)
		case needed[b], !a.showsMoreThan(b):
			kept = append(kept, b)
		default:
			kept = append(kept, a)
		}
	}
	clear(l.frames[len(kept):])
	l.frames = kept
}

// showsMoreThan reports whether thin keeps this frame instead of the next one: the one with a
// failed allocation, or else the one with more stranded memory.
func (f *frame) showsMoreThan(next *frame) bool {
	if failed := f.requested > 0; failed != (next.requested > 0) {
		return failed
	}
	return f.stranded() > next.stranded()
}

// needed returns the frames that a picture must show: the first and the last frame, those of the
// first and the last failed allocation, and those with the extreme values.
func (l *laneSegments) needed() map[*frame]bool {
	needed := map[*frame]bool{l.frames[0]: true, l.frames[len(l.frames)-1]: true}
	if f := l.failed(); f != nil {
		needed[f] = true
	}
	for _, f := range slices.Backward(l.frames) {
		if f.requested > 0 {
			needed[f] = true
			break
		}
	}
	for _, value := range []func(f *frame) int64{
		func(f *frame) int64 { return f.sums.Reserved },
		func(f *frame) int64 { return f.free() }, func(f *frame) int64 { return -f.free() },
		func(f *frame) int64 { return f.piece() }, func(f *frame) int64 { return -f.piece() },
		(*frame).stranded, func(f *frame) int64 { return f.requested },
	} {
		needed[slices.MaxFunc(l.frames, func(a, b *frame) int {
			return cmp.Compare(value(a), value(b))
		})] = true
	}
	return needed
}

// failed returns the frame of the first failed allocation, or nil.
func (l *laneSegments) failed() *frame {
	for _, f := range l.frames {
		if f.requested > 0 {
			return f
		}
	}
	return nil
}

// moment returns the frame that is shown in detail. This is the first failed allocation or, without
// failures, the frame with the most stranded memory.
func (l *laneSegments) moment() *frame {
	if f := l.failed(); f != nil {
		return f
	}
	return slices.MaxFunc(l.frames, func(a, b *frame) int {
		return cmp.Compare(a.stranded(), b.stranded())
	})
}
