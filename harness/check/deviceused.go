package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// deviceSamples holds what the driver's samples say about the files on one device. It is used where
// the allocator does not account for all of the device's memory: a pipeline that prints no
// checkpoints (CTranslate2, llama.cpp, TensorRT), or one that does not print reserved memory.
//
// A file's level is its lowest sample, from the file's start to the start of the next file. Memory
// that the file uses for a moment does not count in it. Memory that it leaves behind does, and
// stays in the levels of all later files. The last file of a process has no level: many pipelines
// do not say when it ends, and the process gives back all memory when it exits.
type deviceSamples struct {
	levels column
	shares column  // of the memory that a file took above the level before it: what it gave back
	took   []int64 // that memory in bytes, for each of shares
	after  int     // number of files with a level before them that show what they gave back
	work   int64   // how far the samples of a file rise above its level, at most
	known  int     // number of files in runs that have samples
	total  int64   // memory of the device
	end    int64   // the last sample in a file
	// pool names a library that hands out the memory itself, and pooled is how much it took at once.
	// See record.Sample.
	pool   string
	pooled int64
	// wholeDevice is set if the samples count the memory of all processes on the device.
	wholeDevice bool
}

// readDeviceSamples sets the device samples of each device and rank. A device that has samples but
// no checkpoints gets a lane in j.sampled.
func (j *Judge) readDeviceSamples(driver *timeline.DriverLedgers) {
	files := map[int][]int32{} // for each run, the indices of its files in the order of its log
	for i, f := range j.tl.Files {
		if f.Supervised {
			files[f.Run] = append(files[f.Run], int32(i))
		}
	}
	for _, l := range j.lanes {
		l.device = nil
		for run := range j.tl.Runs {
			number := j.tl.Runs[run].Number
			if of := driver.OfLane(number, l.id); of != nil {
				j.addDeviceSamples(l, files[number], of)
			}
		}
	}
	j.sampled = nil
	for _, run := range j.tl.Runs {
		devices := driver.DeviceNumbers(run.Number)
		for _, device := range devices {
			if of := j.sampledLane(driver, run.Number, device); of != nil {
				j.addDeviceSamples(of, files[run.Number], driver.OfDevice(run.Number, device))
			}
		}
	}
	slices.SortFunc(j.sampled, byLane)
}

// sampledLane returns the lane in j.sampled for a device, or nil if the device gets none in this
// run. A device with checkpoints already has a lane, in j.lanes. If the driver does not list the
// pipeline on the device, the pipeline may not use it at all. Such a device gets a lane only if no
// reading says that the pipeline uses another device.
func (j *Judge) sampledLane(driver *timeline.DriverLedgers, run, device int) *lane {
	if slices.ContainsFunc(j.lanes, func(l *lane) bool {
		d, ok := driver.DeviceNumber(run, l.id)
		return ok && d == device
	}) {
		return nil
	}
	listed := func(device int) bool {
		return driver.OfDevice(run, device).Source == record.SourceProcess
	}
	if !listed(device) &&
		(len(j.lanes) > 0 || slices.ContainsFunc(driver.DeviceNumbers(run), listed)) {
		return nil
	}
	for _, l := range j.sampled {
		if l.id.Device == device {
			return l
		}
	}
	l := &lane{id: record.Lane{Device: device}, level: record.Used}
	l.peaks.most = columnFiles
	j.sampled = append(j.sampled, l)
	return l
}

// addDeviceSamples adds the samples of one run to a lane. The files are those of the run, in the
// order of its log.
func (j *Judge) addDeviceSamples(l *lane, files []int32, of *timeline.DriverLedger) {
	if l.device == nil {
		l.device = &deviceSamples{}
	}
	d, samples := l.device, of.Samples()
	d.wholeDevice = d.wholeDevice || of.Source == record.SourceDevice
	for i, s := range samples {
		if s.Pool != "" {
			d.pool, d.pooled = s.Pool, usedOf(s)
			if i > 0 && samples[i-1].PID == s.PID && samples[i-1].Source == s.Source {
				d.pooled -= usedOf(samples[i-1])
			}
		}
	}
	before, process := int64(-1), -1 // level of the previous file with samples, and its process
	for i, n := range files {
		f := j.tl.Files[n]
		end := f.EndPos.Line
		followed := i+1 < len(files) && j.tl.Files[files[i+1]].Process == f.Process
		if followed {
			end = j.tl.Files[files[i+1]].Pos.Line
		}
		for len(samples) > 0 && samples[0].Pos.Line <= f.Pos.Line {
			samples = samples[1:]
		}
		within := 0
		for within < len(samples) && samples[within].Pos.Line < end {
			within++
		}
		d.known++
		if within > 0 {
			if process != f.Process {
				before = -1
			}
			var top int64
			before, top = d.addFile(n, samples[:within], before)
			if followed {
				d.levels.add(n, float64(before), 0)
			}
			process = f.Process
			if l.isSampled() {
				l.peaks.addLevel(record.Used, n, record.Exact(top))
			}
		}
		samples = samples[within:]
	}
}

func usedOf(s *record.Sample) int64 { return s.Bytes(record.Used) }

// addFile adds file n with its samples, and returns the lowest and the highest of them. The
// parameter before is the level of the process's previous file, or -1 if the file is its first.
func (d *deviceSamples) addFile(n int32, samples []*record.Sample, before int64) (
	level, top int64,
) {
	left := int64(0) // the lowest sample since the first of the highest ones
	var highest *record.Sample
	last := samples[len(samples)-1]
	level = math.MaxInt64
	for _, s := range samples {
		used := usedOf(s)
		level, left = min(level, used), min(left, used)
		if used > top {
			top, left, highest = used, used, s
		}
	}
	d.work = max(d.work, top-level)
	d.total, d.end = last.Bytes(record.Total), usedOf(last)
	switch {
	case before < 0:
	case top <= before:
		d.after++
	case highest == last: // what the file gave back after its highest sample is unknown
	default:
		d.after++
		d.took = append(d.took, top-before)
		d.shares.add(n, float64(top-left)/float64(top-before), 0)
	}
	return level, top
}

