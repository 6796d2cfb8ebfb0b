package harness

import (
	"time"

	"vramsoak/parser/record"
)

// An EarlyEnd ends a run before its files are done. See [Config].EndEarly.
type EarlyEnd struct {
	record.EarlyEnd // without its header and Lines
	// Lines holds the number of lines that were judged, for the path of each log.
	Lines map[string]int
}

// endRunEarly notes that the run is to end after the current file, and writes to the log why.
func (r *run) endRunEarly(e EarlyEnd) {
	line := e.EarlyEnd
	line.Header, line.Lines = r.log.Head(time.Now()), e.Lines[r.cfg.logPath()]
	r.log.Add(line)
	r.endEarly, r.early = nil, true
}

// endsEarly reports whether the run is to end although files are left.
func (r *run) endsEarly() bool {
	return r.early && (r.cfg.Until > 0 || r.cfg.Feed == FeedNone || !r.feeder.Empty())
}

// over returns the decision at the end of a run that did all files that it was to do.
func (r *run) over() decision {
	if r.endsEarly() {
		return decision{reason: ReasonFailFast}
	}
	return decision{reason: ReasonDone}
}

// passOn returns a channel for each worker. Each channel gets what is received from
// Config.EndEarly.
func (t *team) passOn(workers int) []<-chan EarlyEnd {
	all, ends := make([]chan EarlyEnd, workers), make([]<-chan EarlyEnd, workers)
	for i := range all {
		all[i] = make(chan EarlyEnd, 1)
		ends[i] = all[i]
	}
	go func() {
		select {
		case e := <-t.cfg.EndEarly:
			for _, c := range all {
				c <- e
			}
		case <-t.over:
		}
	}()
	return ends
}
