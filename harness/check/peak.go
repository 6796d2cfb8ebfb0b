package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"vramsoak/harness/check/peak"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// peaks judges the high-water mark of each device as each rank sees it.
func (j *Judge) peaks(driver *timeline.DriverLedgers) {
	all := append(j.peaked(), j.sampledOnly(driver)...)
	ranks := slices.ContainsFunc(all, func(l *lane) bool { return l.id.Rank != 0 })
	facts := map[int]*peak.Facts{}
	for _, l := range all {
		peak.AddFacts(facts, l.id, &l.peak)
	}
	for _, l := range all {
		subject := "high-water mark"
		if len(all) > 1 {
			mark := j.laneMark(l.id, ranks)
			j.marks[mark] = true
			subject += mark
		}
		j.peak(l, subject, facts)
	}
}

// addFailures adds the readings in out-of-memory messages to the lanes, each of which is one device
// as one rank sees it. If a device has no checkpoint, it gets a lane of its own in j.failed.
func (j *Judge) addFailures() {
	j.failed = nil
	bare := map[record.Lane]*lane{}
	for _, l := range j.lanes {
		l.peak.End()
	}
	for _, f := range slices.Concat(j.tl.Files, j.tl.Outside) {
		for i := range f.OOMs {
			o := &f.OOMs[i]
			j.highWater.add(&o.Reading)
			l := cmp.Or(j.byLane[o.Lane], bare[o.Lane])
			if l == nil && peak.TellsLevel(o) {
				l = &lane{id: o.Lane}
				bare[o.Lane] = l
				j.failed = append(j.failed, l)
			}
			if l != nil {
				l.peak.AddFailure(f, o)
			}
		}
	}
	slices.SortFunc(j.failed, byLane)
}

// peaked returns the devices, as each rank sees them, whose high-water mark is judged: those with
// checkpoints, and those that appear only in an out-of-memory message.
func (j *Judge) peaked() []*lane { return append(slices.Clip(j.lanes), j.failed...) }

// addSamples adds the samples that the harness took to the marks of each device.
func (j *Judge) addSamples(driver *timeline.DriverLedgers) {
	taken := map[[2]int]bool{}
	for _, l := range j.peaked() {
		l.peak.Join(l.id, driver, taken)
	}
}

// sampledOnly returns a new lane for each device that has only samples in a run. If another run has
// readings of the same device, the samples are added to these instead.
func (j *Judge) sampledOnly(driver *timeline.DriverLedgers) (all []*lane) {
	byDevice := map[int]*lane{}
	known := j.peaked()
	for _, run := range j.tl.Runs {
		for _, device := range driver.DeviceNumbers(run.Number) {
			of := func(l *lane) bool {
				d, ok := driver.DeviceNumber(run.Number, l.id)
				return ok && d == device
			}
			seen := func(l *lane) bool { return of(l) && l.peak.HasRun(run.Number) }
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
			l.peak.AddSamples(run.Number, driver.OfDevice(run.Number, device))
		}
	}
	return all
}

// peakVerdicts holds the verdict for each result of package peak.
var peakVerdicts = [...]Verdict{
	peak.Unknown: Skipped, peak.Fits: Pass, peak.Unsure: Undecided, peak.Exceeds: Fail,
}

// peak compares the high-water mark of a device, as one rank sees it, with the device's total. In
// the default policy, up to 70 % is normal, up to 85 % is a notice, and more is critical, because
// the transcription pipelines warn at these values too. The worst run decides.
func (j *Judge) peak(l *lane, subject string, facts map[int]*peak.Facts) {
	worst, unknown := l.peak.Judge(l.id, facts, float64(j.policy.Peak.Max))
	f := Finding{Check: Peak, Verdict: Skipped, Subject: subject}
	if worst != nil {
		found := j.peakFinding(f, worst)
		if found.causeInput != nil {
			found.causeInput.lane = l.id
		}
		j.add(found)
	}
	switch {
	case len(unknown) > 0 && worst != nil:
		f.Message = fmt.Sprintf("nothing to judge in %s; the first: %s",
			Plural(len(unknown), "log"), unknown[0].Why)
	case len(unknown) > 0:
		f.Message = unknown[0].Why
	case worst != nil:
		return
	}
	j.add(f)
}

