package harness

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"vramsoak/harness/inspect"
	"vramsoak/harness/journal"
	"vramsoak/harness/output"
	"vramsoak/harness/queue"
	"vramsoak/harness/sample"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// These are the reasons why a run ended, as the run-end line of the log names them.
const (
	ReasonDone        = "done"
	ReasonFailFast    = record.FailFast
	ReasonInterrupted = record.Interrupted
	ReasonStopped     = "stopped"
)

// ErrNotStarted is wrapped in the error of [Run] if the harness could not start the command. If
// Outcome.Processes is 0 too, the harness could not start even the first process of the run.
var ErrNotStarted = errors.New("starting the command")

// An Outcome describes how a run ended. The log holds the same facts, except for Diagnostic.
type Outcome struct {
	Files     int                   // files in the batch; with FeedNone, files seen
	Counts    map[record.Status]int // files that ended, by status
	Processes int                   // processes that were started
	Duration  time.Duration
	Reason    string // ReasonDone, ReasonFailFast, ReasonInterrupted or ReasonStopped
	// Ended is true if Config.Resume was set and the run was already done. The harness then starts no
	// process.
	Ended bool
	// Rescued is the folder to which the harness saved the log because somebody removed it from the
	// run folder during the run. Rescued is "" if nobody removed the log.
	Rescued string
	// Diagnostic says why a run stopped before its files were done, with the last lines that the
	// pipeline printed.
	Diagnostic string
}

// A run is the state of one run of the harness. One goroutine owns the state. Processes, samplers
// and timers send to that goroutine through channels.
type run struct {
	cfg        Config
	log        *journal.Journal
	batch      *queue.Batch
	feeder     *queue.Feeder
	supervisor *supervise.Supervisor
	sampler    *sample.Sampler
	guard      sample.Guard
	out        *output.Stream
	// fileEnds has the files that have just ended, for the sampler.
	fileEnds chan record.FileEnd
	reporter *reporter
	levels   levels
	last     record.FileEnd // the file that ended last
	// kill is Config.Kill, or nil once something was received from it.
	kill <-chan struct{}

	// started is when the run began. In a resumed run, started is moved forward by the time during
	// which no harness was running. time.Since(started) is therefore the time that the harness spent
	// on the run.
	started   time.Time
	processes int
	restarts  restarts
	overuse   sample.Overuse // found in a checkpoint or in samples, and not yet acted on
	// stuck holds the PIDs of processes that still ran after SIGKILL.
	stuck map[int]bool
	// rescue is the folder to which the log is saved if somebody removes it from the run folder.
	rescue *journal.RescueFolder
	// interrupted is true once the context has ended or Config.Kill was received.
	interrupted bool
	// endEarly is Config.EndEarly, or nil once something was received from it. early is then true.
	endEarly <-chan EarlyEnd
	early    bool
}

// Run runs the command over the batch and writes the log. Run returns an error only for a fault
// outside the pipeline: a mistake in the configuration, a command that cannot be started, a log
// that cannot be written. A failure of the pipeline is not an error: the outcome describes it. The
// outcome is nil if the run did not begin.
//
// When the context ends, Run ends the pipeline, finishes the log, and returns an interrupted
// outcome.
func Run(ctx context.Context, cfg Config) (*Outcome, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r, err := newRun(cfg.withDefaults(), supervise.NewRunID(), nil)
	if err != nil {
		return nil, err
	}
	d := decision{reason: ReasonStopped}
	ended, err := r.begin(ctx)
	switch {
	case ended:
		d.reason = ReasonDone
	case err != nil && cfg.Resume: // the log is as it was
		r.discard()
		return nil, err
	case err == nil:
		r.sampler.Files = r.filesAhead()
		d, err = r.soak(ctx)
	}
	return r.finish(d, ended, err)
}

// filesAhead returns how many files this harness will feed, or 0 if that is not known.
func (r *run) filesAhead() int {
	if r.cfg.Until > 0 || r.cfg.More != nil {
		return 0
	}
	return r.batch.Left() / max(1, r.cfg.workers)
}

