package html

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A Snapshot is a memory snapshot of PyTorch, with the analysis of each of its devices.
type Snapshot struct {
	Name     string
	Snapshot *snapshot.Snapshot
	Analyses []*snapshot.Analysis
}

type snapshotView struct {
	Summary summary
	About   []summaryRow
	Tables  []tableView
	Several bool // several devices or moments
}

// A snapshotDocument is the data of a page of snapshots.
type snapshotDocument struct {
	Schema   string      `json:"schema"`
	Names    []string    `json:"names"` // of the lines of the program
	Holdings []holding   `json:"holdings"`
	Segments []mapSeries `json:"segments"`
}

// A holding is what a device held at one moment, by call stack and by call site.
type holding struct {
	Title string     `json:"title"`
	Bytes int64      `json:"bytes"`
	Tree  treeData   `json:"tree"`
	Sites []siteData `json:"sites"`
}

// A treeData is a tree of calls in preorder, the outermost call first.
type treeData struct {
	Depth  column `json:"depth"`
	Name   column `json:"name"` // index in Names
	Bytes  column `json:"bytes"`
	Blocks column `json:"blocks"`
}

// A siteData is a line of the program, with what it holds.
type siteData struct {
	Name    int   `json:"name"`
	Bytes   int64 `json:"bytes"`
	Blocks  int   `json:"blocks"`
	Largest int64 `json:"largest"`
}

// The limits of the page of a snapshot. Calls that hold less than a part of 1/callsShare of the
// memory are not shown on their own; their bytes count for the call around them.
const (
	sitesMax   = 400
	callsShare = 4000
	callsDeep  = 200
)

// WriteSnapshots writes the page of memory snapshots: what holds memory, as a flame graph and as a
// treemap, what was never freed, and the segments.
func WriteSnapshots(w io.Writer, all []Snapshot, version string) error {
	d := snapshotDocument{
		Schema: schema, Names: []string{}, Holdings: []holding{}, Segments: []mapSeries{},
	}
	numbers := map[string]int{}
	name := func(s string) int {
		i, known := numbers[s]
		if !known {
			i = len(d.Names)
			numbers[s] = i
			d.Names = append(d.Names, sink.Name(s))
		}
		return i
	}
	v := &snapshotView{}
	for _, s := range all {
		for i, a := range s.Analyses {
			device := &s.Snapshot.Devices[i]
			where := fmt.Sprintf("device %d", a.Device)
			if len(all) > 1 {
				where = s.Name + ", " + where
			}
			d.Holdings = append(d.Holdings, holdings(where, device, a, name)...)
			maps := NewSegments()
			for m := range device.Maps(a.Trace) {
				maps.Add(m)
			}
			d.Segments = append(d.Segments, maps.series(where)...)
			v.Tables = append(v.Tables, snapshotTables(where, len(v.Tables), a)...)
		}
	}
	v.Several = len(d.Holdings) > 1
	v.Summary = summarizeSnapshots(all)
	page := view{Snapshot: v, Version: sink.Name(version), Parts: []part{
		{"verdict", "Summary"},
		{"flame", "Flame graph"},
		{"treemap", "Treemap"},
		{"segments", "Segments"},
	}}
	for _, t := range v.Tables {
		page.Parts = append(page.Parts, part{t.ID, t.Title})
	}
	page.Title = v.Summary.Title + " - vramsoak"
	return page.write(w, &d, snapshotScripts)
}

// holdings returns what a device held when the snapshot was taken, and at the peak of its history.
func holdings(where string, d *snapshot.Device, a *snapshot.Analysis, name func(string) int,
) []holding {
	traced := a.Trace != nil && a.Trace.Allocations > 0
	now := newCalls()
	for _, s := range d.Segments {
		for _, b := range s.Blocks {
			if b.State != record.BlockFree {
				now.add(b.Stack, traced, b.Size)
			}
		}
	}
	out := []holding{{
		Title: sink.Name(where + ", when the snapshot was taken"), Bytes: now.root.bytes,
		Tree: now.data(name), Sites: sites(a.Holds, name),
	}}
	if traced {
		peak := newCalls()
		for _, b := range d.Holding(a.Trace.Peak.Event) {
			peak.add(b.Stack, traced, b.Size)
		}
		title := where + ", at the peak"
		if a.Trace.Peak.In != "" {
			title += ", in " + a.Trace.Peak.In
		}
		out = append(out, holding{
			Title: sink.Name(title), Bytes: peak.root.bytes, Tree: peak.data(name),
			Sites: sites(a.Trace.PeakHolds, name),
		})
	}
	return out
}

