// Package fragmentation draws the segments of an allocator over time. It shows the memory in use,
// the free memory, and why an allocation failed.
package fragmentation

import (
	"errors"
	"io"
	"maps"
	"slices"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// ErrNoSegments is the error for a log without segment maps. It says how to get such maps.
var ErrNoSegments = errors.New("the log has no segment maps to draw: vramsoak simulate prints " +
	"them, and vramlog.py does when an allocation fails. With VRAMLOG_SEGMENTS=on, vramlog.py " +
	"also prints one at the end of each file. Call vramlog.segments() to print one anywhere else")

// Maps collects the segment maps of a log for a picture. Add takes the log's records one by one.
// Its memory does not grow with the length of the log.
type Maps struct {
	// Partial is set if allocations may have failed without a record, as in a snapshot.
	Partial bool

	lanes map[record.Lane]*laneSegments
	other int // segment maps of devices that are not kept, see lanesMax

	splitter   timeline.Splitter
	supervised bool
	named      bool      // the pipeline has printed the beginning or the end of a file
	file       int       // the current file, from 1; 0 before the first
	here       *fileMaps // the maps of the current file
	files      int       // the number of the last file
}

// lanesMax is the number of devices whose maps are kept.
const lanesMax = 8

// Add takes a record of a log.
func (f *Maps) Add(rec record.Record) {
	switch r := rec.(type) {
	case record.FileStart:
		switch {
		case !r.Pipeline && !f.supervised:
			f.supervised = true
			f.begin(max(r.Index, 1)) // earlier records belong to this file
		case !r.Pipeline:
			f.begin(max(r.Index, f.file+1))
		case f.splitter.Begins(r) && !f.supervised:
			if !f.named {
				f.unsplit()
			}
			f.begin(f.file + 1)
		}
	case record.FileEnd:
		f.named = true
	case record.Checkpoint:
		if !f.supervised && f.splitter.Begins(r) {
			f.begin(f.file + 1)
		}
	case record.OutOfMemory:
		f.Partial = true // if the failure has a map, a SegmentMap follows
	case record.SegmentMap:
		f.add(&r)
	}
}

// unsplit is called when the pipeline names its first file. Before that, a checkpoint name that
// recurred may have begun files. unsplit removes these files again, as [parser.Build] does.
func (f *Maps) unsplit() {
	f.named, f.file, f.files = true, 0, 0
	for _, l := range f.lanes {
		for _, frame := range l.frames {
			frame.of.file = 0
		}
	}
}

func (f *Maps) begin(file int) {
	f.file, f.here = file, nil
	f.files = max(f.files, file)
}

func (f *Maps) add(m *record.SegmentMap) {
	lane := f.lanes[m.Lane]
	if lane == nil {
		if len(f.lanes) == lanesMax {
			f.other++
			return
		}
		if f.lanes == nil {
			f.lanes = map[record.Lane]*laneSegments{}
		}
		lane = &laneSegments{lane: m.Lane}
		f.lanes[m.Lane] = lane
	}
	if f.here == nil {
		f.here = &fileMaps{file: f.file, maps: map[record.Lane]int{}}
	}
	lane.add(m, f.here)
}

// Plot draws the segments of one device over time, and why an allocation failed.
func (f *Maps) Plot(w io.Writer, format string, opts plots.Options) error {
	return plots.Draw(w, format, opts, func(on draw.Canvas, encode func(string) string) error {
		lane := f.shown()
		if lane == nil {
			return ErrNoSegments
		}
		p := newPicture(f, lane)
		p.Encode = encode
		p.draw(on)
		return nil
	})
}

// shown returns the device to draw. This is the first device with a failed allocation or, without
// failures, the device with the most reserved memory.
func (f *Maps) shown() *laneSegments {
	var best *laneSegments
	for _, lane := range slices.SortedFunc(maps.Keys(f.lanes), func(a, b record.Lane) int {
		if a.Rank != b.Rank {
			return a.Rank - b.Rank
		}
		return a.Device - b.Device
	}) {
		l := f.lanes[lane]
		switch {
		case best == nil, l.failures > 0 && best.failures == 0:
			best = l
		case best.failures == 0 && l.high > best.high:
			best = l
		}
	}
	return best
}
