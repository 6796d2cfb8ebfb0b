package html

import (
	"cmp"
	"fmt"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// eventsMax is how many events a page marks. The first ones matter most.
const eventsMax = 2000

// encodeEvents collects the lines that the charts mark: failed allocations, files that did not end
// ok, processes that died, restarts and resumes.
func (e *encoder) encodeEvents() {
	add := func(kind string, at record.Position, file int, format string, args ...any) {
		e.doc.Events = append(e.doc.Events, event{
			Kind: kind, Log: e.log(at.Path), Line: at.Line, X: e.x(at), File: file,
			Text: sink.Name(fmt.Sprintf(format, args...)),
		})
	}
	for i, f := range e.all {
		for k := range f.OOMs {
			oom := &f.OOMs[k]
			kind := "oom"
			if oom.Fallback {
				kind = "fallback"
			}
			add(kind, oom.Pos, i, "%s", oomText(oom))
			if track, level, known := e.levelBefore(oom); known && oom.HasRequested {
				last := &e.doc.Events[len(e.doc.Events)-1]
				last.Track, last.Level, last.Request = track, level, oom.Requested.Bytes
			}
		}
		switch {
		case f.Status == record.StatusOK, f.Status == record.StatusUnknown,
			f.Error == record.Interrupted,                                        // a resume follows
			f.Status == record.StatusOOM && slices.ContainsFunc(f.OOMs, isFatal): // it is there already
		default:
			text := "file ended: " + string(f.Status)
			if f.Error != "" {
				text += ": " + wording.Shorten(f.Error, 200)
			}
			add("failed", f.EndPos, i, "%s", text)
		}
	}
	for k := range e.tl.Exits {
		x := &e.tl.Exits[k]
		if x.Code == 0 && x.Restarts == 0 && x.Reason == record.ExitByItself {
			continue
		}
		kind, text := "exit", record.ProcessEnd{Code: x.Code, Signal: x.Signal, Cause: x.Error}.String()
		if x.Restarts > 0 {
			kind, text = "restart", text+"; a new process was started"
		}
		add(kind, x.Pos, -1, "%s", text)
	}
	for k := range e.tl.Crashes {
		add("crash", e.tl.Crashes[k].First.Pos, -1, "%s", e.tl.Crashes[k].First.Text)
	}
	for k := range e.tl.Runs {
		for _, r := range e.tl.Runs[k].Resumes {
			add("resume", r.Pos, -1, "the run was resumed after it was %s", cmp.Or(r.Reason, "ended"))
		}
	}
	slices.SortStableFunc(e.doc.Events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.Line, b.Line))
	})
	e.doc.Events = e.doc.Events[:min(len(e.doc.Events), eventsMax)]
}

func isFatal(o record.OutOfMemory) bool { return !o.Fallback }

// oomText describes a failed allocation.
func oomText(oom *record.OutOfMemory) string {
	text := "out of memory"
	if oom.HasRequested {
		text += ": " + oom.Requested.String() + " requested"
	}
	if allocated, ok := oom.Get(record.Allocated); ok {
		text += ", " + allocated.String() + " allocated"
	}
	if free, ok := oom.Get(record.Free); ok {
		text += ", " + free.String() + " free"
	}
	if oom.Fallback {
		text += "; the pipeline went on with less"
	}
	return text
}

// notOK returns the files that did not end ok in their last attempt.
func notOK(tl *timeline.Timeline) (files []*timeline.File) {
	for _, f := range tl.LastAttempts() {
		if f.Status != record.StatusOK && f.Status != record.StatusUnknown {
			files = append(files, f)
		}
	}
	return files
}
