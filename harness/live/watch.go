package live

import (
	"context"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// Options say what a [Watch] judges, and by what.
type Options struct {
	// Logs returns the paths of the run's logs. It is called at each look, because a worker's log may
	// come later.
	Logs     func() []string
	Policy   check.Policy
	Dialects *parser.Set
	// Resumed is set if the run was resumed. Looks that were due before do not count: the first
	// harness may have made them.
	Resumed bool
	// Look is called after each look, in a goroutine of the watch.
	Look func(Result)
	// Failed is called if a look could not read the logs, in a goroutine of the watch. The watch then
	// goes on.
	Failed func(error)
}

// A Result is what a look found.
type Result struct {
	Look  int            // number of the look, from 1
	Files int            // files that had ended in the part of the logs that was judged
	Lines map[string]int // lines of that part, for the path of each log
	// Report is the report on that part. It has the trends.
	Report *check.Report
	// Certain are the findings on growth that fail in this look and in the one before, without those
	// of earlier results.
	Certain []check.Finding
}

// A Watch judges a run while it goes on.
type Watch struct {
	opts   Options
	due    chan int // numbers of looks; it holds the newest
	last   int      // the last look that was due
	begun  bool     // Ended was called
	cancel context.CancelFunc
	gone   chan struct{}
}

// Start starts a watch, which does nothing until Ended is called.
func Start(opts Options) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{opts: opts, due: make(chan int, 1), cancel: cancel, gone: make(chan struct{})}
	go w.run(ctx)
	return w
}

// Ended tells the watch how many files have ended. It returns at once. Only one goroutine may call
// it.
func (w *Watch) Ended(files int) {
	look := lookAt(files - w.opts.Policy.Leak.WarmUp)
	if !w.begun && w.opts.Resumed {
		w.last = look
	}
	w.begun = true
	if look <= w.last {
		return
	}
	w.last = look
	select {
	case <-w.due: // the look before has not begun yet
	default:
	}
	w.due <- look
}

// Close ends the watch. A look that is going on has no result.
func (w *Watch) Close() {
	w.cancel()
	<-w.gone
}

// A growth identifies a finding on growth.
type growth struct{ check, subject string }

func (w *Watch) run(ctx context.Context) {
	defer close(w.gone)
	var before []growth       // that failed in the look before
	said := map[growth]bool{} // in earlier results
	for {
		var look int
		select {
		case <-ctx.Done():
			return
		case look = <-w.due:
		}
		r, err := Judge(ctx, w.opts.Logs(), w.opts.Policy, w.opts.Dialects, look)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.opts.Failed(err)
			continue
		}
		var now []growth
		for _, f := range Growing(r.Report) {
			g := growth{f.Check, f.Subject}
			now = append(now, g)
			if slices.Contains(before, g) && !said[g] {
				said[g] = true
				r.Certain = append(r.Certain, f)
			}
		}
		before = now
		w.opts.Look(r)
	}
}

// Growing returns the findings on growth over files that fail the run.
func Growing(r *check.Report) (growing []check.Finding) {
	for _, f := range r.Findings {
		if check.LedgerOf(f.Check) != nil && f.Verdict == check.Fail && f.Gates &&
			strings.HasSuffix(f.Unit, check.PerFile) {
			growing = append(growing, f)
		}
	}
	return growing
}
