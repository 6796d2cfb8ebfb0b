package harness

import (
	"slices"

	"vramsoak/parser/record"
)

// levelsKept is the largest number of levels in a [Progress].
const levelsKept = 256

// levels follows the memory of a run for its [Progress]. It judges nothing: it keeps the level at
// the end of each file, and the high-water mark.
type levels struct {
	lane    record.Lane // of the first reading; the levels of other devices do not count
	printed bool        // the pipeline prints readings, so samples do not count
	now     int64       // the level at the last reading
	read    bool        // the current file has a reading
	ended   []int64     // levels at the ends of files
	// stride is how many files each level in ended stands for: all levels are kept until there are
	// levelsKept, then every second, then every fourth. seen counts all levels.
	stride, seen int
	peaks        map[record.Lane]peak
}

// A peak is the high-water mark of a device or of a process on it, in bytes, and the memory of the
// device. The total is 0 if it is not known.
type peak struct{ bytes, total int64 }

// exceeds reports whether p is shown rather than q, which may be of another device: it is the
// larger share of its device. A peak without a total is shown only if none has a total, because it
// may be small beside its device. Else the larger one is shown.
func (p peak) exceeds(q peak) bool {
	known := p.total > 0 && q.total > 0
	switch {
	case p.bytes == 0 || q.bytes == 0:
	case known && p.share() != q.share():
		return p.share() > q.share()
	case !known && (p.total > 0 || q.total > 0):
		return p.total > 0
	}
	return p.bytes > q.bytes
}

func (p peak) share() float64 { return float64(p.bytes) / float64(p.total) }

// peaksKept is the most lanes whose high-water marks are kept: a pipeline may print any number of
// ranks.
const peaksKept = 4096

// note takes a reading of the pipeline.
func (l *levels) note(r *record.Reading, lane record.Lane) {
	if !l.printed {
		l.printed, l.lane = true, lane
		l.peaks = nil // of samples
	}
	for _, q := range [...]record.Quantity{record.Allocated, record.Used, record.Reserved} {
		level, ok := r.Get(q)
		if !ok {
			continue
		}
		if lane == l.lane {
			l.now, l.read = level.Bytes, true
		}
		most := level.Bytes
		if q == record.Allocated {
			most = max(most, r.Bytes(record.Peak))
		}
		l.raise(lane, most, r.Bytes(record.Total))
		return
	}
}

// sample takes a sample of the harness, which counts if the pipeline prints no readings.
func (l *levels) sample(s *record.Sample) {
	if used, ok := s.Get(record.Used); ok && !l.printed {
		if s.Lane == l.lane {
			l.now, l.read = used.Bytes, true
		}
		l.raise(s.Lane, used.Bytes, s.Bytes(record.Total))
	}
}

// raise raises the high-water mark of a lane. Not every reading has a total: the last one counts.
func (l *levels) raise(lane record.Lane, bytes, total int64) {
	of, has := l.peaks[lane]
	if !has && len(l.peaks) == peaksKept {
		return
	}
	if l.peaks == nil {
		l.peaks = map[record.Lane]peak{}
	}
	of.bytes = max(of.bytes, bytes)
	if total > 0 {
		of.total = total
	}
	l.peaks[lane] = of
}

// endFile keeps the level of the file that has ended.
func (l *levels) endFile() {
	if !l.read {
		return
	}
	l.read = false
	l.stride = max(1, l.stride)
	number := l.seen
	if l.seen++; number%l.stride != 0 {
		return
	}
	if len(l.ended) == levelsKept { // number is a multiple of twice the stride, too
		for i := range levelsKept / 2 {
			l.ended[i] = l.ended[2*i]
		}
		l.ended = l.ended[:levelsKept/2]
		l.stride *= 2
	}
	l.ended = append(l.ended, l.now)
}

// put sets in p what is known of the memory.
func (l *levels) put(p *Progress) {
	var most peak
	for _, of := range l.peaks {
		if of.exceeds(most) {
			most = of
		}
	}
	p.Levels, p.Peak, p.Total = slices.Clone(l.ended), most.bytes, most.total
}
