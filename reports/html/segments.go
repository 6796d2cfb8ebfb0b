package html

import (
	"slices"

	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// Segments collects the segment maps of logs or snapshots. Its memory is limited: see blocksMax.
type Segments struct {
	lanes  []*laneMaps
	blocks int // in all maps
}

// A laneMaps holds the maps of one device of one rank, in one log.
type laneMaps struct {
	log    string
	lane   record.Lane
	maps   []record.SegmentMap
	number []int // of each map, from 1
	all    int
	step   int // every step-th map is kept, besides those of failed allocations
}

// The limits of [Segments]. A page needs about two bytes for each block.
const (
	blocksMax   = 400_000
	mapLanesMax = 16
	mapsLeast   = 8 // so many maps are kept, however large they are
)

// NewSegments returns an empty collection.
func NewSegments() *Segments { return &Segments{} }

// Add takes a record of a log. It ignores records that are no segment maps.
func (s *Segments) Add(rec record.Record) {
	m, ok := rec.(record.SegmentMap)
	if !ok {
		return
	}
	i := slices.IndexFunc(s.lanes, func(l *laneMaps) bool {
		return l.log == m.Pos.Path && l.lane == m.Lane
	})
	if i < 0 {
		if len(s.lanes) == mapLanesMax {
			return
		}
		i = len(s.lanes)
		s.lanes = append(s.lanes, &laneMaps{log: m.Pos.Path, lane: m.Lane, step: 1})
	}
	l := s.lanes[i]
	l.all++
	if m.Requested == 0 && l.all%l.step != 0 {
		return
	}
	l.maps, l.number = append(l.maps, m), append(l.number, l.all)
	s.blocks += blocksOf(&m)
	for s.blocks > blocksMax {
		if !s.thin() {
			break
		}
	}
}

func blocksOf(m *record.SegmentMap) (n int) {
	for i := range m.Segments {
		n += len(m.Segments[i].Blocks)
	}
	return n
}

// thin drops every second map of the device with the most blocks. It keeps the first map, and the
// first maps of failed allocations. It reports whether it dropped any.
func (s *Segments) thin() bool {
	var most *laneMaps
	blocks := 0
	for _, l := range s.lanes {
		n := 0
		for i := range l.maps {
			n += blocksOf(&l.maps[i])
		}
		if n > blocks {
			most, blocks = l, n
		}
	}
	if most == nil || len(most.maps) <= mapsLeast {
		return false
	}
	most.step *= 2
	keep := make([]bool, len(most.maps))
	failed := 0
	for i := range most.maps {
		keep[i] = i == 0 || i == len(most.maps)-1 || most.number[i]%most.step == 0
		if most.maps[i].Requested > 0 {
			failed++
			keep[i] = keep[i] || failed <= mapsLeast/2
		}
		if !keep[i] {
			s.blocks -= blocksOf(&most.maps[i])
		}
	}
	before := len(most.maps)
	most.maps, most.number = compact(most.maps, keep), compact(most.number, keep)
	return len(most.maps) < before
}

// encodeSegments adds the segment maps to the document, each with its file.
func (e *encoder) encodeSegments(of *Segments) {
	e.doc.Segments = of.series("")
	for i := range e.doc.Segments {
		log := of.lanes[i].log
		for k := range e.doc.Segments[i].Maps {
			m := &e.doc.Segments[i].Maps[k]
			for _, f := range e.all {
				if !f.Outside && f.Pos.Path == log && f.Pos.Line <= m.Line && m.Line <= f.EndPos.Line {
					m.File = e.files[f]
				}
			}
		}
	}
}

// A mapSeries is the data of the maps of one device.
type mapSeries struct {
	Title string    `json:"title"`
	All   int       `json:"all"` // number of maps in the log
	Total int64     `json:"total"`
	Maps  []mapData `json:"maps"`
}

// A mapData is one segment map. Address and Size are of the segments, Count is the number of blocks
// of each segment; Block and State are of all blocks.
type mapData struct {
	Name      string `json:"name"`
	Number    int    `json:"number"`
	Line      int    `json:"line"`
	File      int    `json:"file"` // index in the files of the page, or -1
	Requested int64  `json:"requested"`
	Address   column `json:"address"` // in units of 512 bytes
	Size      column `json:"size"`
	Count     column `json:"count"`
	Block     column `json:"block"`
	State     string `json:"state"` // a letter for each block: a allocated, p pending, f free
}

// series returns the data of all devices. The parameter where names the log or the snapshot; it is
// "" if the page is of one log.
func (s *Segments) series(where string) []mapSeries {
	out := []mapSeries{}
	for _, l := range s.lanes {
		d := mapSeries{Title: where, All: l.all, Maps: []mapData{}}
		if where == "" {
			d.Title = l.lane.Name(l.lane.Rank != 0)
			if slices.ContainsFunc(s.lanes, func(o *laneMaps) bool { return o.log != l.log }) {
				d.Title = l.log + ", " + d.Title
			}
		}
		d.Title = sink.Name(d.Title)
		for i := range l.maps {
			m := &l.maps[i]
			d.Total = max(d.Total, m.Total)
			d.Maps = append(d.Maps, mapDataOf(m, l.number[i]))
		}
		out = append(out, d)
	}
	return out
}

func mapDataOf(m *record.SegmentMap, number int) mapData {
	d := mapData{
		Name: sink.Name(m.Name), Number: number, Line: m.Pos.Line, File: -1, Requested: m.Requested,
	}
	state := make([]byte, 0, 64)
	for i := range m.Segments {
		s := &m.Segments[i]
		d.Address = append(d.Address, int64(s.Address>>9))
		d.Size = append(d.Size, s.Size)
		d.Count = append(d.Count, int64(len(s.Blocks)))
		for _, b := range s.Blocks {
			d.Block = append(d.Block, b.Size)
			state = append(state, "fap"[b.State])
		}
	}
	d.State = string(state)
	return d
}
