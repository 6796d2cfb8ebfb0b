package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// Read returns the records that the line's pattern alone reads in a text, joined by "; ". It
// returns "" if there are none. Sizes are bytes, with their resolution:
//
//	"after 1 iterations" sampled rank=59 allocated=16245388902 peak=17101422592±5242
func (l *Line) Read(program, text string) string { return renderAll(l.records(program, text)) }

// records returns the records that the line's pattern alone reads in a text.
func (l *Line) records(program, text string) []record.Record {
	p := Program{Name: program, Lines: []Line{*l}}
	return read([]byte(text), record.Position{}, p.Dialects())
}

// renderAll returns records as gives: has them, joined by "; ".
func renderAll(records []record.Record) string {
	var all []string
	for _, rec := range records {
		all = append(all, render(rec))
	}
	return strings.Join(all, "; ")
}

// read returns the records that dialects read in one line.
func read(text []byte, pos record.Position, in []*scan.Dialect) (all []record.Record) {
	var out scan.Batch
	s := scan.NewScanner(pos.Path, scan.NewDialects(in))
	s.Scan(source.Window{Buf: text, To: len(text)}, nil, &out)
	for i := range out.Entries {
		all = append(all, out.Entries[i].Record(pos.Line-1))
	}
	return all
}

// render returns a record as gives: has it.
func render(rec record.Record) string {
	switch r := rec.(type) {
	case record.Checkpoint:
		kind := ""
		if r.Sampled {
			kind = " sampled"
		}
		return strconv.Quote(r.Name) + kind + renderReading(r.Lane, &r.Reading)
	case record.Change:
		return strconv.Quote(r.Name) + " change" + renderReading(r.Lane, &r.Reading)
	case record.FileStart:
		return "file " + strconv.Quote(r.Path)
	case record.Event:
		return string(r.Kind)
	case record.SyntaxError:
		return "torn"
	}
	return fmt.Sprintf("%T", rec)
}

// renderReading returns the lane and the sizes of a record, each behind a blank.
func renderReading(lane record.Lane, r *record.Reading) string {
	var b strings.Builder
	if lane.Device != 0 {
		fmt.Fprintf(&b, " device=%d", lane.Device)
	}
	if lane.Rank != 0 {
		fmt.Fprintf(&b, " rank=%d", lane.Rank)
	}
	for _, key := range record.QuantityKeys {
		q, _ := record.ParseQuantity(key)
		if s, ok := r.Get(q); ok {
			fmt.Fprintf(&b, " %s=%d", key, s.Bytes)
			if s.Resolution > 0 {
				fmt.Fprintf(&b, "±%d", s.Resolution)
			}
		}
	}
	return b.String()
}

// Literals returns the literals of all lines, or nil if a line has none.
func (p *Program) Literals() (all []string) {
	for i := range p.Lines {
		literals := p.Lines[i].Literals()
		if len(literals) == 0 {
			return nil
		}
		for _, s := range literals {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}
