package peak

import (
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// at returns the marks of the run with this number. Unlike last, it also finds earlier runs.
func (p *Marks) at(number int) *run {
	for i := range p.runs {
		if p.runs[i].number == number {
			return &p.runs[i]
		}
	}
	p.runs = append(p.runs, run{number: number})
	return &p.runs[len(p.runs)-1]
}

// End keeps the readings of the driver that still wait for a checkpoint. Call End after the last
// checkpoint, before AddFailure, AddSamples and Join.
func (p *Marks) End() {
	for i := range p.runs {
		p.runs[i].end()
	}
}

// TellsLevel reports whether an out-of-memory message says how much memory was in use.
func TellsLevel(o *record.OutOfMemory) bool {
	return o.Has(record.Allocated) || o.Has(record.Used) || o.Has(record.Reserved) ||
		o.Has(record.Free) && o.Has(record.Total)
}

// AddFailure adds the readings in an out-of-memory message:
//
//	... GPU 0 has a total capacity of 31.36 GiB of which 18.62 MiB is free. Process 73820 has
//	30.58 GiB memory in use. Including non-PyTorch memory, this process has 764.00 MiB memory in
//	use. Of the allocated memory 165.30 MiB is allocated by PyTorch, and 4.70 MiB is reserved by
//	PyTorch but unallocated.
func (p *Marks) AddFailure(f *timeline.File, o *record.OutOfMemory) {
	r := p.at(f.Run)
	size, hasTotal := o.Get(record.Total)
	if hasTotal {
		r.note(total{size: size, pos: o.Pos})
	}
	m := Mark{seen: true, Total: size, Name: "the failed allocation", Pos: o.Pos, File: f}
	own := m // of the allocator's memory, which may have a lower limit
	if o.Allowed.Bytes > 0 && o.Allowed.Bytes < size.Bytes {
		own.Total, own.Capped = o.Allowed, true
	}
	level := false
	if allocated, ok := o.Get(record.Allocated); ok {
		own.Size, level = allocated, true
		r.take(Allocated, &own)
	}
	if reserved, ok := o.Get(record.Reserved); ok {
		own.Size = reserved
		r.take(Reserved, &own)
	}
	m.Cached, _ = o.Cache()
	free, hasFree := o.Get(record.Free)
	if used, ok := o.Get(record.Used); ok {
		m.Size, level = used, true
		r.take(Process, &m)
	} else if hasFree && hasTotal {
		m.Size = record.Size{
			Bytes: max(0, size.Bytes-free.Bytes), Resolution: size.Resolution + free.Resolution,
		}
		m.notKnown = "the message does not say which process holds it"
		r.take(device, &m)
		r.deviceLine = max(r.deviceLine, o.Pos.Line)
	}
	if level {
		r.levelLine = max(r.levelLine, o.Pos.Line)
	} else {
		r.failedLine = max(r.failedLine, o.Pos.Line)
	}
}

// AddSamples adds the samples that the harness took of one device in the run with this number.
func (p *Marks) AddSamples(number int, driver *timeline.DriverLedger) {
	p.at(number).samples(driver)
}

// Join adds the samples that the harness took of the device, in each run that has readings. If the
// driver lists processes, the samples give the memory of the run's processes, and the log's
// readings of the whole device are dropped. Samples cover all ranks on the device together, so they
// are added only once: the map taken holds the runs and devices whose samples were added.
func (p *Marks) Join(id record.Lane, driver *timeline.DriverLedgers, taken map[[2]int]bool) {
	for i := range p.runs {
		r := &p.runs[i]
		number, ok := driver.DeviceNumber(r.number, id)
		if !ok {
			continue
		}
		samples := driver.OfDevice(r.number, number)
		first := samples.Samples()[0]
		size, _ := first.Get(record.Total)
		r.note(total{size, true, first.Pos})
		if key := [2]int{r.number, number}; !taken[key] {
			taken[key] = true
			r.samples(samples)
		}
	}
}

func (r *run) samples(driver *timeline.DriverLedger) {
	by, notKnown := Process, ""
	if driver.Source == record.SourceDevice {
		by, notKnown = device, "the driver does not list processes here (source=device)"
	} else {
		r.of[device], r.of[only] = nil, nil
	}
	samples := driver.Samples()
	if slices.ContainsFunc(samples, func(s *record.Sample) bool { return s.Pool != "" }) {
		by, notKnown = Reserved, "" // a library's allocator holds the memory, and hands it out itself
	}
	for _, s := range samples {
		m := Mark{
			seen: true, Cached: record.Exact(s.Cached), Name: "a sample of the driver", Pos: s.Pos,
			notKnown: notKnown,
		}
		m.Size, _ = s.Get(record.Used)
		m.Total, _ = s.Get(record.Total)
		r.take(by, &m)
		r.levelLine = max(r.levelLine, s.Pos.Line)
		r.deviceLine = max(r.deviceLine, s.Pos.Line)
	}
}
