package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// outOfMemory judges the failed allocations of each file. A failure is recovered if the file
// ended ok after all. It is undecided if the log does not say how files ended, and a checkpoint
// outside of cleanups follows the failure: that checkpoint may come from a fallback, or from
// error handling. Any other failure is fatal.
func (j *Judge) outOfMemory() {
	f := Finding{Check: OutOfMemory, Subject: "allocations", Unit: Count, Limit: new(0.0)}
	count := map[Verdict]int{} // number of files, and of stretches between files
	first := map[Verdict]failure{}
	sized := map[Verdict]failure{} // the first whose message gives sizes
	for _, next := range j.failures() {
		if count[next.verdict]++; count[next.verdict] == 1 {
			first[next.verdict] = next
		}
		if sized[next.verdict].oom == nil && next.oom.HasRequested && next.oom.Has(record.Free) {
			sized[next.verdict] = next
		}
	}
	f.Measured = new(float64(count[Fail]))
	f.includes(float64(count[Fail] + count[Undecided]))
	switch {
	case count[Fail] > 0:
		f.Verdict, f.Message = Fail, fmt.Sprintf("memory ran out %d times", count[Fail])
		if count[Fail] == 1 {
			f.Message = "fatal"
		}
	case count[Undecided] > 0:
		f.Verdict = Undecided
		f.Message = "fatal or recovered (the log does not say how files ended; print [pipeline] file-end)"
	case count[Pass] > 0:
		one, many := "the file ended ok", "the files ended ok"
		if shown := first[Pass].file; shown.Status == record.StatusUnknown && fellBack(shown) {
			one, many = "the pipeline fell back", "the pipeline fell back or the files ended ok"
		}
		f.Verdict, f.Message = Pass, "recovered, "+one
		if count[Pass] > 1 {
			f.Message = fmt.Sprintf("recovered %d times, %s", count[Pass], many)
		}
	default:
		f.Verdict, f.Message, f.absent = Pass, "no out-of-memory message", true
		j.add(f)
		return
	}
	shown := first[f.Verdict]
	f.in(shown.file)
	f.At = new(shown.oom.Pos)
	if count[f.Verdict] > 1 {
		f.Message += ", first"
	}
	at := place{}
	if known := j.failedAt[shown.file]; f.Verdict != Pass && known.line == shown.oom.Pos.Line {
		at = known.place
	}
	if shown.oom.Stage != "" {
		at.stage = shown.oom.Stage
	}
	f.Stage = at.stage
	f.causeInput = &causeInput{lane: shown.oom.Lane, file: shown.file, cause: j.causeOfFailures()}
	f.Advice = j.advice(shown)
	if by := sized[f.Verdict]; by.oom != nil && by.oom != shown.oom {
		if sure := j.advice(by); len(sure) > 0 {
			sure[0] += fmt.Sprintf(" (by the message in %s)", by.oom.Pos)
			f.Advice = sure
		}
	}
	where := " " + inFile(shown.file)
	if f.Verdict == Fail && count[Fail] == 1 && j.wentOn(shown.file) {
		f.Message, where = "", fileName(shown.file)+" failed"
	}
	f.Message += fmt.Sprintf("%s%s: %s", where, at, describe(shown.oom))
	if f.Verdict == Fail {
		f.Message += "; " + j.nextAfter(shown)
	}
	j.add(f)
}

// wentOn reports whether a later file of the same run ended ok. Then a failure cost its file, and
// not the run.
func (j *Judge) wentOn(f *timeline.File) bool {
	return !f.Outside && slices.ContainsFunc(j.tl.Files, func(o *timeline.File) bool {
		return o.Run == f.Run && o.Status == record.StatusOK && o.Pos.Path == f.EndPos.Path &&
			o.Pos.Line > f.EndPos.Line
	})
}

// A failedPlace is the place of a failed allocation, and its line in the log.
type failedPlace struct {
	line int
	place
}

// adviceSnapshot names the command that shows which lines of a program hold memory.
const adviceSnapshot = "to see which lines of a PyTorch program hold memory, record a snapshot " +
	"(docs/how-to/snapshot.md) and run vramsoak snapshot FILE.pickle"

