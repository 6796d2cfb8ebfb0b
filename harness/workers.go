package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A Worker holds the settings of one worker in a run on several GPUs. A worker runs the processes
// that use one GPU.
type Worker struct {
	GPU      int // the driver's number
	Device   func(pids []int) ([]meter.Use, error)
	Occupied func() ([]meter.Occupancy, error)
}

// RunAll does what [Run] does on several GPUs, with one worker per GPU. The workers take their
// files from one queue. Each worker writes its own log, gpu-N/soak.log in the run folder, and uses
// Device and Occupied of its [Worker] instead of those in cfg. The limits in cfg, such as
// MaxRestarts, hold for each worker separately.
//
// If a worker stops, the others take over its files. With [CrashStop], RunAll interrupts the other
// workers instead, so that the whole run ends. With Config.Resume, RunAll continues the logs of all
// workers.
func RunAll(ctx context.Context, cfg Config, workers []Worker) (*Outcome, error) {
	if err := errors.Join(cfg.Validate(), ValidateWorkers(cfg, workers)); err != nil {
		return nil, err
	}
	t, err := newTeam(cfg.withDefaults(), workers)
	if err != nil {
		return nil, err
	}
	return t.run(ctx)
}

// ValidateWorkers returns an error that names every mistake in the workers of a run.
func ValidateWorkers(cfg Config, workers []Worker) error {
	var m mistakes
	if len(workers) == 0 {
		m.add("expected GPUs to work on, found none")
	}
	if cfg.Feed == FeedNone {
		m.add("cannot share the files of a command that knows them by itself among GPUs; "+
			"put %s or %s into its arguments, or feed stdin", pathMark, listMark)
	}
	seen := map[int]bool{}
	for _, w := range workers {
		switch {
		case w.GPU < 0:
			m.add("expected the number of a GPU, found %d", w.GPU)
		case seen[w.GPU]:
			m.add("expected each GPU once, found GPU %d again", w.GPU)
		}
		seen[w.GPU] = true
	}
	return errors.Join(m...)
}

// A team holds the workers of a run and the queue that they share.
type team struct {
	cfg     Config
	queue   *queue.Queue
	workers []*worker
	rescue  *journal.RescueFolder
	over    chan struct{} // closed when all workers have ended
}

// A worker is a run on one GPU that takes its files from the queue of the team.
type worker struct {
	*run
	gpu     int
	ended   bool // the run was already done when it was resumed
	d       decision
	err     error
	outcome *Outcome
}

func newTeam(cfg Config, workers []Worker) (*team, error) {
	t := &team{
		cfg: cfg, queue: queue.New(cfg.Files, cfg.More), over: make(chan struct{}),
		rescue: journal.NewRescueFolder(filepath.Clean(cfg.Dir) + RescuedSuffix),
	}
	kill, endEarly := t.broadcast(cfg.Kill), t.passOn(len(workers))
	view := &overview{show: cfg.Progress, all: make([]Progress, len(workers))}
	if err := journal.SyncFolder(filepath.Dir(cfg.Dir)); err != nil {
		t.discard()
		return nil, fmt.Errorf("run folder: %w", err)
	}
	id := supervise.NewRunID()
	for i, w := range workers {
		own := cfg
		own.gpu, own.workers = &w.GPU, len(workers)
		own.Dir, own.Kill, own.EndEarly = WorkerDir(cfg.Dir, w.GPU), kill, endEarly[i]
		own.Device, own.Occupied = w.Device, w.Occupied
		own.Logger = cfg.Logger.With("gpu", w.GPU)
		own.Progress = func(p Progress) { view.put(i, p) }
		view.all[i].GPU = w.GPU
		err := os.Mkdir(own.Dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			err = nil
		}
		var r *run
		if err == nil {
			r, err = newRun(own, record.WorkerID(id, w.GPU), t.queue)
		}
		if err != nil {
			t.discard()
			return nil, err
		}
		r.rescue = t.rescue
		d := decision{reason: ReasonStopped}
		t.workers = append(t.workers, &worker{run: r, gpu: w.GPU, d: d})
	}
	return t, nil
}

// broadcast returns a channel that is closed when something is received from kill or kill is
// closed. Every worker can receive from the new channel; a value in kill would reach only one
// worker.
func (t *team) broadcast(kill <-chan struct{}) <-chan struct{} {
	all := make(chan struct{})
	go func() {
		select {
		case <-kill:
			close(all)
		case <-t.over:
		}
	}()
	return all
}

// discard closes the logs of a run that did not begin.
func (t *team) discard() {
	for _, w := range t.workers {
		w.discard()
	}
	close(t.over)
}

