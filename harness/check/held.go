package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// held holds what the processes of a log held of the machine at different times: the harness's
// samples and holdings.
type held struct {
	tl      *timeline.Timeline
	samples map[int][]*record.Sample // of each run
	columns map[record.Resource]*column
}

// newHeld returns nil if the log says nothing about resources: no harness wrote it, or an older
// one.
func newHeld(tl *timeline.Timeline) *held {
	if len(tl.Limits) == 0 {
		return nil
	}
	h := &held{tl: tl, samples: map[int][]*record.Sample{}, columns: map[record.Resource]*column{}}
	for i := range tl.Samples {
		s := &tl.Samples[i]
		if _, ok := s.Held.Get(record.Processes); ok {
			h.samples[s.Run] = append(h.samples[s.Run], s)
		}
	}
	return h
}

// column returns the levels of a resource over the files, see [held.level]. A file without a
// level has the value NaN. The last file of a process has none, because no later reading can
// confirm its own.
func (h *held) column(of record.Resource) *column {
	if c := h.columns[of]; c != nil {
		return c
	}
	c := &column{}
	h.columns[of] = c
	for i, f := range h.tl.Files {
		value := math.NaN()
		if i+1 < len(h.tl.Files) && h.tl.Files[i+1].Process == f.Process {
			value = h.level(f, h.tl.Files[i+1], of)
		}
		c.add(int32(i), value, 0)
	}
	return c
}

// level returns how much of a resource was held when a file had ended, or NaN if that is not
// known. If the harness looked again while the next file was worked on, and found less, that
// counts: between the two files the processes cannot have held more, except for a moment.
func (h *held) level(f, next *timeline.File, of record.Resource) float64 {
	level, ok := int64(0), false
	if f.Held != nil && f.Held.AtEnd != nil {
		level, ok = f.Held.AtEnd.Get(of)
	}
	if of != record.SharedMemory { // only looks at the ends of files count it
		if least, has := h.least(f, next, of); has && (!ok || least < level) {
			level, ok = least, true
		}
	}
	if !ok {
		return math.NaN()
	}
	return float64(level)
}

// least returns the smallest amount of a resource while the file next, which follows f, was
// worked on.
func (h *held) least(f, next *timeline.File, of record.Resource) (least int64, ok bool) {
	if next.End.IsZero() || next.Start.Before(f.End) {
		return 0, false
	}
	if next.Held != nil {
		least, ok = next.Held.Least.Get(of)
	}
	samples := h.samples[f.Run]
	from := sort.Search(len(samples), func(i int) bool { return samples[i].Time.After(next.Start) })
	for _, s := range samples[from:] {
		if s.Time.After(next.End) {
			break
		}
		if amount, has := s.Held.Comparable().Get(of); has && (!ok || amount < least) {
			least, ok = amount, true
		}
	}
	return least, ok
}

// resources judges whether the ledgers of the machine grow: host memory, file descriptors and so
// on. The processes of the pipeline count together.
func (j *Judge) resources() {
	if j.held == nil {
		return
	}
	for i := range Ledgers {
		of := &Ledgers[i]
		if !of.machine {
			continue
		}
		s := series{
			check: of.Check, subject: of.Name, unit: of.Unit, limit: j.policy.MaxGrowth[of.Name],
			missing: of.missing,
		}
		w := j.worst(&s, j.processes(j.held.column(of.resource)))
		j.explainResource(of, &w)
		j.addGrowth(grownLedger{of: of, w: w})
	}
	j.leftovers()
}

// explainResource adds to a finding that fails between which checkpoints the resource is taken,
// and when its limit is reached.
func (j *Judge) explainResource(of *Ledger, w *worstProcess) {
	if w.of == nil || w.finding.Verdict != Fail {
		return
	}
	var taken string
	taken, w.finding.Stage = takenAt(w, "taken", j.heldAt(of, w))
	for _, more := range []string{taken, j.lasts(of, w), j.lengthsUnknown(w)} {
		if more != "" {
			w.finding.Message += "; " + more
		}
	}
}

