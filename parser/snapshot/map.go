package snapshot

import (
	"time"

	"vramsoak/parser"
)

// Map is the device's segments as the record of a log that plots show.
func (d *Device) Map() parser.SegmentMap {
	m := parser.SegmentMap{Lane: parser.Lane{Device: d.Index}, Name: "snapshot", Segments: make([]parser.Segment, 0, len(d.Segments))}
	if n := len(d.Events); n > 0 {
		m.Time = moment(d.Events[n-1].Micros)
	}
	for _, s := range d.Segments {
		seg := parser.Segment{
			Address: s.Address, Size: s.Size, Small: s.Small, Expandable: s.Expandable, Stream: s.Stream,
			Blocks: make([]parser.Block, 0, len(s.Blocks)),
		}
		for _, b := range s.Blocks {
			seg.Blocks = append(seg.Blocks, parser.Block{Size: b.Size, State: b.State})
		}
		m.Segments = append(m.Segments, seg)
	}
	return m
}

// Maps are the device's segments over the history: when it begins, after the event at which most was allocated, at each
// allocation that failed, and in the end.
func (d *Device) Maps(t *Trace) []parser.SegmentMap {
	var out []parser.SegmentMap
	if t != nil && t.Allocations > 0 {
		m := d.first()
		out = append(out, d.mapOf(m, "history begins", d.Events[0].Micros))
		for i, e := range d.Events {
			m.do(e, i)
			if e.Action == OOM {
				failed := d.mapOf(m, "out of memory", e.Micros)
				failed.Requested, failed.Allowed = e.Size, m.reserved+e.DeviceFree // all that the process could have
				out = append(out, failed)
			}
			if i == t.Peak.Event {
				out = append(out, d.mapOf(m, "peak", e.Micros))
			}
		}
	}
	return append(out, d.Map())
}

func (d *Device) mapOf(m *memory, name string, micros int64) parser.SegmentMap {
	return parser.SegmentMap{
		Header: parser.Header{Time: moment(micros)}, Lane: parser.Lane{Device: d.Index}, Name: name, Segments: m.segments(),
	}
}

// moment is a time of the file; the zero Time where it has none.
func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// segments are the memory's, with what is free between the blocks that are in use.
func (m *memory) segments() []parser.Segment {
	out := make([]parser.Segment, 0, len(m.spans))
	for _, s := range m.spans {
		seg := parser.Segment{Address: s.address, Size: s.size, Small: s.small, Expandable: s.expandable, Stream: s.stream}
		at := s.address
		gap := func(until uint64) {
			if until > at {
				seg.Blocks = append(seg.Blocks, parser.Block{Size: int64(until - at)})
			}
		}
		for _, h := range s.held {
			gap(h.address)
			b := parser.Block{Size: h.size, State: parser.BlockAllocated}
			if h.pending {
				b.State = parser.BlockPending
			}
			seg.Blocks = append(seg.Blocks, b)
			at = h.address + uint64(h.size)
		}
		gap(s.end())
		out = append(out, seg)
	}
	return out
}