// nextAfter returns, for a message, the next command to run after a failed allocation.
func (j *Judge) nextAfter(f failure) string {
	switch s := j.shortageOf(f); {
	case s.inPieces && f.oom.Held != nil && !s.isFull():
		return "run vramsoak plot LOG --fragmentation -o blocks.png to see the free blocks"
	case j.tl.Checkpoints > 0:
		return "run vramsoak plot LOG -o memory.png to see what led to it"
	}
	return adviceSnapshot
}

// causeOfFailures returns the finding without which every fatal allocation would have succeeded, or
// nil if there is no such finding, or several.
func (j *Judge) causeOfFailures() (cause *Cause) {
	for _, next := range j.failures() {
		if next.verdict != Fail {
			continue
		}
		s := j.shortageOf(next)
		of := j.causeOfShortage(&s)
		if of == nil || cause != nil && *of != *cause {
			return nil
		}
		cause = of
	}
	return cause
}

// A failure is the failed allocation that decides the verdict on a file, or on a part of the log
// between two files: see decisive.
type failure struct {
	verdict Verdict
	file    *timeline.File
	oom     *record.OutOfMemory
}

// failures returns one failure for each file with failed allocations, and for each part of the
// log between two files, in the order of the log.
func (j *Judge) failures() []failure {
	var all []failure
	for i := range j.tl.Outside {
		if f := j.tl.Outside[i]; len(f.OOMs) > 0 {
			// No file shows by its end whether the pipeline recovered, so the failure is fatal unless
			// the work goes on after it.
			verdict := Fail
			switch {
			case fellBack(f):
				verdict = Pass
			case !j.tells[f.Batch] && j.outside[i].work > f.OOMs[len(f.OOMs)-1].Pos.Line:
				verdict = Undecided
			}
			all = append(all, failure{verdict, f, decisive(f)})
		}
	}
	endedOK := map[batchFile]bool{} // at their last attempt
	failed := func(f *timeline.File) bool { return len(f.OOMs) > 0 || f.Status == record.StatusOOM }
	if slices.ContainsFunc(j.tl.Files, failed) {
		for _, f := range j.tl.LastAttempts() {
			endedOK[batchFile{f.Batch, f.Index}] = f.Index != 0 && f.Status == record.StatusOK
		}
	}
	lost := map[*timeline.File]bool{}
	for _, b := range j.lostBefores() {
		lost[b.file] = true
	}
	for i := range j.tl.Files {
		f := j.tl.Files[i]
		if !failed(f) {
			continue
		}
		switch again := endedOK[batchFile{f.Batch, f.Index}]; {
		case len(f.OOMs) > 0 && again:
			all = append(all, failure{Pass, f, &f.OOMs[0]})
		case len(f.OOMs) > 0:
			all = append(all, failure{j.outcome(i, lost[f]), f, decisive(f)})
		case f.Status == record.StatusOOM && !again:
			o := &record.OutOfMemory{Header: record.Header{Pos: f.EndPos}, Text: "the pipeline reported it"}
			all = append(all, failure{Fail, f, o})
		}
	}
	slices.SortStableFunc(all, func(a, b failure) int {
		return cmp.Or(a.file.Run-b.file.Run, a.oom.Pos.Line-b.oom.Pos.Line)
	})
	return all
}

// outcome returns the verdict on file n, in which an allocation failed. The parameter lost says
// whether the file has a Before without its After. If no work follows the failure, later
// checkpoints of the file come from a cleanup, and the failure is fatal.
func (j *Judge) outcome(n int, lost bool) Verdict {
	f := j.tl.Files[n]
	switch {
	case f.Status == record.StatusOK, j.endedWell(f) && fellBack(f):
		return Pass
	case j.endedWell(f) && !lost && j.files[n].work > f.OOMs[len(f.OOMs)-1].Pos.Line:
		return Undecided
	}
	return Fail
}

// fellBack reports whether the pipeline announced a fallback after each failure in the file.
func fellBack(f *timeline.File) bool {
	return !slices.ContainsFunc(f.OOMs, func(o record.OutOfMemory) bool { return !o.Fallback })
}

