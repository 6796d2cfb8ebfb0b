package openmetrics

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// A spool keeps the points of all series until the end of the log, because OpenMetrics wants the
// points of a series one after the other. A point takes about 8 bytes. What does not fit into
// memory goes to a temporary file. The file has no name, so the system removes it in any case.
type spool struct {
	limit    int // bytes in memory
	buffered int
	series   []*points
	file     *os.File
	end      int64 // of the file
}

// points are the points of one series: their differences, as varints.
type points struct {
	last   point
	buffer []byte
	chunks []chunk // in the file, before buffer
}

type point struct {
	millis int64
	value  int64
}

type chunk struct{ from, size int64 }

// spoolLimit is how many bytes of points stay in memory.
const spoolLimit = 32 << 20

func (s *spool) newSeries() *points {
	p := &points{}
	s.series = append(s.series, p)
	return p
}

// add appends a point. Times in a series must rise, so a point that is not later than the one
// before comes a millisecond after it.
func (s *spool) add(p *points, next point) error {
	if len(p.buffer) > 0 || len(p.chunks) > 0 {
		next.millis = max(next.millis, p.last.millis+1)
	}
	before := len(p.buffer)
	p.buffer = binary.AppendVarint(p.buffer, next.millis-p.last.millis)
	p.buffer = binary.AppendVarint(p.buffer, next.value-p.last.value)
	p.last = next
	if s.buffered += len(p.buffer) - before; s.buffered <= s.limit {
		return nil
	}
	return s.flush()
}

// flush moves all points from memory to the file.
func (s *spool) flush() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "vramsoak-export-*")
		if err != nil {
			return err
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(s.file, 256<<10)
	for _, p := range s.series {
		if len(p.buffer) == 0 {
			continue
		}
		p.chunks = append(p.chunks, chunk{s.end, int64(len(p.buffer))})
		s.end += int64(len(p.buffer))
		if _, err := out.Write(p.buffer); err != nil {
			return err
		}
		p.buffer = p.buffer[:0]
	}
	s.buffered = 0
	return out.Flush()
}

// each calls do for every point of a series, in order.
func (s *spool) each(p *points, do func(point) error) error {
	var at point
	for i := 0; i <= len(p.chunks); i++ {
		data := p.buffer
		if i < len(p.chunks) {
			data = make([]byte, p.chunks[i].size)
			if _, err := s.file.ReadAt(data, p.chunks[i].from); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		for len(data) > 0 {
			millis, n := binary.Varint(data)
			value, m := binary.Varint(data[n:])
			data = data[n+m:]
			at = point{at.millis + millis, at.value + value}
			if err := do(at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
