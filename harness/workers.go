package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// EnvGPU is the environment variable that says which GPU the processes of a worker have, by the
// driver's number. To them it is device 0.
const EnvGPU = "VRAMSOAK_GPU"

// A Worker is what one GPU has of its own in a run on several.
type Worker struct {
	GPU      int // the driver's number
	Device   func(pids []int) ([]meter.Use, error)
	Occupied func() ([]meter.Occupancy, error)
}

// WorkerDir is the folder of a worker in a run folder.
func WorkerDir(dir string, gpu int) string { return filepath.Join(dir, "gpu-"+strconv.Itoa(gpu)) }

// RunAll is [Run] with one worker a GPU, which share the files: each has a log in a folder of its
// own in the run folder, and the devices of [Worker] instead of the configuration's. What the
// configuration limits, it limits for each worker.
//
// A worker that has to stop leaves its files to the others, except where [CrashStop] ends the run:
// it then interrupts them. With Resume the logs of all workers are taken up again.
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

// ValidateWorkers names every mistake in the workers of a run.
func ValidateWorkers(cfg Config, workers []Worker) error {
	var errs []error
	if len(workers) == 0 {
		errs = append(errs, errors.New("expected GPUs to work on, found none"))
	}
	if cfg.Feed == FeedNone {
		errs = append(errs, fmt.Errorf("cannot share the files of a command that knows them by itself among GPUs; put %s or %s into its "+
			"arguments, or feed stdin", pathMark, listMark))
	}
	seen := map[int]bool{}
	for _, w := range workers {
		switch {
		case w.GPU < 0:
			errs = append(errs, fmt.Errorf("expected the number of a GPU, found %d", w.GPU))
		case seen[w.GPU]:
			errs = append(errs, fmt.Errorf("expected each GPU once, found GPU %d again", w.GPU))
		}
		seen[w.GPU] = true
	}
	return errors.Join(errs...)
}

// gpuEnv are the variables that show the process its GPU and no other. Under PCI_BUS_ID CUDA counts
// as the driver does (CUDA C++ Programming Guide, "CUDA Environment Variables"). HIP reads CUDA's
// variable where its own is not set (HIP documentation, "Environment variables").
func (c Config) gpuEnv() []string {
	if c.gpu == nil {
		return nil
	}
	gpu := strconv.Itoa(*c.gpu)
	env := []string{EnvGPU + "=" + gpu, meter.VisibleDevices + "=" + gpu, "CUDA_DEVICE_ORDER=PCI_BUS_ID"}
	const hip = "HIP_VISIBLE_DEVICES"
	if _, set := os.LookupEnv(hip); set {
		env = append(env, hip+"="+gpu)
	}
	return env
}

// A team is the workers of a run.
type team struct {
	cfg     Config
	queue   *queue
	workers []*worker
	shelter *shelter
	over    chan struct{} // closed when all have ended
}

// A worker is a run of its own that has its files from a queue.
type worker struct {
	*run
	gpu   int
	ended bool // when it was resumed
	v     verdict
	err   error
	out   *Outcome
}

func newTeam(cfg Config, workers []Worker) (*team, error) {
	t := &team{cfg: cfg, queue: newQueue(cfg.Files, cfg.More), shelter: &shelter{run: cfg.Dir}, over: make(chan struct{})}
	kill := t.passOn(cfg.Kill)
	view := &overview{show: cfg.Progress, all: make([]Progress, len(workers))}
	if err := syncFolder(filepath.Dir(cfg.Dir)); err != nil {
		t.discard()
		return nil, fmt.Errorf("run folder: %w", err)
	}
	id := newRunID()
	for i, w := range workers {
		own := cfg
		own.gpu, own.workers = &w.GPU, len(workers)
		own.Dir, own.Device, own.Occupied, own.Kill = WorkerDir(cfg.Dir, w.GPU), w.Device, w.Occupied, kill
		own.Logger = cfg.Logger.With("gpu", w.GPU)
		own.Progress = func(p Progress) { view.put(i, p) }
		view.all[i].GPU = w.GPU
		err := os.Mkdir(own.Dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			err = nil
		}
		var r *run
		if err == nil {
			r, err = newRun(own, parser.WorkerID(id, w.GPU))
		}
		if err != nil {
			t.discard()
			return nil, err
		}
		r.queue, r.shelter = t.queue, t.shelter
		t.workers = append(t.workers, &worker{run: r, gpu: w.GPU, v: verdict{reason: ReasonStopped}})
	}
	return t, nil
}