// deviceLevels returns the device used between files. It returns no levels where another ledger has
// them: where the idle level is the device used, and where dark memory is judged. Device used is
// reserved memory plus dark memory. If a device has checkpoints and too few files, the findings on
// the other ledgers say so.
func deviceLevels(j *Judge, l *lane) *column {
	c := l.column(DeviceUsed)
	if len(c.files) == 0 && l.device != nil {
		c = &l.device.levels
	}
	isUsed := func(i idle) bool { return i.of == record.Used }
	if len(c.files) == 0 || slices.ContainsFunc(l.idles, isUsed) ||
		l.lastLine > 0 && (!j.canJudge(c) || j.canJudge(darkLevels(j, l))) {
		return &column{}
	}
	return c
}

// canJudge reports whether a process has enough files in the column to judge growth.
func (j *Judge) canJudge(c *column) bool {
	return slices.ContainsFunc(j.processes(c), func(p processValues) bool {
		return len(p.files)-j.policy.Leak.WarmUp >= j.policy.Leak.MinFiles
	})
}

// isSampled reports whether the lane has samples only.
func (l *lane) isSampled() bool { return l.device != nil && l.lastLine == 0 }

// deviceIsShared reports whether the device used includes the memory of other processes.
func (l *lane) deviceIsShared() bool {
	if len(l.column(DeviceUsed).files) > 0 {
		return l.wholeDevice
	}
	return l.device != nil && l.device.wholeDevice
}

// explainDevice adds to the finding where its levels come from, and when memory runs out. Samples
// are less exact than checkpoints. So where the allocator's ledgers are judged too, an undecided
// finding is skipped.
func (j *Judge) explainDevice(l *lane, w *worstProcess) {
	d := l.device
	if d == nil || len(l.column(DeviceUsed).files) > 0 {
		return
	}
	f := &w.finding
	pooled := d.pool != "" && f.Verdict == Pass
	if pooled {
		f.Verdict = Undecided
		f.Message = fmt.Sprintf("%s took %s at once and hands it out itself, so the driver does not see "+
			"a leak; %s", d.pool, record.FormatBytes(d.pooled), poolAdvice(d.pool))
	}
	if !l.isSampled() && f.Verdict == Undecided {
		f.Verdict, f.Measured, f.Limit, f.Unit = Skipped, nil, nil, ""
	}
	if pooled {
		return
	}
	f.Message += fmt.Sprintf("; a file's level is the lowest of the driver's samples until the next "+
		"file starts, which %d of %s have", len(d.levels.files), Plural(d.known, "file"))
	if f.Verdict == Fail && d.total > 0 {
		left := "none"
		if n := int64(float64(d.total-d.end-d.work) / *f.Measured); n > 0 {
			left = Grouped(strconv.FormatInt(n, 10))
		}
		f.Message += fmt.Sprintf("; more files until out of memory (each may need %s at its peak): "+
			"%s here (%s)", record.FormatBytes(d.work), left, record.FormatBytes(d.total))
	}
}

// poolAdvice returns, for a message, how a leak shows if a library hands out the device's memory
// itself. With XLA_PYTHON_CLIENT_PREALLOCATE=false or TF_FORCE_GPU_ALLOW_GROWTH=true, the libraries
// take larger and larger regions, in which a small leak does not show either.
func poolAdvice(pool string) string {
	switch pool {
	case "JAX":
		return "soak with XLA_PYTHON_CLIENT_ALLOCATOR=platform in the environment, or print checkpoints"
	case "TensorFlow":
		return "print checkpoints of tf.config.experimental.get_memory_info"
	}
	return "print checkpoints"
}

// deviceRecovery judges how much of the memory that a file takes above the level before it is given
// back by its end. The median over the files decides, because samples miss short peaks, and an
// allocator with a cache takes more only for its largest files.
func (j *Judge) deviceRecovery(l *lane) {
	d := l.device
	if d.after == 0 || d.pool != "" {
		return
	}
	var shares, took []float64
	for i, n := range d.shares.files {
		if j.endedWell(j.tl.Files[n]) && d.took[i] > j.policy.Recovery.Floor.Bytes {
			shares, took = append(shares, d.shares.values[i]), append(took, float64(d.took[i]))
		}
	}
	f := Finding{
		Check: DeviceRecovery, Verdict: Pass, Subject: j.subjectOf(ledgerNamed(DeviceUsed), l),
		Message: fmt.Sprintf("no file takes more than %s above the level before it",
			Quantity(float64(j.policy.Recovery.Floor.Bytes), Bytes)),
	}
	if len(shares) > 0 {
		share := shape.Median(shares)
		f.Unit, f.Measured, f.Limit = Ratio, new(share), new(float64(j.policy.Recovery.Min))
		f.Message = fmt.Sprintf("a file gives back %s of the %s that it takes above the level before it "+
			"(medians of %s)", percent(share), Quantity(shape.Median(took), Bytes),
			Plural(len(shares), "file"))
		if share < *f.Limit {
			f.Verdict = Fail
			f.Message += "; the rest stays in a cache, or is left behind"
		}
	}
	if f.Verdict == Fail && l.deviceIsShared() {
		f.Verdict = Undecided
		f.Message += "; the driver does not list processes here, so it may be another process's"
	}
	j.add(f)
}
