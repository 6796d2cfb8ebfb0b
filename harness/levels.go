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
	peak, total  int64 // of the device with the largest share in use
}

// note takes a reading of the pipeline.
func (l *levels) note(r *record.Reading, lane record.Lane) {
	if !l.printed {
		l.printed, l.lane = true, lane
		l.peak, l.total = 0, 0 // of samples
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
		l.raise(most, r.Bytes(record.Total))
		return
	}
}

// sample takes a sample of the harness, which counts if the pipeline prints no readings.
func (l *levels) sample(s *record.Sample) {
	if used, ok := s.Get(record.Used); ok && !l.printed {
		if s.Lane == l.lane {
			l.now, l.read = used.Bytes, true
		}
		l.raise(used.Bytes, s.Bytes(record.Total))
	}
}

// raise raises the high-water mark, if the reading is a larger share of its device. Without a
// total, it compares the bytes.
func (l *levels) raise(bytes, total int64) {
	larger := bytes > l.peak
	if total > 0 && l.total > 0 {
		larger = float64(bytes)/float64(total) > float64(l.peak)/float64(l.total)
	}
	if larger || l.total == 0 && total > 0 && bytes >= l.peak {
		l.peak = bytes
		l.total = max(total, 0)
	}
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
	p.Levels, p.Peak, p.Total = slices.Clone(l.ended), l.peak, l.total
}