// passOn has every worker know what is told once.
func (t *team) passOn(kill <-chan struct{}) <-chan struct{} {
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

// discard lets go of what did not begin.
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
	// No process starts before all devices were looked at.
	t.each(func(w *worker) {
		if w.ended {
			return
		}
		if w.err = w.preflight(ctx); w.err != nil {
			w.v.what = w.err.Error()
		}
	})
	failed := false
	for _, w := range t.workers {
		failed = failed || w.err != nil
	}
	t.each(func(w *worker) {
		switch {
		case w.ended:
			w.v.reason = ReasonDone
		case w.err != nil:
		case failed:
			w.v.reason = ReasonInterrupted
		default:
			w.v, w.err = w.work(ctx)
			switch stopped := w.v.reason == ReasonStopped; {
			case w.err != nil || stopped && t.cfg.OnCrash == CrashStop:
				cancel()
			case stopped:
				w.cfg.Logger.Warn("the worker stops; its files go to the others", "because", w.v.why())
			}
		}
		w.leave()
		w.out, w.err = w.finish(w.v, w.ended, w.err)
	})
	close(t.over)
	return t.outcome()
}

// each does something for all workers at once.
func (t *team) each(do func(w *worker)) {
	var all sync.WaitGroup
	for _, w := range t.workers {
		all.Go(func() { do(w) })
	}
	all.Wait()
}

// begin writes the first lines of the logs, or of the parts of them that follow, and deals the
// first files.
func (t *team) begin(ctx context.Context) error {
	pasts, cuts := make([]past, len(t.workers)), make([]int64, len(t.workers))
	if t.cfg.Resume {
		for i, w := range t.workers {
			var err error
			if pasts[i], cuts[i], err = w.takeUp(); err != nil {
				return err
			}
		}
		if err := t.sameRun(pasts); err != nil {
			return err
		}
	}
	runs := make([]*run, len(t.workers))
	for i, w := range t.workers {
		runs[i] = w.run
	}
	t.queue.share(runs)
	for i, w := range t.workers {
		var err error
		if t.cfg.Resume {
			pasts[i].first = w.nextFile()
			w.ended, err = w.goOn(ctx, pasts[i], cuts[i])
		} else {
			w.ended, err = w.begin(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, w := range t.workers {
		if w.ended {
			w.leave()
		}
	}
	for _, w := range t.workers {
		if !w.ended {
			_ = w.deal(time.Now())
		}
		if w.dealt = w.batch.left > 0; w.dealt {
			t.queue.hold(w.run)
		}
	}
	return nil
}

// sameRun demands that the logs be of one run, and gives the workers its id.
func (t *team) sameRun(pasts []past) error {
	var first *parser.RunStart
	for _, p := range pasts {
		switch {
		case p.start == nil:
		case first == nil:
			first = p.start
		case p.start.RunID() != first.RunID():
			return fmt.Errorf("%s: expected the log of a worker of the run of %s, found one of another run; the run cannot be resumed",
				p.start.Pos, first.Pos.Path)
		}
	}
	for _, w := range t.workers {
		if first != nil {
			w.id = parser.WorkerID(first.RunID(), w.gpu)
		}
	}
	return nil
}

// nextFile is the first file that the worker may get, from 1; 0 where there is none.
func (r *run) nextFile() int {
	if own := r.batch.waiting(1); len(own) > 0 {
		return own[0] + 1
	}
	return r.queue.first() + 1
}

// outcome is that of all workers.
func (t *team) outcome() (*Outcome, error) {
	all := &Outcome{Counts: map[parser.Status]int{}, Reason: ReasonDone, Ended: true}
	var errs []error
	var why []string
	said := map[string]bool{}
	reasons := []string{ReasonDone, ReasonInterrupted, ReasonStopped}
	worse := func(a, b string) bool { return slices.Index(reasons, a) > slices.Index(reasons, b) }
	for _, w := range t.workers {
		o := w.out
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
			why = append(why, fmt.Sprintf("GPU %d: %s", w.gpu, o.Diagnostic))
		}
		if w.err != nil && !said[w.err.Error()] { // a command that cannot be started can be by nobody
			said[w.err.Error()] = true
			errs = append(errs, w.err)
		}
	}
	if t.cfg.Until == 0 {
		all.Files = len(t.queue.files)
	}
	if all.Rescued = t.shelter.dir; all.Rescued != "" {
		for _, w := range t.workers {
			if w.out.Rescued == "" {
				if err := w.follow(all.Rescued); err != nil && !errors.Is(err, os.ErrNotExist) { // which its worker has told
					errs = append(errs, fmt.Errorf("copying the log of GPU %d to %s: %w", w.gpu, all.Rescued, err))
				}
			}
		}
	}
	all.Diagnostic = strings.Join(why, "\n")
	return all, errors.Join(errs...)
}