// peakFinding completes the finding f with the outcome of the worst run.
func (j *Judge) peakFinding(f Finding, o *peak.Outcome) Finding {
	top := &o.Top
	_, inUse, _ := top.InUse()
	f.Verdict, f.At, f.Quantity = peakVerdicts[o.Result], new(top.Pos), o.By.Name()
	file := j.fileOf(o.Run, top)
	f.File = file.Index
	j.decides(o, inUse)
	amount := record.FormatBytes(inUse) + " " + o.By.Words()
	where := top.Name + ", " + fileName(file)
	if top.Total.Bytes == 0 {
		f.Message = fmt.Sprintf("%s at %s; %s", amount, where, o.Why)
		return f
	}
	used := top.Part()
	f.Unit, f.Measured, f.Limit = Ratio, new(used), new(float64(j.policy.Peak.Max))
	total := top.Total.String()
	if top.Capped {
		total = "the " + total + " that the program allows its allocator"
	}
	found := fmt.Sprintf("%s, of %s (%s) at %s", amount, total, percent(used), where)
	if top.Told {
		found += " (peak=)"
	}
	if top.Cached.Bytes > 0 {
		found += fmt.Sprintf(", without %s of cache", top.Cached)
	}
	notice := used > float64(j.policy.Peak.Notice)
	var others []string
	for by, m := range o.Besides {
		others = append(others,
			fmt.Sprintf("; %s up to %s (%s)", by.Words(), m.Size, percent(m.WithCache())))
		notice = notice || by != peak.Allocated && m.WithCache() > float64(j.policy.Peak.Max)
	}
	found += strings.Join(others, "")
	f.causeInput = &causeInput{
		file: file, bytes: inUse - int64(*f.Limit*float64(top.Total.Bytes)),
	}
	switch {
	case f.Verdict == Fail:
		f.Message = "critical: " + found + "; take a smaller batch or model, or a larger card"
	case o.Why != "":
		f.Message = found + "; " + o.Why
	case notice:
		f.Message = "notice: " + found
	default:
		f.Message = found
	}
	return f
}

// A decidingPeak is the reading that decided the worst finding on a peak so far.
type decidingPeak struct {
	by     *PeakBy // nil before the first finding
	result peak.Result
	used   float64 // memory in use as a part of the total
}

// decides keeps the outcome if it is worse than the outcomes before it.
func (j *Judge) decides(o *peak.Outcome, bytes int64) {
	d, total := &j.deciding, o.Top.Total.Bytes
	used := float64(bytes) / float64(max(1, total))
	if d.by == nil || cmp.Or(cmp.Compare(o.Result, d.result), cmp.Compare(used, d.used)) > 0 {
		*d = decidingPeak{&PeakBy{o.By.Name(), bytes, total}, o.Result, used}
	}
}

// fileOf returns the file in which a mark was read, or the part of the log between two files.
func (j *Judge) fileOf(run int, m *peak.Mark) *timeline.File {
	if m.File != nil {
		return m.File
	}
	for _, files := range [][]*timeline.File{j.tl.Files, j.tl.Outside} {
		i := sort.Search(len(files), func(i int) bool {
			return cmp.Or(files[i].Run-run, files[i].Pos.Line-m.Pos.Line) > 0
		})
		if i > 0 && files[i-1].Run == run && files[i-1].EndPos.Line >= m.Pos.Line {
			return files[i-1]
		}
	}
	return &timeline.File{Outside: true}
}

// QuantityWords returns how messages name a [Finding].Quantity: "used by the process" for "used",
// and "" for "".
func QuantityWords(quantity string) string { return peak.Words(quantity) }
