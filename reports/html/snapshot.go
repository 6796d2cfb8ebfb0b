package html

import (
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
	// Overview has a row for each device of each snapshot. It is nil if there is only one.
	Overview *tableView
	Devices  []deviceView
}

// A deviceView is what the page shows of one device of one snapshot.
type deviceView struct {
	Number int // of the device on the page, from 0
	Title  string
	Tables []tableView
}

// A snapshotDocument is the data of a page of snapshots.
type snapshotDocument struct {
	Schema   string       `json:"schema"`
	Names    []string     `json:"names"` // of the lines of the program
	Devices  []deviceData `json:"held"`
	Segments []mapSeries  `json:"segments"` // of all devices
	Lead     int          `json:"lead"`     // index in Devices of the one that the summary is about
}

// A deviceData is one device of one snapshot.
type deviceData struct {
	Title    string    `json:"title"`
	Holdings []holding `json:"holdings"`
	Segments int       `json:"segments"` // index in the segments of the page, or -1
}

// A holding is what a device held at one moment, by call stack and by call site.
type holding struct {
	Title string     `json:"title"`
	Bytes int64      `json:"bytes"`
	Tree  treeData   `json:"tree"`
	Sites []siteData `json:"sites"`
}

// A siteData is a line of the program, with what it holds.
type siteData struct {
	Name    int   `json:"name"`
	Bytes   int64 `json:"bytes"`
	Blocks  int   `json:"blocks"`
	Largest int64 `json:"largest"`
}

// sitesMax is how many lines of the program the treemap shows on their own.
const sitesMax = 400

// WriteSnapshots writes the page of memory snapshots: what holds memory, as a flame graph and as a
// treemap, what was never freed, and the segments.
func WriteSnapshots(w io.Writer, all []Snapshot, version string) error {
	b := newSnapshotPage()
	var analyses []*snapshot.Analysis
	for _, s := range all {
		for i, a := range s.Analyses {
			where := fmt.Sprintf("device %d", a.Device)
			if len(all) > 1 {
				where = s.Name + ", " + where
			}
			b.addDevice(where, &s.Snapshot.Devices[i], a)
			analyses = append(analyses, a)
		}
	}
	of, most := leading(all)
	b.doc.Lead = max(0, slices.Index(analyses, most))
	b.view.Summary = summarizeSnapshot(of, most, b.doc.Lead)
	page := view{Snapshot: b.view, Version: sink.Name(version), Parts: []part{{"verdict", "Summary"}}}
	if len(analyses) > 1 {
		b.view.Overview = overview(b.view.Devices, analyses)
		page.Parts = append(page.Parts, part{"overview", "All devices"})
	}
	page.Parts = append(page.Parts, part{"flame", "Flame graph"}, part{"treemap", "Treemap"},
		part{"segments", "Segments"}, part{"tables", "Tables"})
	page.Title = b.view.Summary.Title + " - vramsoak"
	return page.write(w, b.doc, snapshotScripts)
}

// A snapshotPage collects what the page shows.
type snapshotPage struct {
	doc     *snapshotDocument
	view    *snapshotView
	numbers map[string]int // of the names in the document
}

func newSnapshotPage() *snapshotPage {
	return &snapshotPage{
		doc: &snapshotDocument{
			Schema: schema, Names: []string{}, Devices: []deviceData{}, Segments: []mapSeries{},
		},
		view: &snapshotView{}, numbers: map[string]int{},
	}
}

// name returns the number of a line of the program.
func (p *snapshotPage) name(s string) int {
	i, known := p.numbers[s]
	if !known {
		i = len(p.doc.Names)
		p.numbers[s] = i
		p.doc.Names = append(p.doc.Names, sink.Name(s))
	}
	return i
}

// addDevice adds a device of a snapshot to the page.
func (p *snapshotPage) addDevice(where string, of *snapshot.Device, a *snapshot.Analysis) {
	n := len(p.doc.Devices)
	d := deviceData{
		Title: sink.Name(where), Holdings: p.holdings(of, a), Segments: -1,
	}
	maps := NewSegments()
	for m := range of.Maps(a.Trace) {
		maps.Add(m)
	}
	if series := maps.series(where); len(series) > 0 {
		d.Segments = len(p.doc.Segments)
		p.doc.Segments = append(p.doc.Segments, series...)
	}
	p.doc.Devices = append(p.doc.Devices, d)
	p.view.Devices = append(p.view.Devices, deviceView{n, d.Title, snapshotTables(n, d.Title, a)})
}

// holdings returns what a device held when the snapshot was taken, and at the peak of its history.
func (p *snapshotPage) holdings(d *snapshot.Device, a *snapshot.Analysis) []holding {
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
		Title: "when the snapshot was taken", Bytes: now.root.bytes,
		Tree: p.tree(now), Sites: p.sites(a.Holds),
	}}
	if traced {
		peak := newCalls()
		for _, b := range d.Holding(a.Trace.Peak.Event) {
			peak.add(b.Stack, traced, b.Size)
		}
		title := "at the peak"
		if a.Trace.Peak.In != "" {
			title += ", in " + a.Trace.Peak.In
		}
		out = append(out, holding{
			Title: sink.Name(title), Bytes: peak.root.bytes, Tree: p.tree(peak),
			Sites: p.sites(a.Trace.PeakHolds),
		})
	}
	return out
}

