package output

import (
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// checkpoint begins the next file of the process if the checkpoint is one with which a file begins
// (see [timeline.Splitter]), and ends the active file before that. When all files of the process
// have begun, further checkpoints belong to the last file. If the pipeline prints file-start lines,
// checkpoint does nothing, because those lines begin the files.
func (t *Tracker) checkpoint(c record.Checkpoint, now time.Time) {
	begins := t.split.Begins(c)
	if t.NamesFiles || t.stopping || !begins && t.active != nil {
		return
	}
	i, ok := t.batch.Next(t.given)
	if !ok && !t.opts.OwnFiles {
		return
	}
	if t.active != nil {
		t.end(t.inferredStatus(), "", now)
	}
	if t.soakOver(now) {
		return
	}
	if t.opts.OwnFiles {
		i = t.batch.Add(queue.Input{})
	}
	t.begin(i, queue.Input{}, now)
	t.active.inferred = true
}

// named ends the active file and begins the file that the pipeline's file-start line names.
func (t *Tracker) named(start record.FileStart, now time.Time) {
	first := !t.NamesFiles
	t.NamesFiles = true
	if t.stopping {
		return
	}
	// A checkpoint before the first file-start line, such as one while a model loads, has already
	// begun the first file of the process. Usually the file-start line names the same file.
	inferred := t.active != nil && t.active.inferred && first
	i := queue.None
	if !t.opts.OwnFiles {
		if inferred {
			t.batch.Unbegin(t.active.index)
		}
		i = t.find(start.Path)
	}
	if a := t.active; a != nil {
		switch {
		case inferred && t.opts.OwnFiles:
			a.inferred, a.name, a.path, t.since = false, start.Path, start.Path, now
			return
		case inferred && i == a.index:
			t.batch.Begin(i)
			a.inferred, a.name, t.since = false, start.Path, now
			return
		case inferred:
			t.opts.Logger.Warn("the pipeline named its first file after its first checkpoint; "+
				"print file-start earlier", "began", a.path, "named", start.Path)
			t.active = nil
		case t.EndsFiles:
			t.end(record.StatusFailed,
				"the pipeline began the next file without a file-end line for this one", now)
		default:
			t.end(t.inferredStatus(), "", now)
		}
	}
	if t.soakOver(now) {
		return
	}
	input := queue.Input{Path: start.Path, AudioSeconds: start.AudioSeconds}
	if t.opts.OwnFiles {
		i = t.batch.Add(input)
	}
	t.begin(i, input, now)
	t.active.name = start.Path
}

// find returns the index of the file that the pipeline means by a name, or None. The pipeline may
// use names of its own: then no name that it printed so far was a file of the batch. In that case
// find returns the next file that the process was given, on the assumption that the pipeline works
// on its files in order.
func (t *Tracker) find(name string) int {
	i, ok := t.batch.Find(name, t.given)
	if !ok && !t.batch.Matched() {
		i, _ = t.batch.Next(t.given)
	}
	return i
}

// mayMeanActive reports whether a name in the pipeline's output may mean the active file.
func (t *Tracker) mayMeanActive(name string) bool {
	a := t.active
	if name == "" || name == a.name || name == a.path || t.opts.OwnFiles {
		return true
	}
	files := t.batch.Named(name)
	return slices.Contains(files, a.index) ||
		len(files) == 0 && (a.index == queue.None || !t.batch.Matched())
}

// applyEnds ends the files that the file-end lines of the pipeline in t.ends name. It is called
// after these lines were written to the log, so that the harness's file-end lines follow them. With
// FilePerProcess the file ends with its process, so applyEnds only keeps the status.
func (t *Tracker) applyEnds(now time.Time) {
	for _, end := range t.ends {
		t.EndsFiles = true
		switch {
		case !t.opts.FilePerProcess:
			t.ended(end, now)
		case t.active != nil:
			t.active.said = end
		}
	}
}

// ended ends the file that a file-end line of the pipeline names. If no file is active, ended
// begins that file first.
func (t *Tracker) ended(end record.FileEnd, now time.Time) {
	if a := t.active; a != nil {
		switch {
		case !t.mayMeanActive(end.Path):
			t.opts.Logger.Warn("the pipeline ended a file that it was not working on",
				"ended", end.Path, "working on", a.path)
		case t.ignoreEnd:
		default:
			t.end(end.Status, end.Error, now)
		}
		return
	}
	if t.stopping || t.soakOver(t.since) {
		return
	}
	// No file is active, so the pipeline prints file-end lines without file-start lines.
	input := queue.Input{Path: end.Path}
	var i int
	if t.opts.OwnFiles {
		i = t.batch.Add(input)
	} else if i = t.find(end.Path); i == queue.None || t.batch.HasBegun(i) ||
		t.NamesFiles && slices.Contains(t.batch.Named(end.Path), t.last) {
		t.opts.Logger.Warn("the pipeline ended a file that it had not begun", "file", end.Path)
		return
	}
	began := t.since
	t.begin(i, input, now)
	t.active.began = began
	t.end(end.Status, end.Error, now)
}

// begin writes the harness's file-start line and makes the file with index i active. The parameter
// named holds the path and the audio length that the pipeline printed. If the batch has the file,
// its path counts, and its length if the batch has one.
func (t *Tracker) begin(i int, named queue.Input, now time.Time) {
	w := &work{index: i, path: named.Path, audio: named.AudioSeconds, began: now}
	if i != queue.None {
		input := t.batch.File(i)
		w.path = input.Path
		if input.AudioSeconds > 0 {
			w.audio = input.AudioSeconds
		}
		t.batch.Begin(i)
	}
	t.log.Add(record.FileStart{
		Header: t.log.Head(now), Index: t.batch.Place(i), Path: w.path,
		AudioSeconds: w.audio,
	})
	t.active, t.since, t.Changed = w, now, true
}

// end writes the harness's file-end line of the active file with its status and the reason of a
// failure. After that no file is active.
func (t *Tracker) end(status record.Status, reason string, now time.Time) {
	w := t.active
	if status == record.StatusFailed && w.oom {
		status = record.StatusOOM
	}
	ended := record.FileEnd{
		Header: t.log.Head(now), Index: t.batch.Place(w.index), Path: w.path,
		Status: status, Seconds: now.Sub(w.began).Seconds(), Error: reason,
	}
	t.log.Add(ended)
	if t.opts.OnEnd != nil {
		t.opts.OnEnd(ended)
	}
	if w.index != queue.None {
		t.batch.End(w.index, status)
	}
	t.active, t.last, t.since, t.LastEnd, t.Changed = nil, w.index, now, now, true
}

// inferredStatus returns the status of an active file for which the pipeline prints no file-end
// line: StatusOOM after a failed allocation from which the pipeline did not recover, else StatusOK.
func (t *Tracker) inferredStatus() record.Status {
	if t.active.failures > 0 {
		return record.StatusOOM
	}
	return record.StatusOK
}

// Finish ends the active file, if there is one, because its process has ended as end says. The
// parameter timeout is Config.Timeout of the run, which the message of a timeout names.
func (t *Tracker) Finish(end supervise.End, timeout time.Duration, now time.Time) {
	w := t.active
	if w == nil {
		return
	}
	status, reason := w.said.Status, w.said.Error
	switch {
	case end.Timeout:
		status, reason = record.StatusTimeout, fmt.Sprintf("took longer than %v", timeout)
	case end.Overuse != "":
		status, reason = record.StatusFailed, end.Overuse
	case end.Interrupted && status == record.StatusUnknown:
		status, reason = record.StatusFailed, record.Interrupted
	case end.Interrupted:
	case end.Signal != "":
		status, reason = record.StatusCrashed, end.Process().String()
	case end.Code != 0:
		if reason == "" {
			reason = end.Process().String()
		}
		if status != record.StatusOOM {
			status = record.StatusFailed
		}
	case !t.opts.FilePerProcess && t.EndsFiles && !w.inferred:
		status = record.StatusCrashed
		reason = "the process exited with code 0 before the file's end"
	case status == record.StatusUnknown:
		status = t.inferredStatus()
	}
	t.end(status, reason, now)
}
