package records

import (
	"strconv"

	"vramsoak/parser/record"
)

// segments sets the fields of a segment map: its sums as a reading, and each segment for JSON.
func (r *flat) segments(m *record.SegmentMap) {
	r.kind, r.name = "segments", m.Name
	sums := m.Sums()
	set := func(q record.Quantity, bytes int64) { r.reading.Set(q, record.Exact(bytes)) }
	set(record.Allocated, sums.Allocated)
	set(record.Reserved, sums.Reserved)
	if m.Total > 0 {
		set(record.Total, m.Total)
	}
	if m.Used > 0 {
		set(record.Used, m.Used)
	}
	for _, f := range []struct {
		key   string
		bytes int64
	}{
		{"pending", sums.Pending},
		{"cached", sums.Free},
		{"releasable", sums.Releasable},
		{"largest_free", sums.LargestFree},
		{"requested", m.Requested},
		{"allowed", m.Allowed},
	} {
		if f.bytes > 0 {
			r.more = append(r.more, field{f.key, f.bytes})
		}
	}
	r.more = append(r.more, field{"blocks", sums.Blocks})
	r.deep = []field{{"segments", segmentObjects(m)}}
}

// A segmentObject is a segment in JSON, and a blockObject is one of its blocks.
type (
	segmentObject struct {
		Address    string        `json:"address"`
		Size       int64         `json:"size"`
		Small      bool          `json:"small"`
		Expandable bool          `json:"expandable"`
		Stream     string        `json:"stream"`
		Blocks     []blockObject `json:"blocks"`
	}
	blockObject struct {
		Size  int64  `json:"size"`
		State string `json:"state"`
	}
)

func segmentObjects(m *record.SegmentMap) []segmentObject {
	out := make([]segmentObject, len(m.Segments))
	for i, s := range m.Segments {
		hex := func(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }
		o := segmentObject{
			hex(s.Address), s.Size, s.Small, s.Expandable, hex(s.Stream),
			make([]blockObject, len(s.Blocks)),
		}
		for k, b := range s.Blocks {
			o.Blocks[k] = blockObject{b.Size, b.State.String()}
		}
		out[i] = o
	}
	return out
}