// overview returns a table with a row for each device of each snapshot.
func overview(devices []deviceView, analyses []*snapshot.Analysis) *tableView {
	t := &tableView{ID: "overview", Title: "All devices", Head: []headCell{
		{Name: "Device"},
		{Name: "Failed allocations", Number: true},
		{Name: "In use", Number: true},
		{Name: "Reserved", Number: true},
		{Name: "Peak allocated", Number: true},
		{Name: "Holds most"},
	}}
	for i, a := range analyses {
		peak, most := "", ""
		if a.Trace != nil && a.Trace.Allocations > 0 {
			peak = record.FormatBytes(a.Trace.Peak.Allocated)
		}
		if len(a.Holds) > 0 {
			most = shortSite(a.Holds[0].Site) + ": " + record.FormatBytes(a.Holds[0].Bytes)
		}
		row := text(devices[i].Title, wording.Count(ooms(a)), record.FormatBytes(a.Totals.Active),
			record.FormatBytes(a.Totals.Reserved), peak, sink.Name(most))
		for k := 1; k < 5; k++ {
			row[k].Number = true
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sites returns the lines of the program that hold most. The last one stands for all others.
func (p *snapshotPage) sites(usages []snapshot.Usage) []siteData {
	out := []siteData{}
	others := siteData{}
	for i, u := range usages {
		s := siteData{p.name(u.Site.String()), u.Bytes, u.Blocks, u.Largest}
		if i < sitesMax {
			out = append(out, s)
			continue
		}
		others.Bytes, others.Blocks = others.Bytes+u.Bytes, others.Blocks+u.Blocks
		others.Largest = max(others.Largest, u.Largest)
	}
	if others.Blocks > 0 {
		others.Name = p.name(wording.Plural(len(usages)-sitesMax, "other line"))
		out = append(out, others)
	}
	return out
}

// leading returns the device that the top of the page is about: the one with most failed
// allocations, and of several the one that holds most.
func leading(all []Snapshot) (of Snapshot, most *snapshot.Analysis) {
	for _, s := range all {
		for _, a := range s.Analyses {
			if most == nil || ooms(a) > ooms(most) ||
				ooms(a) == ooms(most) && a.Totals.Active > most.Totals.Active {
				most, of = a, s
			}
		}
	}
	return of, most
}

// ooms returns how many allocations failed in the history of a device.
func ooms(a *snapshot.Analysis) int {
	if a.Trace == nil {
		return 0
	}
	return len(a.Trace.OOMs)
}

// summarizeSnapshot returns the top of the page, for a device with this number on the page.
func summarizeSnapshot(of Snapshot, a *snapshot.Analysis, number int) summary {
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
				wording.Plural(k.Steps, "step"))).Link = "#" + tableID("kept", number)
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

func snapshotTables(n int, where string, a *snapshot.Analysis) []tableView {
	out := []tableView{holdsTable(n, where, a)}
	if a.Trace != nil {
		out = append(out, keptTable(n, where, a.Trace))
	}
	return out
}

// firstIsText returns the heads of a table in which all columns but the first are numbers.
func firstIsText(names ...string) (head []headCell) {
	for i, name := range names {
		head = append(head, headCell{name, i > 0})
	}
	return head
}

func holdsTable(n int, where string, a *snapshot.Analysis) tableView {
	t := tableView{
		ID: tableID("holds", n), Title: "What holds memory: " + where,
		Head: firstIsText("Line of the program", "Bytes", "Share", "Blocks", "Largest"),
	}
	for _, u := range a.Holds[:min(len(a.Holds), tableRowsMax)] {
		t.Rows = append(t.Rows, numbers(text(sink.Name(u.Site.String()), record.FormatBytes(u.Bytes),
			wording.Share(float64(u.Bytes)/float64(max(1, a.Totals.Active))), wording.Count(u.Blocks),
			record.FormatBytes(u.Largest))))
	}
	t.Left = len(a.Holds) - len(t.Rows)
	return t
}

func keptTable(n int, where string, trace *snapshot.Trace) tableView {
	t := tableView{
		ID: tableID("kept", n), Title: "Never freed in the history: " + where,
		Head: firstIsText("Line of the program", "Bytes", "Blocks", "Steps"),
	}
	for _, k := range trace.Kept[:min(len(trace.Kept), tableRowsMax)] {
		t.Rows = append(t.Rows, numbers(text(sink.Name(k.Site.String()),
			record.FormatBytes(k.Bytes), wording.Count(k.Blocks), wording.Count(k.Steps))))
	}
	t.Left = len(trace.Kept) - len(t.Rows)
	return t
}

// numbers aligns all cells but the first as numbers.
func numbers(row []cell) []cell {
	for i := range row[1:] {
		row[1+i].Number = true
	}
	return row
}
