// Package peak finds the largest part of a device's memory that was in use. It says which reading
// shows that part, in which run, and whether it stays under a limit for every value that the
// printed digits allow. It makes no finding: package check turns the result into a verdict under a
// policy.
package peak

import (
	"vramsoak/parser/dialect/serving"
	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Marks holds the high-water marks of one device, as one rank sees it, for each run.
type Marks struct{ runs []run }

// A run holds the high-water marks of one run.
type run struct {
	number  int
	process int
	// of holds, for each ground, the highest mark of the readings that print the device's total. Marks
	// are compared as parts of that total.
	of     [grounds]*extreme // an element is nil without a reading, as in alone and waiting
	totals []total           // totals of the device that the log prints; many programs print one
	// alone holds, for each ground, the highest mark of the readings that print no total.
	alone [grounds]*Mark
	// cached is the memory in the allocator's cache (reserved and not handed out) at the last
	// checkpoint that shows it.
	cached    record.Size
	hasCached bool
	// waiting holds the largest readings of the driver since the checkpoint that showed cached. The
	// next checkpoint shows how much of them is cache.
	waiting [grounds]*Mark
	table   *processTable // the table whose lines are being read, or nil
	buffers liveBuffers
	// holds is the least memory, in bytes, that the program held at its last reading of its own
	// memory. most is the largest such reading so far, and mostLine is the first line with it.
	holds, most int64
	mostLine    int
	// levelLine is the line of the last reading of the program's own memory. deviceLine is the line of
	// the last reading of the whole device. failedLine is the line of the last failed allocation whose
	// message does not say how much memory was in use.
	levelLine, deviceLine, failedLine int
}

// HasRun reports whether the marks have readings of the run with this number.
func (p *Marks) HasRun(number int) bool {
	for i := range p.runs {
		if p.runs[i].number == number {
			return true
		}
	}
	return false
}

// last returns the marks of the run with this number. The caller adds readings run by run, so this
// is the last run or a new one.
func (p *Marks) last(number int) *run {
	if len(p.runs) == 0 || p.runs[len(p.runs)-1].number != number {
		p.endLast()
		p.runs = append(p.runs, run{number: number})
	}
	return &p.runs[len(p.runs)-1]
}

func (p *Marks) endLast() {
	if len(p.runs) > 0 {
		p.runs[len(p.runs)-1].end()
	}
}

// Add adds the next reading to the marks.
func (p *Marks) Add(f *timeline.File, c *record.Checkpoint) {
	r := p.last(f.Run)
	if r.process != f.Process {
		r.end()
		r.process, r.hasCached, r.holds = f.Process, false, 0
	}
	size, hasTotal := c.Get(record.Total)
	if hasTotal && size.Bytes > 0 {
		r.addTotal(size, c)
	}
	m := Mark{seen: true, Total: size, Name: c.Name, Pos: c.Pos, File: f}
	if c.PID != 0 {
		m.Size, _ = c.Get(record.Buffer)
		if r.table == nil {
			r.table = &processTable{}
		}
		r.table.add(m, c.Graphics)
		return
	}
	r.closeTable()
	r.allocator(&m, c)
	if used, ok := c.Get(record.Used); ok {
		m.Size, m.Cached, m.Told, m.notKnown = used, record.Size{}, false, ""
		r.driver(&m, c)
	}
	r.buffer(&m, c)
}

// allocator adds the readings of the program's allocator at a checkpoint to the marks.
func (r *run) allocator(m *Mark, c *record.Checkpoint) {
	allocated, ok := c.Get(record.Allocated)
	if ok {
		r.holds = allocated.Low()
	}
	peak, told := c.Get(record.Peak)
	if told = told && (!ok || peak.Bytes > allocated.Bytes); told {
		allocated, ok = peak, true
	}
	if ok {
		m.Size, m.Told = allocated, told
		r.take(Allocated, m)
		r.grow(allocated.Low(), c.Pos.Line)
		r.levelLine = c.Pos.Line
	}
	reserved, has := c.Get(record.Reserved)
	if most, told := c.Get(record.PeakReserved); told && (!has || most.Bytes > reserved.Bytes) {
		reserved, has = most, true
	}
	if has {
		m.Size, m.Told = reserved, false
		r.take(Reserved, m)
		r.grow(reserved.Low(), c.Pos.Line)
	}
	if cached, ok := c.Cache(); ok {
		r.takeWaiting(cached)
	}
}

// driver adds a reading of the memory in use as the driver says it.
func (r *run) driver(m *Mark, c *record.Checkpoint) {
	by := device
	if c.Own {
		by = Process
		r.levelLine = c.Pos.Line
		r.grow(m.Size.Low(), c.Pos.Line)
	} else {
		r.deviceLine = c.Pos.Line
	}
	if cached, ok := c.Cache(); ok {
		m.Cached = cached
		r.take(by, m)
		return
	}
	if by == device && smi.DriverNumbers(c) { // the lines of the device's processes may follow
		r.table = &processTable{device: *m}
		return
	}
	r.wait(by, m)
}

// buffer adds the size of a buffer that the program names.
func (r *run) buffer(m *Mark, c *record.Checkpoint) {
	if serving.IsBeforeLoad(c) {
		r.buffers.loads(&c.Reading, r.totals)
	}
	size, ok := c.Get(record.Buffer)
	if !ok || smi.DriverNumbers(c) { // a MIG device, or a process without a number
		return
	}
	m.Cached, m.Told, m.notKnown = record.Size{}, false, ""
	by := part
	m.Size = size
	if name, repeat, held := serving.HeldBuffer(c); held {
		by = Buffers
		m.Size, m.maybe = r.buffers.add(name, repeat, size)
		r.levelLine = c.Pos.Line
	}
	r.holds = max(r.holds, m.Size.Low())
	r.grow(m.Size.Low(), c.Pos.Line)
	r.take(by, m)
}

// grow records that the program held at least this many bytes at this line of the log.
func (r *run) grow(bytes int64, line int) {
	if bytes > r.most {
		r.most, r.mostLine = bytes, line
	}
}

// take keeps the mark m if it is the highest mark of the ground.
func (r *run) take(by Ground, m *Mark) {
	if m.Total.Bytes > 0 {
		e := r.of[by]
		if e == nil {
			e = &extreme{}
			r.of[by] = e
		}
		none := record.Size{}
		if e.top.seen && m.Total == e.top.Total && m.Size.Resolution == e.top.Size.Resolution &&
			m.Size.Bytes <= e.top.Size.Bytes && m.Cached == none && m.maybe == 0 && e.top.Cached == none {
			return // nearly all marks are lower
		}
		e.raise(m, m.Total.Low(), m.Total.High())
		return
	}
	before := r.alone[by]
	if before == nil {
		first := *m
		r.alone[by] = &first
		return
	}
	_, inUse, high := m.InUse()
	_, most, highest := before.InUse()
	if inUse > most {
		*before = *m
		high, highest = highest, high
	}
	before.maybe += max(0, high-highest) // keep the highest bound of all marks
}

// wait keeps a reading of the driver until the next checkpoint shows how much of it is cache.
func (r *run) wait(by Ground, m *Mark) {
	if !r.hasCached {
		r.take(by, m)
		return
	}
	w := r.waiting[by]
	if w != nil && w.Total != m.Total {
		r.takeOne(by, r.cached)
		w = nil
	}
	if w == nil || w.Size.Bytes < m.Size.Bytes {
		highest := *m
		r.waiting[by] = &highest
	}
}

// takeWaiting keeps the waiting readings, less the cache, if they are the highest. The cache is the
// smaller of its values at the checkpoints before and after the readings.
func (r *run) takeWaiting(cached record.Size) {
	for by := range r.waiting {
		if r.waiting[by] != nil {
			least := r.cached
			if cached.Bytes < least.Bytes {
				least = cached
			}
			r.takeOne(Ground(by), least)
		}
	}
	r.cached, r.hasCached = cached, true
}

func (r *run) takeOne(by Ground, cached record.Size) {
	m := r.waiting[by]
	r.waiting[by] = nil
	m.Cached = cached
	r.take(by, m)
}

// end keeps the waiting readings when a process, or the log, ends.
func (r *run) end() {
	r.closeTable()
	r.takeWaiting(r.cached)
	r.hasCached = false
}
