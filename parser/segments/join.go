package segments

import (
	"fmt"
	"maps"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Joiner joins the parts of segment maps. Other records may come between two parts of a map.
type Joiner struct {
	open   map[origin][]Part // the parts of incomplete maps that were read so far
	pieces int               // the sum of the weights of these parts, see [Part.weight]
	last   record.Position   // the position of the last record
}

// An origin is a device of one process, whose parts belong together.
type origin struct {
	lane   record.Lane
	writer string
}

func (p *Part) origin() origin { return origin{p.Lane, p.Writer} }

// weight returns how much a part counts towards maxPieces, the limit on segments and blocks in
// memory. A part without pieces counts as 1, because it takes memory too.
func (p *Part) weight() int { return p.pieces + 1 }

// Add adds the next record of a log. If the record is not part of a map, Add yields the record.
// If the record is the last part of a map, Add yields the map. If earlier parts of the map are
// missing, Add yields an error. It returns what yield returned, or true.
func (j *Joiner) Add(rec record.Record, yield func(record.Record, error) bool) bool {
	j.last = rec.At()
	p, ok := rec.(Part)
	if !ok {
		return yield(rec, nil)
	}
	parts := j.open[p.origin()]
	delete(j.open, p.origin())
	for i := range parts {
		j.pieces -= parts[i].weight()
	}
	if n := len(parts); p.part != n+1 ||
		n > 0 && (parts[0].Parts != p.Parts || parts[0].Name != p.Name) {
		if !yield(p.missing(parts), nil) {
			return false
		}
		if p.part > 1 {
			return true
		}
		parts = nil // another map begins
	}
	if parts = append(parts, p); p.part == p.Parts {
		return yield(Join(parts), nil)
	}
	pieces := j.pieces
	for i := range parts {
		pieces += parts[i].weight()
	}
	if pieces > maxPieces {
		return yield(p.bad(fmt.Sprintf("at most %d blocks in segment maps that are not whole yet",
			maxPieces)), nil)
	}
	if j.open == nil {
		j.open = map[origin][]Part{}
	}
	j.open[p.origin()], j.pieces = parts, pieces
	return true
}

// End yields an error for each map that is still incomplete at the end of the log.
func (j *Joiner) End(yield func(record.Record, error) bool) bool {
	open := slices.SortedFunc(maps.Values(j.open), func(a, b []Part) int {
		return a[0].Pos.Line - b[0].Pos.Line
	})
	for _, parts := range open {
		bad := (*Part)(nil).missing(parts)
		bad.Pos = j.last
		if !yield(bad, nil) {
			return false
		}
	}
	return true
}

// missing returns the error for a part p that does not follow the parts read so far. A nil p
// stands for the end of the log.
func (p *Part) missing(parts []Part) record.SyntaxError {
	if len(parts) == 0 {
		return p.bad("part=1 of a segment map")
	}
	first := &parts[0]
	expected := fmt.Sprintf("part=%d/%d of the segment map of line %d", len(parts)+1, first.Parts,
		first.Pos.Line)
	if p != nil {
		return p.bad(expected)
	}
	bad := first.bad(expected)
	bad.Found = "the end of the log"
	return bad
}

// bad returns an error at the part's line, which says what was expected there.
func (p *Part) bad(expected string) record.SyntaxError {
	return record.SyntaxError{
		Header: p.Header, Expected: expected,
		Found:  fmt.Sprintf("part=%d/%d at=%q", p.part, p.Parts, lex.Shorten(p.Name, 40)),
		Advice: record.TornAdvice,
	}
}

// Join returns the map that consists of the given parts, which must be all parts of a map. The
// map has the header of the first part, but the position of the last part. If the map is too large
// or damaged, Join returns a [record.SyntaxError].
func Join(parts []Part) record.Record {
	m := parts[0].SegmentMap
	m.Pos = parts[len(parts)-1].Pos
	pieces, size := 0, int64(0)
	for i := range parts {
		pieces += parts[i].pieces
		if pieces > maxPieces || parts[i].size > maxMapSize-size {
			return parts[i].bad(fmt.Sprintf("at most %d blocks and 4 EiB in a segment map", maxPieces))
		}
		size += parts[i].size
	}
	blocks := make([]record.Block, 0, pieces)
	var s *record.Segment
	for i := range parts {
		if s == nil && len(parts[i].text) > 0 && parts[i].text[0] == '&' {
			return parts[i].bad("a segment before the one that goes on")
		}
		parts[i].walk(func(next record.Segment, mark string) {
			if mark == "&" {
				return
			}
			if mark == "+" {
				next.Address += s.Address + uint64(s.Size)
			}
			m.Segments = append(m.Segments, next)
			s = &m.Segments[len(m.Segments)-1]
		}, func(b record.Block, n int) bool {
			from := len(blocks) - len(s.Blocks)
			for range n {
				blocks = append(blocks, b)
			}
			s.Blocks = blocks[from:len(blocks):len(blocks)]
			s.Size += b.Size * int64(n)
			return true
		})
	}
	return m
}
