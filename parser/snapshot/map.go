package snapshot

import (
	"iter"
	"time"

	"vramsoak/parser/record"
)

// Map returns the device's segments as a segment map, in the form that the plots show.
func (d *Device) Map() record.SegmentMap {
	m := record.SegmentMap{
		Lane: record.Lane{Device: d.Index}, Name: "snapshot",
		Segments: make([]record.Segment, 0, len(d.Segments)),
	}
	if n := len(d.Events); n > 0 {
		m.Time = moment(d.Events[n-1].Micros)
	}
	for _, s := range d.Segments {
		seg := record.Segment{
			Address: s.Address, Size: s.Size, Small: s.Small, Expandable: s.Expandable, Stream: s.Stream,
			Blocks: make([]record.Block, 0, len(s.Blocks)),
		}
		for _, b := range s.Blocks {
			seg.Blocks = append(seg.Blocks, record.Block{Size: b.Size, State: b.State})
		}
		m.Segments = append(m.Segments, seg)
	}
	return m
}

// MaxMaps is the most failed allocations for which [Device.Maps] yields a map. A program may
// retry thousands of times, and each map lists all blocks.
const MaxMaps = 100

// Maps yields maps of the device's segments at several moments of the history. These are its
// beginning, the first [MaxMaps] failed allocations, the moment with most allocated memory, and the
// end. If t is nil or has no allocations, Maps yields only the map at the end.
func (d *Device) Maps(t *Trace) iter.Seq[record.SegmentMap] {
	return func(yield func(record.SegmentMap) bool) {
		if t == nil || t.Allocations == 0 || d.maps(t, yield) {
			yield(d.Map())
		}
	}
}

// maps yields all maps except the last one. It returns false if the caller's loop stopped.
func (d *Device) maps(t *Trace, yield func(record.SegmentMap) bool) bool {
	m := d.first()
	if !yield(d.mapOf(m, "history begins", d.Events[0].Micros)) {
		return false
	}
	failures := 0
	for i, e := range d.Events {
		m.do(e, i)
		if e.Action == OOM && failures < MaxMaps {
			failures++
			failed := d.mapOf(m, "out of memory", e.Micros)
			// Allowed is all the memory that the process could have.
			failed.Requested, failed.Allowed = e.Size, m.reserved+e.DeviceFree
			if !yield(failed) {
				return false
			}
		}
		if i == t.Peak.Event && !yield(d.mapOf(m, "peak", e.Micros)) {
			return false
		}
	}
	return true
}

func (d *Device) mapOf(m *memory, name string, micros int64) record.SegmentMap {
	return record.SegmentMap{
		Header: record.Header{Time: moment(micros)}, Lane: record.Lane{Device: d.Index}, Name: name,
		Segments: m.segments(),
	}
}

// moment returns a time in microseconds since 1970 as a Time, or the zero Time for 0.
func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// segments returns the segments with their blocks, including the free ones.
func (m *memory) segments() []record.Segment {
	out := make([]record.Segment, 0, m.spans.Len())
	for s := range m.inOrder() {
		seg := record.Segment{
			Address: s.address, Size: s.size, Small: s.small, Expandable: s.expandable,
			Stream: s.stream,
		}
		at := s.address
		gap := func(until uint64) {
			if until > at {
				seg.Blocks = append(seg.Blocks, record.Block{Size: int64(until - at)})
			}
		}
		for h := range m.heldBy(s) {
			gap(h.address)
			b := record.Block{Size: h.size, State: record.BlockAllocated}
			if h.pending {
				b.State = record.BlockPending
			}
			seg.Blocks = append(seg.Blocks, b)
			at = h.end()
		}
		gap(s.end())
		out = append(out, seg)
	}
	return out
}
