package jsondoc

import (
	"io"

	"vramsoak/parser/snapshot"
	"vramsoak/reports/sink"
)

// Snapshot writes the analysis of a memory snapshot as one JSON object. Sizes are in bytes and
// times in microseconds. Snapshot encodes one list item at a time, because even a small snapshot
// may have many sites with long names, and several lists repeat these names.
func Snapshot(w io.Writer, path string, devices []*snapshot.Analysis) error {
	var lists []sink.List
	short := make([]snapshot.Analysis, len(devices)) // the analyses without their lists
	for i, a := range devices {
		b := *a
		b.Holds, b.Free.Pins = []snapshot.Usage{}, []snapshot.Pin{}
		lists = append(lists, sink.List{Key: "holds", Items: items(a.Holds)},
			sink.List{Key: "pins", Items: items(a.Free.Pins)})
		if a.Trace != nil {
			t := *a.Trace
			t.PeakHolds, t.Kept, t.OOMs = []snapshot.Usage{}, []snapshot.Growth{},
				[]snapshot.OutOfMemory{}
			b.Trace = &t
			lists = append(lists, sink.List{Key: "peak_holds", Items: items(a.Trace.PeakHolds)},
				sink.List{Key: "kept", Items: items(a.Trace.Kept)},
				sink.List{Key: "ooms", Items: items(a.Trace.OOMs)})
		}
		short[i] = b
	}
	return sink.WriteLongJSON(w, struct {
		Schema  string              `json:"schema"`
		Path    string              `json:"path"`
		Devices []snapshot.Analysis `json:"devices"`
	}{"vramsoak.snapshot/1", path, short}, lists)
}
