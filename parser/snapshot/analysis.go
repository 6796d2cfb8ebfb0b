package snapshot

import (
	"cmp"
	"slices"

	"vramsoak/parser/record"
)

// An Analysis says which lines of the program hold a device's memory. All sizes are in bytes.
type Analysis struct {
	Device int     `json:"device"`
	Totals Totals  `json:"totals"`
	Holds  []Usage `json:"holds"` // the memory that each site holds, the largest amount first
	Free   Free    `json:"free"`
	// Trace is the result from the events. It is nil if the snapshot has no events, because
	// PyTorch did not record the history.
	Trace *Trace `json:"trace,omitempty"`
}

// Totals are sums over all segments.
type Totals struct {
	Segments  int   `json:"segments"`
	Blocks    int   `json:"blocks"`    // active blocks
	Reserved  int64 `json:"reserved"`  // held from the driver
	Allocated int64 `json:"allocated"` // in blocks that the program holds
	Active    int64 `json:"active"`    // allocated, or freed and still in use by another stream
	Requested int64 `json:"requested"` // requested for the active blocks
	Private   int64 `json:"private"`   // reserved in private pools, as for CUDA graphs
}

// Rounding returns the memory that is lost because the allocator rounds up sizes: active minus
// requested.
func (t Totals) Rounding() int64 { return t.Active - t.Requested }

// A Usage is the memory that one [Site], a line of the program, holds.
type Usage struct {
	Site    Site     `json:"site"`
	Bytes   int64    `json:"bytes"`
	Blocks  int      `json:"blocks"`
	Largest int64    `json:"largest"`
	Stacks  []*Stack `json:"-"` // the different stacks of the site, the one with most bytes first
	bytes   map[*Stack]int64
}

// Free is the memory that the allocator reserved and that no block in use occupies, in bytes.
type Free struct {
	Sum int64 `json:"sum"`
	// Whole is the free memory in segments that have no block in use. torch.cuda.empty_cache()
	// returns this memory to the driver.
	Whole int64 `json:"whole"`
	// InactiveSplit is the free memory in segments that have a block in use. The allocator cannot
	// return this memory to the driver.
	InactiveSplit int64 `json:"inactive_split"`
	Largest       int64 `json:"largest"` // the largest free block
	// Pins are the sites whose blocks keep segments that are at least half free. The site that
	// keeps the most free memory comes first.
	Pins []Pin `json:"pins"`
}

// A Pin is a site whose blocks prevent segments from being returned to the driver. A segment
// counts for the site that holds most of it.
type Pin struct {
	Site     Site  `json:"site"` // the site that holds most in each of the segments
	Segments int   `json:"segments"`
	Free     int64 `json:"free"`  // free bytes in these segments
	Holds    int64 `json:"holds"` // bytes in use in these segments, by all sites
}

// A Trace is the result from the events that PyTorch recorded.
type Trace struct {
	Events int `json:"events"`
	// Micros is the time from the first event to the last, in microseconds; 0 if times were not
	// recorded.
	Micros int64 `json:"micros"`
	// StartReserved and StartAllocated are the memory before the first event, in bytes. They are
	// 0 if the recording began with the program and lost no event because of max_entries.
	StartReserved  int64 `json:"start_reserved"`
	StartAllocated int64 `json:"start_allocated"`
	// Unexplained is the number of events that contradict the segments in the file, such as a
	// free of a block that does not exist.
	Unexplained int     `json:"unexplained"`
	Allocations int     `json:"allocations"`
	Peak        Moment  `json:"peak"`
	PeakHolds   []Usage `json:"peak_holds"` // what was allocated at the peak, by site
	// Kept holds, by site, the blocks that the trace's events allocated and never freed.
	Kept []Growth      `json:"kept"`
	OOMs []OutOfMemory `json:"ooms"`
}

// A Moment is the memory after an event.
type Moment struct {
	Event     int   `json:"event"` // index of the event; -1 for the moment before the first event
	Micros    int64 `json:"micros"`
	Reserved  int64 `json:"reserved"`
	Allocated int64 `json:"allocated"`
	// In is the name of the innermost annotation that had begun and not ended at the event. It
	// says what the program was doing.
	In string `json:"in,omitempty"`
}

