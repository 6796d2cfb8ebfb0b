package check

import (
	"cmp"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// at is the mark of a run, which may be an earlier one.
func (p *peakMark) at(n int) *runMark {
	for i := range p.runs {
		if p.runs[i].run == n {
			return &p.runs[i]
		}
	}
	p.runs = append(p.runs, runMark{run: n})
	return &p.runs[len(p.runs)-1]
}

// addFailures takes the readings in out-of-memory messages. A device that has no checkpoint gets a
// ledger of its own in j.failed.
func (j *Judge) addFailures() {
	j.failed = nil
	bare := map[record.Lane]*lane{}
	for _, l := range j.lanes {
		for i := range l.peak.runs {
			l.peak.runs[i].end()
		}
	}
	for _, files := range [][]*timeline.File{j.tl.Files, j.tl.Outside} {
		for _, f := range files {
			for k := range f.OOMs {
				o := &f.OOMs[k]
				j.highWater.add(&o.Reading)
				l := cmp.Or(j.byLane[o.Lane], bare[o.Lane])
				if l == nil && tellsLevel(o) {
					l = &lane{id: o.Lane}
					bare[o.Lane] = l
					j.failed = append(j.failed, l)
				}
				if l != nil {
					l.peak.at(f.Run).failure(o, f)
				}
			}
		}
	}
	slices.SortFunc(j.failed, byLane)
}

// tellsLevel reports whether an out-of-memory message says how much memory was in use.
func tellsLevel(o *record.OutOfMemory) bool {
	return o.Has(record.Allocated) || o.Has(record.Used) || o.Has(record.Reserved) ||
		o.Has(record.Free) && o.Has(record.Total)
}

// peaked returns the ledgers whose high-water mark is judged: of devices with checkpoints, and of
// devices that only an out-of-memory message names.
func (j *Judge) peaked() []*lane { return append(slices.Clip(j.lanes), j.failed...) }

// failure takes an out-of-memory message:
//
//	... GPU 0 has a total capacity of 31.36 GiB of which 18.62 MiB is free. Process 73820 has 30.58 GiB memory in use. Including
//	non-PyTorch memory, this process has 764.00 MiB memory in use. Of the allocated memory 165.30 MiB is allocated by PyTorch,
//	and 4.70 MiB is reserved by PyTorch but unallocated.
func (r *runMark) failure(o *record.OutOfMemory, file *timeline.File) {
	size, hasTotal := o.Get(record.Total)
	if hasTotal {
		r.note(total{size: size, pos: o.Pos})
	}
	m := mark{seen: true, total: size, name: "the failed allocation", pos: o.Pos, file: file}
	level := false
	if allocated, ok := o.Get(record.Allocated); ok {
		m.size, level = allocated, true
		r.take(byAllocated, &m)
	}
	if reserved, ok := o.Get(record.Reserved); ok {
		m.size = reserved
		r.take(byReserved, &m)
	}
	m.cached, _ = o.Cache()
	free, hasFree := o.Get(record.Free)
	if used, ok := o.Get(record.Used); ok {
		m.size, level = used, true
		r.take(byProcess, &m)
	} else if hasFree && hasTotal {
		m.size = record.Size{Bytes: max(0, size.Bytes-free.Bytes), Resolution: size.Resolution + free.Resolution}
		m.why = "the message does not tell whose that is"
		r.take(byDevice, &m)
		r.deviceLine = max(r.deviceLine, o.Pos.Line)
	}
	if level {
		r.levelLine = max(r.levelLine, o.Pos.Line)
	} else {
		r.failedLine = max(r.failedLine, o.Pos.Line)
	}
}

// addSamples takes the harness's samples. If the driver tells processes apart, they give the
// process's own memory, and the log's readings of the whole device are dropped.
func (j *Judge) addSamples(driver *timeline.Beside) {
	taken := map[[2]int]bool{} // runs and the driver's devices
	for _, l := range j.peaked() {
		for i := range l.peak.runs {
			r := &l.peak.runs[i]
			device, ok := driver.Device(r.run, l.id)
			if !ok {
				continue
			}
			samples := driver.OfDevice(r.run, device)
			r.note(total{totalOf(samples), true, samples.Samples()[0].Pos})
			if key := [2]int{r.run, device}; !taken[key] { // the samples are of all ranks on the device together
				taken[key] = true
				r.samples(samples)
			}
		}
	}
}

// bare returns ledgers for the devices that have only samples in their run. If another run has given
// the device a ledger, the samples go there instead.
func (j *Judge) bare(beside *timeline.Beside) (all []*lane) {
	byDevice := map[int]*lane{}
	known := j.peaked()
	for _, run := range j.tl.Runs {
		for _, device := range beside.Devices(run.Number) {
			of := func(l *lane) bool {
				d, ok := beside.Device(run.Number, l.id)
				return ok && d == device
			}
			seen := func(l *lane) bool { // by the run's checkpoints or failures
				return of(l) && slices.ContainsFunc(l.peak.runs, func(r runMark) bool { return r.run == run.Number })
			}
			if slices.ContainsFunc(known, seen) {
				continue
			}
			var l *lane
			if i := slices.IndexFunc(known, of); i >= 0 {
				l = known[i]
			} else if l = byDevice[device]; l == nil {
				l = &lane{id: record.Lane{Device: device}}
				byDevice[device] = l
				all = append(all, l)
			}
			l.peak.at(run.Number).samples(beside.OfDevice(run.Number, device))
		}
	}
	return all
}

func totalOf(driver *timeline.DriverLedger) record.Size {
	size, _ := driver.Samples()[0].Get(record.Total)
	return size
}

func (r *runMark) samples(driver *timeline.DriverLedger) {
	by, why := byProcess, ""
	if driver.Source == record.SourceDevice {
		by, why = byDevice, "the driver does not tell processes apart here (source=device)"
	} else {
		r.of[byDevice], r.of[byTable] = nil, nil
	}
	for _, s := range driver.Samples() {
		m := mark{seen: true, cached: record.Exact(s.Cached), name: "a sample of the driver", pos: s.Pos, why: why}
		m.size, _ = s.Get(record.Used)
		m.total, _ = s.Get(record.Total)
		r.take(by, &m)
		r.levelLine = max(r.levelLine, s.Pos.Line)
		r.deviceLine = max(r.deviceLine, s.Pos.Line)
	}
}
