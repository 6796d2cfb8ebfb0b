package record

import "testing"

// TestSumsLeaveOutOtherStreams: in the map of a failed request, the largest free block is the one
// that the request could have used. A stream cannot use the blocks of another.
func TestSumsLeaveOutOtherStreams(t *testing.T) {
	free := func(stream uint64, small bool, sizes ...int64) Segment {
		s := Segment{Stream: stream, Small: small}
		for _, size := range sizes {
			s.Size += size
			s.Blocks = append(s.Blocks, Block{Size: size, State: BlockFree})
		}
		return s
	}
	full := Segment{Stream: 7, Size: 10, Blocks: []Block{{Size: 10, State: BlockAllocated}}}
	const request = 40 << 20
	for _, c := range []struct {
		name              string
		requested         int64
		segments          []Segment
		largest, unusable int64
		stream            uint64
	}{
		{
			"no request failed",
			0,
			[]Segment{free(0, false, 12), free(1, false, request)},
			request, 0, 0,
		},
		{
			"no block has room",
			request,
			[]Segment{free(0, false, 12), free(1, false, 20)},
			20, 0, 0,
		},
		{
			"another stream has room", request,
			[]Segment{free(0, false, 12), free(1, false, request, 20), free(2, false, 2*request)},
			12, 2 * request, 2,
		},
		{
			"all streams have room",
			request,
			[]Segment{free(0, false, request), free(1, false, 2*request)},
			2 * request, 0, 0,
		},
		{
			"the stream's blocks are in use",
			request,
			[]Segment{full, free(1, false, request)},
			0, request, 1,
		},
		{
			"the stream has the small pool only",
			request,
			[]Segment{free(0, true, 2), free(1, false, request)},
			0, request, 1,
		},
		{
			"a request of the small pool",
			1 << 20,
			[]Segment{free(0, false, 12), free(1, false, request)},
			request, 0, 0,
		},
	} {
		m := SegmentMap{Requested: c.requested, Segments: c.segments}
		s := m.Sums()
		if s.LargestFree != c.largest || s.Unusable != c.unusable || s.UnusableStream != c.stream {
			t.Errorf("%s: largest free block %d, unusable %d of stream %d; want %d, %d of %d", c.name,
				s.LargestFree, s.Unusable, s.UnusableStream, c.largest, c.unusable, c.stream)
		}
	}
}
