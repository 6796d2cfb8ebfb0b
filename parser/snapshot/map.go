package snapshot

import "vramsoak/parser"

// Map is the device's segments as the record of a log that plots show, without its header.
func (d *Device) Map() parser.SegmentMap {
	m := parser.SegmentMap{Lane: parser.Lane{Device: d.Index}, Name: "snapshot", Segments: make([]parser.Segment, 0, len(d.Segments))}
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
