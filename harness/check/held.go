package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"vramsoak/harness/shape"
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
// one. The beginning of a log, with the limits, may be missing.
func newHeld(tl *timeline.Timeline) *held {
	if len(tl.Limits) == 0 && !slices.ContainsFunc(tl.Files, func(f *timeline.File) bool {
		return f.Held != nil
	}) {
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
	files := h.tl.Files
	follows := func(i int) bool { // whether file i is of the same process as the file before it
		return i < len(files) && files[i].Process == files[i-1].Process
	}
	for i, f := range files {
		value := math.NaN()
		if follows(i + 1) {
			value = h.level(f, files[i+1], !follows(i+2), of)
		}
		c.add(int32(i), value, 0)
	}
	return c
}

// level returns how much of a resource was held when a file had ended, or NaN if that is not
// known. If the harness looked again while the next file was worked on, and found less, that
// counts: between the two files the processes cannot have held more, except for a moment. The
// parameter last says whether next is the last file of the process.
func (h *held) level(f, next *timeline.File, last bool, of record.Resource) float64 {
	if f.Held == nil || f.Held.AtEnd == nil {
		return math.NaN()
	}
	level, ok := f.Held.AtEnd.Get(of)
	if of != record.SharedMemory { // only looks at the ends of files count it
		least, has := h.least(f, next, last, of)
		ok = ok && (has || !last) // the process may have exited when it was read
		if has {
			level = min(level, least)
		}
	}
	if !ok {
		return math.NaN()
	}
	return float64(level)
}

// least returns the smallest amount of a resource while the file next, which follows f, was
// worked on. If next is the last file of the process, only the checkpoints before its last one
// count: many pipelines do not say when a file ends, and afterwards the process may give back its
// memory because it exits.
func (h *held) least(f, next *timeline.File, last bool, of record.Resource) (least int64, ok bool) {
	if next.End.IsZero() || next.Start.Before(f.End) {
		return 0, false
	}
	if next.Held != nil {
		seen := &next.Held.Least
		if last {
			seen = &next.Held.Early
		}
		least, ok = seen.Get(of)
	}
	if ok || last { // a sample may miss processes that started in the last seconds
		return least, ok
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
		if !of.Machine {
			continue
		}
		s := series{
			check: of.Check, subject: of.Name, ledger: of.Name, unit: of.Unit,
			limit: j.policy.MaxGrowth[of.Name], missing: of.missing,
		}
		w := j.worst(&s, j.processes(j.held.column(of.resource)))
		if w.of == nil {
			j.sayTooFew(&w)
		} else {
			if of.fills && w.finding.Verdict == Fail && shape.Slows(w.of.values[w.from():]) {
				w.unsettle("; but it slows down: a cache or a pool that fills looks the same; more files in " +
					"one process would decide it")
			}
			j.explainResource(of, &w)
			w.sayUnread(j.shortFiles())
		}
		j.addGrowth(grownLedger{of: of, w: w})
	}
	j.leftovers()
}

// sayTooFew says why no process has enough files that were read.
func (j *Judge) sayTooFew(w *worstProcess) {
	longest := j.longestProcess()
	switch {
	case w.longest > 0 && longest >= manyFiles && j.shortFiles():
		w.finding.Message += tooShort
	case w.longest > 0 && longest >= manyFiles:
		w.finding.Verdict = Undecided
	case longest == 1 && len(j.tl.Files) >= j.policy.Leak.MinFiles:
		w.finding.Message = "each file had a process of its own, which gave everything back when it " +
			"ended; a pipeline that takes {list} or --feed stdin keeps one process, which can be judged"
	}
}

// explainResource adds to a finding that fails between which checkpoints the resource is taken,
// and when its limit is reached.
func (j *Judge) explainResource(of *Ledger, w *worstProcess) {
	if w.finding.Verdict != Fail {
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

// shortFile is a time in seconds. The harness looks at the machine ten times a second at most, so
// it misses the ends of many files that take less. That decides nothing: a run of such files is a
// trial, and how many ends are read differs from run to run.
const shortFile = 0.1

const tooShort = "; the harness cannot look at the machine in time while files take milliseconds"

// shortFiles reports whether the files take less than shortFile, in the mean.
func (j *Judge) shortFiles() bool {
	sum, n := 0.0, 0
	for _, f := range j.tl.Files {
		if j.endedWell(f) {
			sum += f.Seconds
			n++
		}
	}
	return sum > 0 && sum < shortFile*float64(n) // 0 if the log does not say how long they took
}

// manyFiles is the number of files in one process from which it matters how many were read. In a
// short run on a busy machine, a few of them may be missed.
const manyFiles = 20

// sayUnread adds to the finding how many files were read, if that is not nearly all of them. The
// finding on many files does not pass if fewer than half of them and fewer than manyFiles were
// read, or if none of a quarter in a row was: growth in the others does not show. Such a finding
// is undecided, or not judged if the files are short.
func (w *worstProcess) sayUnread(short bool) {
	values := w.of.values
	for range 2 { // the last files never have a level: see [held.level]
		if last := len(values) - 1; math.IsNaN(values[last]) {
			values = values[:last]
		}
	}
	n, unread, inRow, gap := len(values), missing(values), 0, 0
	if 10*unread <= n {
		return
	}
	for _, v := range values {
		inRow++
		if !math.IsNaN(v) {
			inRow = 0
		}
		gap = max(gap, inRow)
	}
	said := fmt.Sprintf("%d of %s could be read in the processor time that the harness may take",
		n-unread, Plural(n, "file"))
	tooFew := n-unread < min(manyFiles, (n+1)/2) || 4*gap > n
	switch {
	case w.finding.Verdict != Pass || n < manyFiles || !tooFew:
		w.finding.Message += "; " + said
	case short:
		w.finding.Verdict, w.finding.Message = Skipped, said+tooShort
	default:
		w.unsettle("; " + said + ", which is too few")
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
	first, last, limits := j.holdings(w.of)
	if limits == nil {
		return ""
	}
	room, size, limit, reached := int64(0), int64(0), "", "reached"
	switch of.resource {
	case record.HostMemory:
		room, size, reached = last.Available, min(limits.Memory, last.Available), "used up"
		limit = "the memory of the machine (" + record.FormatBytes(limits.Memory) + ")"
		if limits.Group {
			limit = "the memory limit of the container or control group (" +
				record.FormatBytes(limits.Memory) + ")"
		}
	case record.SharedMemory:
		room, size, reached = last.SharedFree, limits.Shared, "full"
		limit = "/dev/shm (" + record.FormatBytes(limits.Shared) + ")"
	case record.FileDescriptors:
		most := j.mostFiles(w.of)
		if most <= first.MostFiles { // the limit is one of each process
			return fmt.Sprintf("no process has more than %d of them open: there are more and more processes",
				most)
		}
		room, size = int64(limits.Files-most), int64(limits.Files)
		limit = fmt.Sprintf("the limit of open files (ulimit -n %d)", limits.Files)
	case record.Threads: // the system limits threads. It has no limit of processes alone
		threads, _ := last.Get(record.Threads)
		room, size = int64(limits.Tasks)-threads, int64(limits.Tasks)
		limit = fmt.Sprintf("the limit of threads (%d)", limits.Tasks)
	}
	if size == 0 { // no limit is known
		return ""
	}
	more := int64(float64(room) / *w.finding.Measured)
	if more <= 0 {
		return limit + " is " + reached
	}
	return fmt.Sprintf("%s is %s after about %s more files", limit, reached, Grouped(fmt.Sprint(more)))
}

// holdings returns the first and the last holding at the end of a file of a process, and the
// limits of that process. They are nil if the log does not have them.
func (j *Judge) holdings(p *processValues) (first, last *record.Holding, limits *record.Limits) {
	run := 0
	for _, n := range p.files {
		if f := j.tl.Files[n]; f.Held != nil && f.Held.AtEnd != nil {
			first, last, run = cmp.Or(first, f.Held.AtEnd), f.Held.AtEnd, f.Run
		}
	}
	if last == nil {
		return nil, nil, nil
	}
	for i := range slices.Backward(j.tl.Limits) { // the kernel may give a PID again
		l := &j.tl.Limits[i]
		if l.Run == run && l.PID == last.PID && !l.Time.After(last.Time) {
			return first, last, l
		}
	}
	return first, last, nil
}

// mostFiles returns the largest number of files that one process had open at the end of a file. It
// need not be that of the last file, after which the process may be exiting and closing its files.
func (j *Judge) mostFiles(p *processValues) (most int) {
	for _, n := range p.files {
		if f := j.tl.Files[n]; f.Held != nil && f.Held.AtEnd != nil {
			most = max(most, f.Held.AtEnd.MostFiles)
		}
	}
	return most
}

// leftovers adds a finding if the run left files in /dev/shm behind.
func (j *Judge) leftovers() {
	left := j.tl.Leftovers
	if len(left) == 0 {
		return
	}
	bytes, seen, largest, unseen := int64(0), int64(0), left[0], 0
	for _, l := range left {
		bytes += l.Bytes
		if l.Seen {
			seen += l.Bytes
		} else {
			unseen++
		}
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
	if most := j.policy.SharedMemory.MaxLeft.Bytes; bytes > most {
		switch {
		case seen > most:
			f.Verdict = Fail
		case seen > 0: // so the others may be the run's too
			f.Verdict = Undecided
		}
		if unseen > 0 {
			f.Message += fmt.Sprintf("; no process of the run was seen with %d of them: another program of "+
				"this user may have made them", unseen)
		}
		if seen > 0 {
			f.Message += "; unlink them when the program ends, also after an error"
		}
	}
	j.add(f)
}