// heldAt returns the amounts of a resource at the checkpoints that recur in each file.
func (j *Judge) heldAt(of *Ledger, w *worstProcess) []pointLevels {
	files := w.of.files[w.result.From:]
	var all []pointLevels
	places := map[string]int{}
	for i, n := range files {
		f := j.tl.Files[n]
		if f.Held == nil {
			continue
		}
		for k := range f.Held.At {
			c := &f.Checkpoints[f.Held.At[k].Checkpoint]
			amount, ok := f.Held.At[k].Get(of.resource)
			if !ok || c.Lane != f.Checkpoints[0].Lane {
				continue
			}
			name := j.naming(c).uncounted
			at, known := places[name]
			if !known {
				if len(all) == pointsMax {
					continue
				}
				at = len(all)
				places[name] = at
				unknown := slices.Repeat([]float64{math.NaN()}, len(files))
				all = append(all, pointLevels{name, unknown, len(files)/2 + 1})
			}
			all[at].values[i] = float64(amount)
		}
	}
	return all
}

// lasts returns, for a message, after how many more files the limit of a resource is reached at
// this rate. It returns "" if the limit is not known.
func (j *Judge) lasts(of *Ledger, w *worstProcess) string {
	last, limits := j.lastHolding(w.of)
	if limits == nil {
		return ""
	}
	room, limit, reached := int64(0), "", "reached"
	switch of.resource {
	case record.HostMemory:
		if limits.Memory == 0 {
			return ""
		}
		room, limit = last.Available, "the memory of the machine ("+record.FormatBytes(limits.Memory)+")"
		if limits.Group {
			limit = "the memory limit of the container or control group (" +
				record.FormatBytes(limits.Memory) + ")"
		}
	case record.SharedMemory:
		room, limit, reached = last.SharedFree, "/dev/shm ("+record.FormatBytes(limits.Shared)+")", "full"
	case record.FileDescriptors:
		room = int64(limits.Files - last.MostFiles)
		limit = fmt.Sprintf("the limit of open files (ulimit -n %d)", limits.Files)
	case record.Threads: // the limit counts threads, of which a process may have several
		threads, _ := last.Get(record.Threads)
		room = int64(limits.Tasks) - threads
		limit = fmt.Sprintf("the limit of threads (%d)", limits.Tasks)
	}
	if room <= 0 {
		return ""
	}
	more := int64(float64(room) / *w.finding.Measured)
	return fmt.Sprintf("%s is %s after about %s more files", limit, reached, Grouped(fmt.Sprint(more)))
}

// lastHolding returns the last holding at the end of a file of a process, and the limits of that
// process, or nil if the log does not have them.
func (j *Judge) lastHolding(p *processValues) (*record.Holding, *record.Limits) {
	for _, n := range slices.Backward(p.files) {
		f := j.tl.Files[n]
		if f.Held == nil || f.Held.AtEnd == nil {
			continue
		}
		for i := range slices.Backward(j.tl.Limits) { // the kernel may give a PID again
			l := &j.tl.Limits[i]
			if l.Run == f.Run && l.PID == f.Held.AtEnd.PID && !l.Time.After(f.Held.AtEnd.Time) {
				return f.Held.AtEnd, l
			}
		}
		break
	}
	return nil, nil
}

// leftovers adds a finding if the run left files in /dev/shm behind.
func (j *Judge) leftovers() {
	left := j.tl.Leftovers
	if len(left) == 0 {
		return
	}
	bytes, largest := int64(0), left[0]
	for _, l := range left {
		bytes += l.Bytes
		largest = slices.MaxFunc([]record.Leftover{largest, l}, func(a, b record.Leftover) int {
			return cmp.Compare(a.Bytes, b.Bytes)
		})
	}
	f := Finding{
		Check: SharedGrowth, Verdict: Pass, Subject: "left in /dev/shm", Unit: Bytes,
		Measured: new(float64(bytes)), Limit: new(float64(j.policy.SharedMemory.MaxLeft.Bytes)),
		At: &left[0].Pos,
		Message: fmt.Sprintf("%s with %s stayed in /dev/shm after the last process had ended, the "+
			"largest %s (%s)", Plural(len(left), "file"), record.FormatBytes(bytes), largest.Path,
			record.FormatBytes(largest.Bytes)),
	}
	if bytes > j.policy.SharedMemory.MaxLeft.Bytes {
		f.Verdict = Fail
		f.Message += "; unlink them when the program ends, also after an error"
	}
	j.add(f)
}
