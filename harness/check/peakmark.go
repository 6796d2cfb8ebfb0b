package check

import (
	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A peakMark is the high-water marks of a ledger.
type peakMark struct{ runs []runMark }

// A runMark is a run's high-water marks of one device.
type runMark struct {
	run     int
	process int
	// of are the highest by the share of the total that the reading has beside it.
	of     [grounds]*extreme // nil without a reading, as in alone and waiting
	totals []total           // the device's; many programs print it once
	// alone are the highest readings that have no total beside them, by their need.
	alone [grounds]*mark
	// cached is what the allocator held as a cache at the last checkpoint that tells.
	cached    record.Size
	hasCached bool
	// waiting are the largest readings of the driver since that checkpoint. The next one tells how
	// much of them is a cache.
	waiting [grounds]*mark
	table   *processTable // nil where no look at it is under way
	buffers liveBuffers
	// holds is what the program said last that it holds, at least. most is the largest such
	// reading, at the line where it first was so large.
	holds, most int64
	mostLine    int
	// levelLine and deviceLine are the lines of the last reading of the program's own, and of the
	// whole device. failedLine is that of the last allocation that failed without a word on what
	// was in use.
	levelLine, deviceLine, failedLine int
}

// run is the mark of a run. The runs follow one another.
func (p *peakMark) run(n int) *runMark {
	if len(p.runs) == 0 || p.runs[len(p.runs)-1].run != n {
		if len(p.runs) > 0 {
			p.runs[len(p.runs)-1].end()
		}
		p.runs = append(p.runs, runMark{run: n})
	}
	return &p.runs[len(p.runs)-1]
}

// add takes the next reading.
func (p *peakMark) add(f *timeline.File, c *record.Checkpoint) {
	r := p.run(f.Run)
	if r.process != f.Process {
		r.end()
		r.process, r.hasCached, r.holds = f.Process, false, 0
	}
	total, hasTotal := c.Get(record.Total)
	if hasTotal && total.Bytes > 0 {
		r.addTotal(total, c)
	}
	m := mark{seen: true, total: total, name: c.Name, pos: c.Pos, file: f}
	if c.PID != 0 {
		m.size, _ = c.Get(record.Buffer)
		if r.table == nil {
			r.table = &processTable{}
		}
		r.table.add(m, c.Graphics)
		return
	}
	r.closeTable()
	r.allocator(&m, c)
	if used, ok := c.Get(record.Used); ok {
		m.size, m.cached, m.told, m.why = used, record.Size{}, false, ""
		r.driver(&m, c)
	}
	r.buffer(&m, c)
}

// allocator takes a checkpoint's readings of the allocator.
func (r *runMark) allocator(m *mark, c *record.Checkpoint) {
	allocated, ok := c.Get(record.Allocated)
	if ok {
		r.holds = allocated.Low()
	}
	peak, told := c.Get(record.Peak)
	if told = told && (!ok || peak.Bytes > allocated.Bytes); told {
		allocated, ok = peak, true
	}
	if ok {
		m.size, m.told = allocated, told
		r.take(byAllocated, m)
		r.grow(allocated.Low(), c.Pos.Line)
		r.levelLine = c.Pos.Line
	}
	reserved, has := c.Get(record.Reserved)
	if most, told := c.Get(record.PeakReserved); told && (!has || most.Bytes > reserved.Bytes) {
		reserved, has = most, true
	}
	if has {
		m.size, m.told = reserved, false
		r.take(byReserved, m)
		r.grow(reserved.Low(), c.Pos.Line)
	}
	if cached, ok := c.Cache(); ok {
		r.settle(cached)
	}
}

// driver takes the driver's reading of the memory in use.
func (r *runMark) driver(m *mark, c *record.Checkpoint) {
	by := byDevice
	if c.Own {
		by = byProcess
		r.levelLine = c.Pos.Line
		r.grow(m.size.Low(), c.Pos.Line)
	} else {
		r.deviceLine = c.Pos.Line
	}
	if cached, ok := c.Cache(); ok {
		m.cached = cached
		r.take(by, m)
		return
	}
	if by == byDevice && dialect.DriverNumbers(c) { // its processes may follow
		r.table = &processTable{device: *m}
		return
	}
	r.wait(by, m)
}

// buffer takes the size of a buffer that the program names.
func (r *runMark) buffer(m *mark, c *record.Checkpoint) {
	if dialect.Loads(c) {
		r.buffers.loads(&c.Reading, r.totals)
	}
	size, ok := c.Get(record.Buffer)
	if !ok || dialect.DriverNumbers(c) { // a MIG device, or a process without a number
		return
	}
	m.cached, m.told, m.why = record.Size{}, false, ""
	by := byPart
	m.size = size
	if name, again, live := dialect.Live(c); live {
		by = byBuffers
		m.size, m.beside = r.buffers.add(name, again, size)
		r.levelLine = c.Pos.Line
	}
	r.holds = max(r.holds, m.size.Low())
	r.grow(m.size.Low(), c.Pos.Line)
	r.take(by, m)
}

// grow notes that the program holds at least this many bytes.
func (r *runMark) grow(bytes int64, line int) {
	if bytes > r.most {
		r.most, r.mostLine = bytes, line
	}
}

// take keeps a mark if it is the highest.
func (r *runMark) take(by ground, m *mark) {
	if m.total.Bytes > 0 {
		e := r.of[by]
		if e == nil {
			e = &extreme{}
			r.of[by] = e
		}
		if e.top.seen && m.total == e.top.total && m.size.Resolution == e.top.size.Resolution && m.size.Bytes <= e.top.size.Bytes &&
			m.cached == (record.Size{}) && m.beside == 0 && e.top.cached == (record.Size{}) {
			return // as nearly always
		}
		e.raise(m, m.total.Low(), m.total.High())
		return
	}
	before := r.alone[by]
	if before == nil {
		first := *m
		r.alone[by] = &first
		return
	}
	_, need, high := m.need()
	_, most, highest := before.need()
	if need > most {
		*before = *m
		high, highest = highest, high
	}
	before.beside += max(0, high-highest) // the bound is of all
}

// wait keeps a reading of the driver until the next checkpoint tells how much of it is a cache.
func (r *runMark) wait(by ground, m *mark) {
	if !r.hasCached {
		r.take(by, m)
		return
	}
	w := r.waiting[by]
	if w != nil && w.total != m.total {
		r.settleOne(by, r.cached)
		w = nil
	}
	if w == nil || w.size.Bytes < m.size.Bytes {
		highest := *m
		r.waiting[by] = &highest
	}
}

// settle takes a cache off the waiting readings: the smaller one of the two checkpoints around
// them.
func (r *runMark) settle(cached record.Size) {
	for by := range r.waiting {
		if r.waiting[by] != nil {
			least := r.cached
			if cached.Bytes < least.Bytes {
				least = cached
			}
			r.settleOne(ground(by), least)
		}
	}
	r.cached, r.hasCached = cached, true
}

func (r *runMark) settleOne(by ground, cached record.Size) {
	m := r.waiting[by]
	r.waiting[by] = nil
	m.cached = cached
	r.take(by, m)
}

// end takes what still waits in a run when a process, or the log, ends.
func (r *runMark) end() {
	r.closeTable()
	r.settle(r.cached)
	r.hasCached = false
}
