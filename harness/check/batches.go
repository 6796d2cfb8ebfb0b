package check

import (
	"fmt"
	"slices"

	"vramsoak/parser/timeline"
)

// neverBegun is how many files of the batches have no attempt among those that are known, with a remark on logs that may have
// them, and why the runs that did not come to their end did not. The workers of a run share its files: one that another
// worker did is not missing.
func (j *Judge) neverBegun(known []*timeline.File) (missing int, remark string, cut []string) {
	begun := map[int]int{} // batch -> files of it
	for _, file := range known {
		if file.Index != 0 {
			begun[file.Batch]++
		}
	}
	absent := 0 // workers
	for _, workers := range j.batches() {
		start := workers[0].Start
		never := max(0, start.Files-begun[workers[0].Batch])
		if missing += never; never > 0 {
			absent += max(0, start.Workers-len(workers))
		}
		cut = append(cut, cutOff(workers)...)
	}
	if absent == 1 {
		remark = ", or by a worker whose log is not here"
	} else if absent > 1 {
		remark = fmt.Sprintf(", or by %d workers whose logs are not here", absent)
	}
	if len(cut) > 1 && !slices.ContainsFunc(j.tl.Runs, func(r timeline.Run) bool { return r.Start.Workers > 0 }) {
		cut = cut[len(cut)-1:]
	}
	return missing, remark, cut
}

// batches are the runs, those of one batch together, in the order of the logs.
func (j *Judge) batches() [][]*timeline.Run {
	var all [][]*timeline.Run
	place := map[int]int{}
	for i := range j.tl.Runs {
		run := &j.tl.Runs[i]
		at, known := place[run.Batch]
		if !known {
			at = len(all)
			place[run.Batch] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], run)
	}
	return all
}

// cutOff says why the run of a batch, or its workers, did not come to their end.
func cutOff(workers []*timeline.Run) []string {
	ends := make([]string, len(workers))
	same := true
	for i, run := range workers {
		switch {
		case run.End == nil:
			ends[i] = "cut short"
		case run.End.Reason != "done":
			ends[i] = run.End.Reason
			if run.End.Error != "" {
				ends[i] += ": " + run.End.Error
			}
		}
		same = same && ends[i] == ends[0]
	}
	if same {
		if ends[0] == "" {
			return nil
		}
		return []string{"the run was " + ends[0]}
	}
	var said []string
	for i, run := range workers {
		if ends[i] != "" {
			said = append(said, fmt.Sprintf("the worker of GPU %d was %s", run.Start.GPU, ends[i]))
		}
	}
	return said
}