// A Growth is the memory that a site allocated during the trace and did not free.
type Growth struct {
	Usage
	// Steps is how often the memory grew. Successive allocations count as one step until the program
	// frees any block. So loading a model is one step. A loop that frees its temporary blocks and
	// keeps something in each round has one step for each round.
	Steps int `json:"steps"`
	// From and To say when the memory first and last grew, as positions in the trace from 0 to 1.
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// An OutOfMemory is an allocation that failed.
type OutOfMemory struct {
	Event      int   `json:"event"`
	Micros     int64 `json:"micros"`
	Requested  int64 `json:"requested"` // as the allocator rounded it up
	DeviceFree int64 `json:"device_free"`
	Reserved   int64 `json:"reserved"`
	Allocated  int64 `json:"allocated"`
	Free       int64 `json:"free"`   // reserved and not in use
	Usable     int64 `json:"usable"` // the part of Free in the request's pool and stream
	Largest    int64 `json:"largest_free"`
	Site       Site  `json:"site"` // the site that made the request
}

// Fragmented reports whether fragmentation caused the failure: the driver and the allocator
// together had enough free memory for the request, but no free block was large enough.
func (o OutOfMemory) Fragmented() bool {
	return o.Requested > o.Largest && o.Requested <= o.DeviceFree+o.Usable
}

// Analyze returns the analysis of the device. The parameter annotations lists the annotations of
// the snapshot.
func (d *Device) Analyze(annotations []Annotation) *Analysis {
	s := d.sites
	if s == nil {
		s = sites{}
	}
	a := &Analysis{Device: d.Index}
	traced := d.hasAllocations()
	holds := tally{sites: s, recorded: traced}
	for _, seg := range d.Segments {
		a.Totals.Segments++
		a.Totals.Reserved += seg.Size
		a.Totals.Allocated += seg.Allocated
		a.Totals.Active += seg.Active
		a.Totals.Requested += seg.Requested
		if seg.Pool != [2]int64{} {
			a.Totals.Private += seg.Size
		}
		for _, b := range seg.Blocks {
			if b.State == record.BlockFree {
				a.Free.Sum += b.Size
				a.Free.Largest = max(a.Free.Largest, b.Size)
				continue
			}
			a.Totals.Blocks++
			holds.add(b.Stack, b.Size)
		}
		if seg.Active == 0 {
			a.Free.Whole += seg.Size
		}
	}
	a.Free.InactiveSplit = a.Free.Sum - a.Free.Whole
	a.Holds = holds.usages()
	a.Free.Pins = d.pins(s, traced)
	if len(d.Events) > 0 {
		a.Trace = d.trace(s, annotations)
	}
	return a
}

// hasAllocations reports whether the events include allocations with stacks. If they do, a block
// without a stack is older than the recording.
func (d *Device) hasAllocations() bool {
	return slices.ContainsFunc(d.Events, func(e Event) bool {
		return e.Action == Alloc &&
			e.Stack != nil
	})
}

// sites caches the site of each stack. Devices may share stacks.
type sites map[*Stack]Site

// of returns the site of a stack. The parameter recorded is set if the events include allocations
// with stacks.
func (s sites) of(stack *Stack, recorded bool) Site {
	if stack == nil && recorded {
		return Site{Function: Before}
	}
	site, ok := s[stack]
	if !ok {
		site = stack.Site()
		s[stack] = site
	}
	return site
}

// A tally sums up blocks by their sites.
type tally struct {
	sites    sites
	recorded bool
	by       map[Site]*Usage
}

// add adds a block of `size` bytes and returns the usage of the block's site.
func (t *tally) add(stack *Stack, size int64) *Usage {
	if t.by == nil {
		t.by = map[Site]*Usage{}
	}
	site := t.sites.of(stack, t.recorded)
	u := t.by[site]
	if u == nil {
		u = &Usage{Site: site, bytes: map[*Stack]int64{}}
		t.by[site] = u
	}
	u.Bytes, u.Blocks, u.Largest = u.Bytes+size, u.Blocks+1, max(u.Largest, size)
	if stack != nil {
		if _, ok := u.bytes[stack]; !ok {
			u.Stacks = append(u.Stacks, stack)
		}
		u.bytes[stack] += size
	}
	return u
}

// usages returns the usage of each site, the largest first.
func (t *tally) usages() []Usage {
	out := make([]Usage, 0, len(t.by))
	for _, u := range t.by {
		slices.SortStableFunc(u.Stacks, func(a, b *Stack) int {
			return cmp.Compare(u.bytes[b],
				u.bytes[a])
		})
		out = append(out, *u)
	}
	slices.SortFunc(out, byBytes)
	return out
}

// byBytes orders usages by bytes, the largest first. Usages with the same bytes are ordered by
// site.
func byBytes(a, b Usage) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), compareSites(a.Site, b.Site))
}

func compareSites(a, b Site) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function),
		cmp.Compare(a.Library.File, b.Library.File), cmp.Compare(a.Library.Line, b.Library.Line),
		cmp.Compare(a.Library.Function, b.Library.Function),
	)
}

// pins returns the sites whose blocks keep segments that are at least half free.
func (d *Device) pins(s sites, recorded bool) []Pin {
	by := map[Site]*Pin{}
	for _, seg := range d.Segments {
		if seg.Active == 0 || 2*seg.Active > seg.Size {
			continue
		}
		t := tally{sites: s, recorded: recorded}
		for _, b := range seg.Blocks {
			if b.State != record.BlockFree {
				t.add(b.Stack, b.Size)
			}
		}
		site := t.usages()[0].Site
		if by[site] == nil {
			by[site] = &Pin{Site: site}
		}
		p := by[site]
		p.Segments, p.Free, p.Holds = p.Segments+1, p.Free+seg.Size-seg.Active, p.Holds+seg.Active
	}
	out := make([]Pin, 0, len(by))
	for _, p := range by {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Pin) int {
		return cmp.Or(cmp.Compare(b.Free, a.Free),
			compareSites(a.Site, b.Site))
	})
	return out
}

