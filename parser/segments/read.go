package segments

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Part is one line of a [record.SegmentMap]. It keeps the map as text, because a few bytes of
// text may describe half a million blocks, and most callers do not need the blocks.
type Part struct {
	record.SegmentMap
	part, Parts int // this is part number `part`, counted from 1, of Parts parts
	unit        int64
	text        string
	pieces      int   // number of segments and blocks
	size        int64 // sum of the sizes of the blocks, in bytes
}

// Moved returns a copy of the part whose line number is larger by the given number of lines.
func (p Part) Moved(lines int) record.Record {
	p.Pos.Line += lines
	return p
}

// OfRank implements [record.Ranked].
func (p Part) OfRank(rank int) record.Record {
	p.SegmentMap, _ = p.SegmentMap.OfRank(rank).(record.SegmentMap)
	return p
}

// The limits of a map. A line beyond these limits is considered damaged.
const (
	maxPieces  = 1 << 19
	maxUnit    = 1 << 40
	maxParts   = 1 << 12
	maxMapSize = 1 << 62
)

// ReadPart returns the part of a segment map that one line contains. The parameter f holds the
// fields of the line. If the line cannot be read, ReadPart sets f.Err.
func ReadPart(f *lex.Fields) Part {
	p := Part{
		SegmentMap: record.SegmentMap{
			Header: f.Head, Lane: record.Lane{Device: f.Count("device"), Rank: f.Count("rank")},
			Name:      f.Get("at"),
			Requested: f.Bytes("requested"), Total: f.Bytes("total"), Used: f.Bytes("used"),
			Allowed: f.Bytes("allowed"),
		},
		part: 1, Parts: 1, unit: 1, text: f.Get("map"),
	}
	if s, ok := f.Lookup("unit"); ok {
		p.unit = f.Bytes("unit")
		if p.unit < 1 || p.unit > maxUnit {
			f.Expected("bytes after unit=", s)
		}
	}
	if s, ok := f.Lookup("part"); ok {
		part, parts, _ := strings.Cut(s, "/")
		var err, errs error
		p.part, err = lex.ParseCount(part)
		p.Parts, errs = lex.ParseCount(parts)
		if err != nil || errs != nil || p.part < 1 || p.part > p.Parts || p.Parts > maxParts {
			f.Expected("a part of a map after part=, as in 1/2", s)
		}
	}
	if f.Err != nil {
		return p
	}
	at, expected := p.walk(func(record.Segment, string) { p.pieces++ },
		func(b record.Block, n int) bool {
			p.pieces += n
			if p.pieces > maxPieces || b.Size > (maxMapSize-p.size)/int64(n) {
				return false
			}
			p.size += b.Size * int64(n)
			return true
		})
	if expected != "" {
		f.Expected(expected+" in map=", p.text[at:])
	}
	return p
}

// walk calls the function segment for each segment of the part, and the function block for each
// group of n equal blocks. It stops if block returns false. The parameter mark is the sign before
// the segment's address: "", "+", or "&". The sign "&" says that the part continues the last
// segment of the previous part. If the text cannot be read, walk returns the offset of the
// mistake and what should be there.
func (p *Part) walk(segment func(s record.Segment, mark string),
	block func(b record.Block, n int) bool,
) (at int, expected string) {
	rest := p.text
	wrong := func(expected string) (int, string) { return len(p.text) - len(rest), expected }
	if rest == "." {
		return 0, ""
	}
	for first := true; ; first = false {
		var s record.Segment
		mark := ""
		switch {
		case !first && strings.HasPrefix(rest, "+"):
			mark = "+"
		case first && p.part > 1 && strings.HasPrefix(rest, "&"):
			mark = "&"
		}
		rest = rest[len(mark):]
		if mark != "&" {
			after, expected := cutSegment(&s, rest)
			if expected != "" {
				return wrong(expected)
			}
			rest = after
		}
		if !strings.HasPrefix(rest, ":") {
			return wrong("':' before a segment's blocks")
		}
		rest = rest[1:]
		segment(s, mark)
		for rest != "" && rest[0] != ';' && rest[0] != '.' {
			b, n, after, ok := cutBlock(rest, p.unit)
			if !ok {
				return wrong("a block (A, P or F and its size)")
			}
			if !block(b, n) {
				return wrong(fmt.Sprintf("at most %d blocks and 4 EiB", maxPieces))
			}
			rest = after
		}
		switch rest {
		case "":
			return wrong("'.' at the end of a map")
		case ".":
			return 0, ""
		}
		if rest[0] == '.' {
			return wrong("nothing behind the '.'")
		}
		rest = rest[1:]
	}
}

// cutSegment cuts a segment's address, pool and stream off the beginning of the text, and sets
// these fields of s. It returns the rest of the text, or what was expected if the text is wrong.
func cutSegment(s *record.Segment, text string) (rest, expected string) {
	var ok bool
	if s.Address, rest, ok = cutHexadecimal(text); !ok {
		return "", "a segment's address"
	}
	if rest == "" || rest[0] != 'L' && rest[0] != 'S' {
		return "", "L or S after a segment's address"
	}
	s.Small = rest[0] == 'S'
	rest, s.Expandable = strings.CutPrefix(rest[1:], "x")
	if stream, is := strings.CutPrefix(rest, "@"); is {
		if s.Stream, rest, ok = cutHexadecimal(stream); !ok {
			return "", "a stream after a segment's @"
		}
	}
	return rest, ""
}

// cutBlock cuts a group of n equal blocks, such as "A20*3", or one block off the beginning of the
// text. The parameter unit is the size of a unit in bytes. It returns the block, n and the rest
// of the text.
func cutBlock(text string, unit int64) (b record.Block, n int, rest string, ok bool) {
	i := bytes.IndexByte(blockLetters[:], text[0])
	size, rest, ok := cutHexadecimal(text[1:])
	if i < 0 || !ok || size < 1 || size > uint64(maxMapSize/unit) {
		return record.Block{}, 0, "", false
	}
	b, n = record.Block{Size: int64(size) * unit, State: record.BlockState(i)}, 1
	if times, is := strings.CutPrefix(rest, "*"); is {
		rest = strings.TrimLeft(times, "0123456789")
		n, _ = lex.ParseCount(times[:len(times)-len(rest)])
	}
	return b, n, rest, n > 0
}

// cutHexadecimal cuts a hexadecimal number in lower case off the beginning of the text.
func cutHexadecimal(text string) (n uint64, rest string, ok bool) {
	end := 0
	for end < len(text) && (lex.IsDigit(text[end]) || 'a' <= text[end] && text[end] <= 'f') {
		end++
	}
	n, err := strconv.ParseUint(text[:end], 16, 64)
	return n, text[end:], err == nil
}