// decisive returns the first failed allocation for which the pipeline announced no fallback. If
// it announced one for each, decisive returns the first failed allocation.
func decisive(f *timeline.File) *record.OutOfMemory {
	i := slices.IndexFunc(f.OOMs, func(o record.OutOfMemory) bool { return !o.Fallback })
	return &f.OOMs[max(i, 0)]
}

// describe returns, for a message, how much memory the failed allocation asked for and how much
// was free.
func describe(o *record.OutOfMemory) string {
	if !o.HasRequested {
		return o.Text
	}
	parts := []string{"asked for " + o.Requested.String()}
	room, capped := allowedRoom(o)
	if free, ok := o.Get(record.Free); ok && !capped {
		parts = append(parts, free.String()+" were free")
	}
	if capped {
		parts = append(parts, fmt.Sprintf("%s were left of the %s that the program allows its allocator",
			record.FormatBytes(room), o.Allowed))
	}
	reserved, hasReserved := o.Get(record.Reserved)
	allocated, hasAllocated := o.Get(record.Allocated)
	if hasReserved && hasAllocated {
		unused := record.FormatBytes(reserved.Bytes - allocated.Bytes)
		parts = append(parts, unused+" were reserved but unallocated")
	}
	if o.Held != nil {
		parts = append(parts, inOnePiece(o))
	}
	return strings.Join(parts, ", ")
}

// allowedRoom returns how many more bytes the allocator could reserve under the program's limit
// (torch.cuda.set_per_process_memory_fraction). PyTorch compares what it has reserved with the
// limit (allowed_memory_maximum in c10/cuda/CUDACachingAllocator.cpp). capped reports whether the
// limit leaves less than the device has free.
func allowedRoom(o *record.OutOfMemory) (room int64, capped bool) {
	reserved, ok := o.Get(record.Reserved)
	if o.Allowed.Bytes == 0 || !ok {
		return 0, false
	}
	room = max(0, o.Allowed.Bytes-reserved.Bytes)
	free, known := o.Get(record.Free)
	return room, !known || room < free.Bytes
}

// inOnePiece returns, for a message, the size of the largest free block that the request could have
// used. If the free blocks together were large enough but none of them was, it says that memory was
// fragmented, or that the device is full.
func inOnePiece(o *record.OutOfMemory) string {
	largest := "the largest free block in the cache had " + record.FormatBytes(o.Held.LargestFree)
	if o.Held.Unusable > 0 {
		largest += fmt.Sprintf(" (beside one of %s in the cache of stream %d, which other streams "+
			"cannot use)", record.FormatBytes(o.Held.Unusable), o.Held.UnusableStream)
	}
	free, _ := o.Get(record.Free)
	if room, capped := allowedRoom(o); capped {
		free.Bytes = room
	}
	sum := o.Held.Free + free.Bytes
	if sum < o.Requested.Bytes || o.Held.LargestFree >= o.Requested.Bytes {
		return largest
	}
	if IsFull(sum, o.Bytes(record.Total)) {
		return fmt.Sprintf("%s: the device is full, only %s were free in sum", largest,
			record.FormatBytes(sum))
	}
	return fmt.Sprintf("%s: %s were free in sum, but not in one piece (fragmentation)", largest,
		record.FormatBytes(sum))
}

// starved returns the failed allocation after which a process did no more work before it ended,
// or nil.
func (j *Judge) starved(process int) *record.OutOfMemory {
	var last *record.OutOfMemory
	work := 0 // line
	look := func(files []*timeline.File, summaries []summary) {
		for i, f := range files {
			if f.Process != process {
				continue
			}
			work = max(work, summaries[i].work)
			if n := len(f.OOMs); n > 0 && (last == nil || f.OOMs[n-1].Pos.Line > last.Pos.Line) {
				last = &f.OOMs[n-1]
			}
		}
	}
	look(j.tl.Files, j.files)
	look(j.tl.Outside, j.outside)
	if last == nil || last.Fallback || last.Pos.Line < work {
		return nil
	}
	return last
}