// sites returns the lines of the program that hold most. The last one stands for all others.
func sites(usages []snapshot.Usage, name func(string) int) []siteData {
	out := []siteData{}
	others := siteData{}
	for i, u := range usages {
		s := siteData{name(u.Site.String()), u.Bytes, u.Blocks, u.Largest}
		if i < sitesMax {
			out = append(out, s)
			continue
		}
		others.Bytes, others.Blocks = others.Bytes+u.Bytes, others.Blocks+u.Blocks
		others.Largest = max(others.Largest, u.Largest)
	}
	if others.Blocks > 0 {
		others.Name = name(wording.Plural(len(usages)-sitesMax, "other line"))
		out = append(out, others)
	}
	return out
}

// calls is a tree of calls, from the outermost one.
type calls struct{ root *call }

type call struct {
	frame    string
	bytes    int64
	blocks   int64
	children map[string]*call
}

func newCalls() *calls { return &calls{&call{}} }

// add adds a block to all calls of its stack.
func (c *calls) add(stack *snapshot.Stack, traced bool, bytes int64) {
	at := c.root
	at.bytes, at.blocks = at.bytes+bytes, at.blocks+1
	for _, f := range framesOf(stack, traced) {
		next := at.children[f]
		if next == nil {
			next = &call{frame: f}
			if at.children == nil {
				at.children = map[string]*call{}
			}
			at.children[f] = next
		}
		at = next
		at.bytes, at.blocks = at.bytes+bytes, at.blocks+1
	}
}

// framesOf returns the frames of a stack, the outermost first.
func framesOf(stack *snapshot.Stack, traced bool) []string {
	switch {
	case stack == nil && traced:
		return []string{snapshot.Before}
	case stack == nil:
		return []string{snapshot.NoStack}
	}
	frames := stack.Outward(false)
	if len(frames) == 0 {
		return []string{stack.Site().Function} // only C++ frames
	}
	if deep := len(frames) - callsDeep; deep > 0 {
		frames = frames[:callsDeep]
	}
	out := make([]string, 0, len(frames))
	for _, f := range slices.Backward(frames) {
		out = append(out, f.String())
	}
	return out
}

// data returns the tree without small calls, the largest calls first.
func (c *calls) data(name func(string) int) treeData {
	t := treeData{}
	least := c.root.bytes / callsShare
	var walk func(at *call, depth int64)
	walk = func(at *call, depth int64) {
		children := make([]*call, 0, len(at.children))
		for _, child := range at.children {
			if child.bytes > least {
				children = append(children, child)
			}
		}
		slices.SortFunc(children, func(a, b *call) int {
			return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.frame, b.frame))
		})
		for _, child := range children {
			t.Depth, t.Name = append(t.Depth, depth), append(t.Name, int64(name(child.frame)))
			t.Bytes, t.Blocks = append(t.Bytes, child.bytes), append(t.Blocks, child.blocks)
			walk(child, depth+1)
		}
	}
	walk(c.root, 0)
	return t
}

// summarizeSnapshots returns the top of the page, for the device that holds most.
func summarizeSnapshots(all []Snapshot) summary {
	var most *snapshot.Analysis
	var of Snapshot
	for _, s := range all {
		for _, a := range s.Analyses {
			if most == nil || ooms(a) > ooms(most) ||
				ooms(a) == ooms(most) && a.Totals.Active > most.Totals.Active {
				most, of = a, s
			}
		}
	}
	return summarizeSnapshot(of, most)
}

// ooms returns how many allocations failed in the history of a device.
func ooms(a *snapshot.Analysis) int {
	if a.Trace == nil {
		return 0
	}
	return len(a.Trace.OOMs)
}