// trace returns the result from the events. It goes through the events once to find the peak and
// the failures. Then it goes through them again up to the peak, to list the blocks that are
// allocated at the peak.
func (d *Device) trace(s sites, annotations []Annotation) *Trace {
	m := d.first()
	m.watchGaps(d.Events)
	t := &Trace{
		Events: len(d.Events), StartReserved: m.reserved, StartAllocated: m.allocated,
		OOMs: []OutOfMemory{},
	}
	t.Micros = max(0, d.Events[len(d.Events)-1].Micros-d.Events[0].Micros)
	t.Peak = Moment{
		Event: -1, Micros: d.Events[0].Micros, Reserved: m.reserved,
		Allocated: m.allocated,
	}
	frees := make([]int, 0, len(d.Events)) // how many frees were completed before each event
	completed := 0
	for i, e := range d.Events {
		frees = append(frees, completed)
		switch e.Action {
		case Alloc:
			t.Allocations++
		case FreeCompleted:
			completed++
		case OOM:
			o := OutOfMemory{
				Event: i, Micros: e.Micros, Requested: e.Size, DeviceFree: e.DeviceFree, Reserved: m.reserved,
				Allocated: m.allocated,
				Site:      s.of(e.Stack, false),
			}
			o.Free, o.Usable, o.Largest = m.free(demandOf(e))
			t.OOMs = append(t.OOMs, o)
		}
		m.do(e, i)
		if m.allocated > t.Peak.Allocated {
			t.Peak = Moment{Event: i, Micros: e.Micros, Reserved: m.reserved, Allocated: m.allocated}
		}
	}
	t.Unexplained = m.unexplained
	t.Kept = m.kept(s, frees)
	t.Peak.In = within(annotations, d.Index, t.Peak.Micros)
	t.PeakHolds = d.Holding(t.Peak.Event).usages(s, d.hasAllocations())
	return t
}

// A Holding lists the blocks that are allocated at one moment of the trace.
type Holding []HeldBlock

// A HeldBlock is a block that is allocated.
type HeldBlock struct {
	Stack *Stack // nil if the block was allocated before the trace
	Size  int64  // bytes
}

// Holding returns the blocks that are allocated right after the event with the given index. The
// index -1 stands for the moment before the first event.
func (d *Device) Holding(event int) Holding {
	m := d.first()
	for i := range event + 1 {
		m.do(d.Events[i], i)
	}
	var out Holding
	m.blocks.Scan(func(_ uint64, h *held) bool {
		if !h.pending {
			out = append(out, HeldBlock{Stack: h.stack, Size: h.size})
		}
		return true
	})
	return out
}

func (h Holding) usages(s sites, recorded bool) []Usage {
	t := tally{sites: s, recorded: recorded}
	for _, b := range h {
		t.add(b.Stack, b.Size)
	}
	return t.usages()
}

// kept returns, by site, the memory of the blocks that the events allocated and did not free. The
// parameter frees gives, for each event, the number of completed frees before it.
func (m *memory) kept(s sites, frees []int) []Growth {
	t := tally{sites: s}
	at := map[*Usage][]int{}
	m.blocks.Scan(func(_ uint64, h *held) bool {
		if h.event >= 0 {
			u := t.add(h.stack, h.size)
			at[u] = append(at[u], h.event)
		}
		return true
	})
	bySite := map[Site][]int{}
	for u, events := range at {
		slices.Sort(events)
		bySite[u.Site] = events
	}
	out := []Growth{}
	for _, u := range t.usages() {
		events := bySite[u.Site]
		g := Growth{
			Usage: u, Steps: 1, From: position(events[0], len(frees)),
			To: position(events[len(events)-1], len(frees)),
		}
		for i := 1; i < len(events); i++ {
			if frees[events[i]] > frees[events[i-1]] {
				g.Steps++
			}
		}
		out = append(out, g)
	}
	return out
}

// position returns where the event i is among n events: 0 for the first event, 1 for the last.
func position(i, n int) float64 { return float64(i) / float64(max(1, n-1)) }

// within returns the name of the innermost annotation that has begun and not ended at a time in
// microseconds, or "". If several open annotations have the same name, an end belongs to the
// annotation that began last.
func within(annotations []Annotation, device int, micros int64) string {
	begun := 0
	open := map[string][]int{} // by name: numbers of the annotations that have not ended
	from, _ := slices.BinarySearchFunc(annotations, device, func(a Annotation, device int) int {
		return cmp.Compare(a.Device, device)
	})
	for _, a := range annotations[from:] {
		if a.Device != device {
			break
		}
		switch at := open[a.Name]; {
		case a.Micros > micros || micros == 0:
		case a.Start:
			begun++
			open[a.Name] = append(at, begun)
		case len(at) > 0:
			open[a.Name] = at[:len(at)-1]
		}
	}
	innermost, last := "", 0
	for name, at := range open {
		if len(at) > 0 && at[len(at)-1] > last {
			innermost, last = name, at[len(at)-1]
		}
	}
	return innermost
}