func (t *team) run(ctx context.Context) (*Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := t.begin(ctx); err != nil {
		t.discard()
		return nil, err
	}
	// All devices are looked at before any process starts.
	t.each(func(w *worker) {
		if w.ended {
			return
		}
		if w.err = w.checkDevices(ctx); w.err != nil {
			w.d.what = w.err.Error()
		}
	})
	failed := slices.ContainsFunc(t.workers, func(w *worker) bool { return w.err != nil })
	t.each(func(w *worker) {
		switch {
		case w.ended:
			w.d.reason = ReasonDone
		case w.err != nil:
		case failed:
			w.d.reason = ReasonInterrupted
		default:
			w.d, w.err = w.work(ctx)
			switch stopped := w.d.reason == ReasonStopped; {
			case w.err != nil || stopped && t.cfg.OnCrash == CrashStop:
				cancel()
			case stopped:
				w.cfg.Logger.Warn("the worker stops; its files go to the others",
					"because", w.d.inOneLine())
			}
		}
		w.feeder.Leave()
		w.outcome, w.err = w.finish(w.d, w.ended, w.err)
	})
	close(t.over)
	return t.outcome()
}

// each calls do for all workers, in one goroutine each, and returns when all calls have returned.
func (t *team) each(do func(w *worker)) {
	var all sync.WaitGroup
	for _, w := range t.workers {
		all.Go(func() { do(w) })
	}
	all.Wait()
}

// begin writes the run-start line to each log or, if the run is resumed, a resume line. It then
// gives each worker the files of its first process.
func (t *team) begin(ctx context.Context) error {
	states, torn := make([]journal.State, len(t.workers)), make([]int64, len(t.workers))
	if t.cfg.Resume {
		for i, w := range t.workers {
			var err error
			if states[i], torn[i], err = w.readBack(); err != nil {
				return err
			}
		}
		if err := t.sameRun(states); err != nil {
			return err
		}
	}
	feeders := make([]*queue.Feeder, len(t.workers))
	for i, w := range t.workers {
		feeders[i] = w.feeder
	}
	t.queue.Divide(feeders)
	for i, w := range t.workers {
		var err error
		if t.cfg.Resume {
			states[i].First = w.batch.Place(w.feeder.First())
			w.ended, err = w.resume(ctx, states[i], torn[i])
		} else {
			w.ended, err = w.begin(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, w := range t.workers {
		if w.ended {
			w.feeder.Leave()
		}
	}
	for _, w := range t.workers {
		if !w.ended {
			w.feeder.DealFirst(time.Now())
		}
	}
	return nil
}

// sameRun returns an error unless all logs belong to the same run. It sets the id of each worker
// from the id of that run.
func (t *team) sameRun(states []journal.State) error {
	var first *record.RunStart
	for _, s := range states {
		switch {
		case s.Start == nil:
		case first == nil:
			first = s.Start
		case s.Start.RunID() != first.RunID():
			return fmt.Errorf("%s: expected the log of a worker of the run of %s, "+
				"found one of another run; the run cannot be resumed", s.Start.Pos, first.Pos.Path)
		}
	}
	for _, w := range t.workers {
		if first != nil {
			w.supervisor.SetRunID(record.WorkerID(first.RunID(), w.gpu))
		}
	}
	return nil
}

// outcome returns the outcome of the whole run, combined from the outcomes of all workers.
func (t *team) outcome() (*Outcome, error) {
	all := &Outcome{Counts: map[record.Status]int{}, Reason: ReasonDone, Ended: true}
	var errs []error
	var diagnostics []string
	seen := map[string]bool{} // errors
	reasons := []string{ReasonDone, ReasonFailFast, ReasonInterrupted, ReasonStopped}
	worse := func(a, b string) bool { return slices.Index(reasons, a) > slices.Index(reasons, b) }
	for _, w := range t.workers {
		o := w.outcome
		for status, n := range o.Counts {
			all.Counts[status] += n
		}
		all.Processes += o.Processes
		all.Duration = max(all.Duration, o.Duration)
		all.Ended = all.Ended && o.Ended
		if worse(o.Reason, all.Reason) {
			all.Reason = o.Reason
		}
		if t.cfg.Until > 0 {
			all.Files += o.Files
		}
		if o.Diagnostic != "" {
			diagnostics = append(diagnostics, fmt.Sprintf("GPU %d: %s", w.gpu, o.Diagnostic))
		}
		// If the command cannot be started, all workers have the same error.
		if w.err != nil && !seen[w.err.Error()] {
			seen[w.err.Error()] = true
			errs = append(errs, w.err)
		}
	}
	if t.cfg.Until == 0 {
		all.Files = t.queue.Len()
	}
	if all.Rescued = t.rescue.Dir(); all.Rescued != "" {
		errs = append(errs, t.copyLogs()...)
	}
	all.Diagnostic = strings.Join(diagnostics, "\n")
	return all, errors.Join(errs...)
}

// copyLogs copies the logs that nobody removed to the rescue folder, so that this folder has all
// logs of the run. It returns the errors of copies that failed.
func (t *team) copyLogs() []error {
	var errs []error
	for _, w := range t.workers {
		if w.outcome.Rescued != "" {
			continue
		}
		// If a log does not exist, the error of its worker already says so.
		err := w.log.CopyTo(t.rescue, w.subfolder())
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("copying the log of GPU %d to %s: %w",
				w.gpu, t.rescue.Dir(), err))
		}
	}
	return errs
}
