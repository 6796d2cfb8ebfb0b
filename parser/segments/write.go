package segments

import (
	"strconv"

	"vramsoak/parser/record"
)

// blockLetters holds the letter that stands for each block state in a map.
var blockLetters = [...]byte{
	record.BlockFree: 'F', record.BlockAllocated: 'A', record.BlockPending: 'P',
}

// BlockGrain is in bytes. The size of every block in PyTorch is a multiple of it. PyTorch calls it
// kMinBlockSize (c10/cuda/CUDACachingAllocator.cpp).
const BlockGrain = 512

// maxLineMap is the length in bytes above which a map is split into several lines. It is below 16
// KiB, because Docker splits longer lines of a log.
const maxLineMap = 8 << 10

// AppendLine appends the segment map as a line of the pipeline, without a newline at its end. If
// the map is too long for one line, AppendLine writes several lines, which are read as one
// record:
//
//	[pipeline] segments at="file end" device=0 total=16777216000 part=1/2 unit=512
//	    map=7f0000000000L:A5000F5000;+0Sx@1:A1F1000.
//	[pipeline] segments at="file end" device=0 total=16777216000 part=2/2 unit=512
//	    map=&:A20*3;7f0010000000L:F1000.
//
// The field map= has the following form. Numbers are hexadecimal, except those after '*'.
//
//	;        separates segments
//	.        ends the map, so that a map that was cut off is noticed
//	7f00     begins a segment: its address in bytes
//	+0       begins a segment: its distance in bytes from the end of the previous segment
//	&        continues the last segment of the previous part
//	L, S     the large or the small pool
//	x        expandable
//	@1       the stream, if it is not 0
//	:        precedes the blocks
//	A, P, F  an allocated, pending or free block, followed by its size in units
//	*3       three equal blocks
func AppendLine(m *record.SegmentMap, b []byte) []byte {
	w := segmentWriter{unit: unitOf(m)}
	for i := range m.Segments {
		w.segment(&m.Segments[i])
	}
	w.cut()
	for i, part := range w.parts {
		if i > 0 {
			b = append(b, '\n')
		}
		b = record.AppendHead(b, m.Header, true, "segments")
		b = record.AppendField(b, "at", m.Name)
		b = record.AppendField(b, "device", strconv.Itoa(m.Lane.Device))
		if m.Lane.Rank != 0 {
			b = record.AppendField(b, "rank", strconv.Itoa(m.Lane.Rank))
		}
		for _, f := range []struct {
			key   string
			bytes int64
		}{{"total", m.Total}, {"used", m.Used}, {"allowed", m.Allowed}, {"requested", m.Requested}} {
			if f.bytes != 0 {
				b = record.AppendField(b, f.key, strconv.FormatInt(f.bytes, 10))
			}
		}
		if len(w.parts) > 1 {
			b = record.AppendField(b, "part", strconv.Itoa(i+1)+"/"+strconv.Itoa(len(w.parts)))
		}
		b = record.AppendField(b, "unit", strconv.FormatInt(w.unit, 10))
		b = append(append(b, " map="...), part...)
	}
	return b
}

// unitOf returns the unit of the map's block sizes, in bytes: 512 if the size of every block is a
// multiple of 512, else 1.
func unitOf(m *record.SegmentMap) int64 {
	for i := range m.Segments {
		for _, b := range m.Segments[i].Blocks {
			if b.Size%BlockGrain != 0 {
				return 1
			}
		}
	}
	return BlockGrain
}

// A segmentWriter writes the text of a SegmentMap, in parts.
type segmentWriter struct {
	unit  int64
	parts []string
	part  []byte
	end   uint64 // address at which the last segment ends
}

// segment writes a segment. It begins a new part when the current part exceeds maxLineMap.
func (w *segmentWriter) segment(s *record.Segment) {
	if len(w.part) > maxLineMap {
		w.cut()
	}
	if len(w.part) > 0 {
		w.part = append(w.part, ';')
	}
	if len(w.part) > 0 && s.Address >= w.end {
		w.part = strconv.AppendUint(append(w.part, '+'), s.Address-w.end, 16)
	} else {
		w.part = strconv.AppendUint(w.part, s.Address, 16)
	}
	pool := byte('L')
	if s.Small {
		pool = 'S'
	}
	w.part = append(w.part, pool)
	if s.Expandable {
		w.part = append(w.part, 'x')
	}
	if s.Stream != 0 {
		w.part = strconv.AppendUint(append(w.part, '@'), s.Stream, 16)
	}
	w.part = append(w.part, ':')
	w.end = s.Address
	for i := 0; i < len(s.Blocks); {
		block, n := s.Blocks[i], 1
		for i+n < len(s.Blocks) && s.Blocks[i+n] == block {
			n++
		}
		if len(w.part) > maxLineMap {
			w.cut()
			w.part = append(w.part, "&:"...)
		}
		w.part = strconv.AppendInt(append(w.part, blockLetters[block.State]), block.Size/w.unit, 16)
		if n > 1 {
			w.part = strconv.AppendInt(append(w.part, '*'), int64(n), 10)
		}
		w.end += uint64(block.Size) * uint64(n)
		i += n
	}
}

// cut ends the current part and adds it to w.parts.
func (w *segmentWriter) cut() {
	w.parts = append(w.parts, string(append(w.part, '.')))
	w.part = w.part[:0]
}