func summarizeSnapshot(of Snapshot, a *snapshot.Analysis) summary {
	s := summary{}
	t := a.Totals
	s.Facts = fmt.Sprintf("%s, device %d: %s reserved, %s allocated, %s in %s", sink.Name(of.Name),
		a.Device, record.FormatBytes(t.Reserved), record.FormatBytes(t.Allocated),
		wording.Plural(t.Blocks, "block"), wording.Plural(t.Segments, "segment"))
	s.Title = record.FormatBytes(t.Active) + " in use of " + record.FormatBytes(t.Reserved) +
		" reserved"
	if len(a.Holds) > 0 {
		h := a.Holds[0]
		s.Title += sink.Name(", most of it by " + shortSite(h.Site))
		s.add("Holds most", fmt.Sprintf("%s: %s in %s", h.Site, record.FormatBytes(h.Bytes),
			wording.Plural(h.Blocks, "block"))).Link = "#flame"
	}
	if tr := a.Trace; tr != nil {
		if len(tr.OOMs) > 0 {
			o := tr.OOMs[0]
			cause := "not enough was free"
			if o.Fragmented() {
				cause = "fragmentation: enough was free in sum, but not in one piece"
			}
			s.Verdict, s.Sign = string(check.Fail), signs["fail"]
			s.Title = sink.Name("out of memory at " + shortSite(o.Site) + ": " + cause)
			s.add("Out of memory", fmt.Sprintf("%s; %s was requested at %s", cause,
				record.FormatBytes(o.Requested), o.Site),
				fmt.Sprintf("the driver had %s free, the allocator %s, of it usable %s in blocks of at "+
					"most %s", record.FormatBytes(o.DeviceFree), record.FormatBytes(o.Free),
					record.FormatBytes(o.Usable), record.FormatBytes(o.Largest)))
		}
		if len(tr.Kept) > 0 {
			k := tr.Kept[0]
			s.add("Never freed", fmt.Sprintf("%s: %s, in %s", k.Site, record.FormatBytes(k.Bytes),
				wording.Plural(k.Steps, "step"))).Link = "#" + tableID("kept", 1)
		}
		if tr.Allocations > 0 {
			s.add("Peak", record.FormatBytes(tr.Peak.Allocated)+" allocated, "+
				record.FormatBytes(tr.Peak.Reserved)+" reserved", tr.Peak.In)
		}
	}
	if len(a.Free.Pins) > 0 {
		p := a.Free.Pins[0]
		s.add("Keeps free memory", fmt.Sprintf("%s: %s are free in %s that it holds", p.Site,
			record.FormatBytes(p.Free), wording.Plural(p.Segments, "segment")))
	}
	return s
}

// shortSite names a site without the folder of its file.
func shortSite(s snapshot.Site) string {
	if i := strings.LastIndexByte(s.File, '/'); i >= 0 {
		s.File = s.File[i+1:]
	}
	return s.String()
}

func tableID(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }

// tableRowsMax is how many rows a table of a snapshot has.
const tableRowsMax = 100

func snapshotTables(where string, n int, a *snapshot.Analysis) []tableView {
	number := func(names ...string) (head []headCell) {
		for i, name := range names {
			head = append(head, headCell{name, i > 0})
		}
		return head
	}
	holds := tableView{
		ID: tableID("holds", n), Title: sink.Name("What holds memory: " + where),
		Head: number("Line of the program", "Bytes", "Share", "Blocks", "Largest"),
	}
	for _, u := range a.Holds[:min(len(a.Holds), tableRowsMax)] {
		holds.Rows = append(holds.Rows, numbers(text(sink.Name(u.Site.String()),
			record.FormatBytes(u.Bytes),
			wording.Share(float64(u.Bytes)/float64(max(1, a.Totals.Active))), wording.Count(u.Blocks),
			record.FormatBytes(u.Largest))))
	}
	out := []tableView{holds}
	if a.Trace == nil {
		return out
	}
	kept := tableView{
		ID: tableID("kept", n+1), Title: sink.Name("Never freed in the history: " + where),
		Head: number("Line of the program", "Bytes", "Blocks", "Steps"),
	}
	for _, k := range a.Trace.Kept[:min(len(a.Trace.Kept), tableRowsMax)] {
		kept.Rows = append(kept.Rows, numbers(text(sink.Name(k.Site.String()),
			record.FormatBytes(k.Bytes), wording.Count(k.Blocks), wording.Count(k.Steps))))
	}
	return append(out, kept)
}

// numbers aligns all cells but the first as numbers.
func numbers(row []cell) []cell {
	for i := range row[1:] {
		row[1+i].Number = true
	}
	return row
}
