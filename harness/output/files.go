package output

import (
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// checkpoint ends the active file and begins the next file if the checkpoint is one that begins a
// file (see [timeline.Splitter]). When all files of the process have begun, further checkpoints
// belong to the last file.
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

// named ends the active file and begins the file that a file-start line of the pipeline names.
func (t *Tracker) named(start record.FileStart, now time.Time) {
	first := !t.NamesFiles
	t.NamesFiles = true
	if t.stopping {
		return
	}
	// A checkpoint before the first file-start line, such as one while a model loads, has already
	// begun the first file of the process. Usually that is the file that is named now.
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

// find returns the file that the pipeline means by a name, or None. If no name that the pipeline
// printed so far was a file of the batch, the pipeline uses names of its own; find then returns the
// next file that the process was given, assuming that the pipeline keeps their order.
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

// applyEnds ends the files that file-end lines of the pipeline name. It is called after these lines
// were written to the log.
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

// ended ends the file that a file-end line names.
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
	// The pipeline prints file-end lines without file-start lines.
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

// begin writes a file-start line and makes the file active. The parameter named is the path and the
// audio length that the pipeline printed; path and length in the batch take precedence.
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
		Header: t.log.Head(now), Index: i + 1, Path: w.path, AudioSeconds: w.audio,
	})
	t.active, t.since, t.Changed = w, now, true
}

// end writes the file-end line of the active file. No file is active then.
func (t *Tracker) end(status record.Status, reason string, now time.Time) {
	w := t.active
	if status == record.StatusFailed && w.oom {
		status = record.StatusOOM
	}
	t.log.Add(record.FileEnd{
		Header: t.log.Head(now), Index: w.index + 1, Path: w.path, Status: status,
		Seconds: now.Sub(w.began).Seconds(), Error: reason,
	})
	if w.index != queue.None {
		t.batch.End(w.index, status)
	}
	t.active, t.last, t.since, t.LastEnd, t.Changed = nil, w.index, now, now, true
}

// inferredStatus returns the status of the active file if the pipeline prints no file-end line for
// it.
func (t *Tracker) inferredStatus() record.Status {
	if t.active.failures > 0 {
		return record.StatusOOM
	}
	return record.StatusOK
}

// Finish ends the active file, if there is one, because the process has ended. The parameter
// timeout is Config.Timeout of the run, for the message.
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