// newRun opens and locks the log, and returns a run with this id. The parameter files is the queue
// from which several workers take their files, or nil for a run without workers.
func newRun(cfg Config, id string, files *queue.Queue) (*run, error) {
	opts := journal.Options{Wall: cfg.wall, Owned: cfg.Owned}
	if cfg.OnDisk != nil {
		opts.OnDisk = func(size int64) error { return cfg.OnDisk(cfg.logPath(), size) }
	}
	log, err := journal.Open(cfg.logPath(), opts)
	if err != nil {
		return nil, err
	}
	r := &run{
		cfg: cfg, log: log, batch: queue.NewBatch(cfg.Files), reporter: newReporter(cfg.Progress),
		kill: cfg.Kill, endEarly: cfg.EndEarly, started: time.Now(), stuck: map[int]bool{},
		fileEnds: make(chan record.FileEnd, 8),
		restarts: restarts{max: cfg.MaxRestarts, first: cfg.BackOff},
		rescue:   journal.NewRescueFolder(filepath.Clean(cfg.Dir) + RescuedSuffix),
	}
	r.supervisor = supervise.New(id, supervise.Options{
		Grace: cfg.Grace, SelfExit: cfg.selfExit, Reap: cfg.Reaper, Sole: cfg.workers <= 1,
		Kill: cfg.kill,
	})
	r.sampler = &sample.Sampler{
		Every: cfg.SampleEvery, Device: cfg.Device, Shared: meter.OpenShared(), Head: log.Head,
		Logger: cfg.Logger,
	}
	r.guard = sample.NewGuard(cfg.MaxDeviceUsed, cfg.Device != nil, cfg.gpu, cfg.Logger)
	feeding := queue.Options{PerProcess: cfg.perProcess(), Retries: cfg.RetryFailed, More: cfg.More}
	feeding.SoakOver = func(now time.Time) bool {
		return cfg.Until > 0 && now.Sub(r.started) >= cfg.Until || r.endsEarly()
	}
	r.feeder = queue.NewFeeder(r.batch, files, feeding)
	r.out = output.NewStream(output.Options{
		Journal: log, Batch: r.batch, Dialects: cfg.Dialects, Logger: cfg.Logger,
		FilePerProcess: cfg.Feed == FeedProcess, OwnFiles: cfg.Feed == FeedNone,
		SoakOver: r.feeder.SoakOver,
		OnReading: func(reading *record.Reading, lane record.Lane) {
			r.levels.note(reading, lane)
			r.overuse = r.overuse.Worse(r.guard.Reading(reading, lane))
		},
		OnEnd: func(ended record.FileEnd) {
			r.levels.endFile()
			r.last = ended
			select {
			case r.fileEnds <- ended:
			default: // the sampler is busy, and would come too late
			}
		},
	})
	return r, nil
}

// discard closes the log of a run that did not begin.
func (r *run) discard() {
	_ = r.log.Close()
	r.reporter.close()
}

// finish writes the run-end line, closes the log and returns the outcome. If ended is set, a
// resumed run was already done: the log has its run-end line, and finish writes no other.
func (r *run) finish(d decision, ended bool, err error) (*Outcome, error) {
	now := time.Now()
	if moved := r.log.Check(); err == nil {
		err = moved
	}
	if !ended {
		r.logLeftovers(now)
		r.log.Add(record.RunEnd{
			Header: r.log.Head(now), Files: r.feeder.Worked(), Reason: d.reason,
			Seconds: now.Sub(r.started).Seconds(),
			Error:   cmp.Or(d.inOneLine(), message(err)),
		})
	}
	if r.log.Moved() != nil {
		_ = r.log.Flush() // Rescue reports what went wrong
	}
	rescued := ""
	saved, moved := r.log.Rescue(r.rescue, r.subfolder())
	if saved {
		rescued = r.rescue.Dir()
	}
	if moved != nil {
		err = moved
	}
	if closing := r.log.Close(); err == nil {
		err = closing
	}
	inspect.RemoveSockets(r.cfg.Dir)
	r.show(now)
	r.reporter.close()
	files := r.batch.Len()
	if r.cfg.Until > 0 {
		files = r.feeder.Worked()
	}
	return &Outcome{
		Files: files, Counts: r.batch.Counts(), Processes: r.processes,
		Duration: now.Sub(r.started), Reason: d.reason, Ended: ended,
		Diagnostic: d.diagnostic(), Rescued: rescued,
	}, err
}

// logLeftovers writes a leftover line to the log for each file in /dev/shm that the pipeline has
// left behind.
func (r *run) logLeftovers(now time.Time) {
	if r.sampler.Shared == nil || r.processes == 0 {
		return
	}
	left := r.sampler.Shared.Left()
	for _, f := range left[:min(len(left), leftoversMax)] {
		r.log.Add(record.Leftover{
			Header: r.log.Head(now), Path: f.Path, Bytes: f.Bytes, Seen: f.Seen,
		})
	}
}

// leftoversMax is the largest number of leftover lines. The largest files are written first.
const leftoversMax = 1000

// subfolder returns the name of the worker's folder in the run folder, or "" for a run without
// workers.
func (r *run) subfolder() string {
	if r.cfg.gpu == nil {
		return ""
	}
	return workerName(*r.cfg.gpu)
}

// message returns an error's message, "" for nil.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
