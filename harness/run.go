package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// Reasons for which a run ends, in its last line.
const (
	ReasonDone        = "done"
	ReasonInterrupted = parser.Interrupted
	ReasonStopped     = "stopped"
)

// ErrNotStarted is in the error of a run whose command could not be started. Where Outcome.Processes is
// 0 too, nothing was run.
var ErrNotStarted = errors.New("starting the command")

// An Outcome is how a run went. All of it but Diagnostic is in the log too.
type Outcome struct {
	Files     int                   // files to be fed; with FeedNone, files that were seen
	Counts    map[parser.Status]int // files that ended, by status
	Processes int                   // processes that were started
	Duration  time.Duration
	Reason    string // ReasonDone, ReasonInterrupted or ReasonStopped
	// Ended says that the run that was to be resumed had come to its end before: nothing was done.
	Ended bool
	// Rescued is the folder that the log was saved to which was removed from the run folder; "" where it is in its place.
	Rescued string
	// Diagnostic says why a run stopped, with the last lines that the pipeline printed.
	Diagnostic string
}

// A run is a run under way. All of it belongs to one goroutine: what processes, samplers and timers have to say comes to
// it through channels.
type run struct {
	cfg   Config
	log   *journal
	batch *batch
	track *tracker
	board *board
	lines lines
	tail  tail
	// kill is Config.Kill until it has yielded.
	kill <-chan struct{}

	id     string // in the environment of its processes
	reaper bool   // descendants whose parents end become this process's children
	// started is when the run began, less the time between its parts where it was resumed.
	started   time.Time
	processes int
	restarts  restarts
	machine   int64   // bytes of its memory, where they are a limit; else 0
	excess    overuse // in the process's last word
	// stuck are the processes that could not be ended.
	stuck map[int]bool
	// alone says that every child of this process that it did not start is the pipeline's; others are processes of which it is
	// known that they are not, or not known what they are.
	alone  bool
	others *others
	// shelter is where the log is saved to if it is taken away.
	shelter *shelter
	astray  error // the log is not where it was
	// interrupted says that the context ended, or Kill yielded.
	interrupted bool
	// queue is where the files come from that several workers share; nil where there is one. Of a worker's batch, the files
	// that it was not given count as begun: once shared, those that are new too. dealt says that it was given files for its
	// first process.
	queue         *queue
	shared, dealt bool
}

// Run runs the command over the batch and writes the log. The error is the harness's own trouble: a configuration that
// cannot be, a command that cannot be started, a log that cannot be written. What the pipeline did is in the outcome,
// which is nil only if the run did not begin.
//
// When the context ends, the pipeline is ended too, the log finished, and the outcome is interrupted.
func Run(ctx context.Context, cfg Config) (*Outcome, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r, err := newRun(cfg.withDefaults(), newRunID())
	if err != nil {
		return nil, err
	}
	v := verdict{reason: ReasonStopped}
	ended, err := r.begin(ctx)
	switch {
	case ended:
		v.reason = ReasonDone
	case err != nil && cfg.Resume: // the log is as it was
		r.discard()
		return nil, err
	case err == nil:
		v, err = r.soak(ctx)
	}
	return r.finish(v, ended, err)
}

// newRun opens the log of a run of this id.
func newRun(cfg Config, id string) (*run, error) {
	log, err := openJournal(cfg.logPath())
	if err != nil {
		return nil, err
	}
	log.wall = cfg.wall
	r := &run{
		cfg: cfg, log: log, batch: newBatch(cfg.Files), board: newBoard(cfg.Progress), kill: cfg.Kill, id: id, started: time.Now(),
		stuck: map[int]bool{}, others: &others{}, shelter: &shelter{run: cfg.Dir},
	}
	r.alone = cfg.Reaper && cfg.workers <= 1 && len(meter.Children(os.Getpid())) == 0 // a program may have children from before its exec
	r.reaper = cfg.Reaper && becomeReaper()
	r.machine = cfg.machineMemory()
	r.lines.dialects = cfg.Dialects
	r.track = &tracker{
		log: log, batch: r.batch, dialects: cfg.Dialects, logger: cfg.Logger, follow: cfg.Feed != FeedProcess,
		open: cfg.Feed == FeedNone,
	}
	if cfg.Until > 0 {
		r.track.over = r.over
	}
	r.restarts = restarts{max: cfg.MaxRestarts, first: cfg.BackOff}
	return r, nil
}

// discard lets go of a run that did not begin.
func (r *run) discard() {
	_ = r.log.close()
	r.board.close()
}

// finish writes the run's last line, unless it had ended before, and says how it went.
func (r *run) finish(v verdict, ended bool, err error) (*Outcome, error) {
	now := time.Now()
	if missing := r.watch(); err == nil {
		err = missing
	}
	if !ended {
		r.log.own(parser.RunEnd{
			Header: r.log.head(now), Files: r.worked(),
			Seconds: now.Sub(r.started).Seconds(), Reason: v.reason, Error: cmp.Or(v.why(), why(err)),
		})
	}
	if r.astray != nil {
		_ = r.log.flush() // an error is what follows
	}
	rescued, missing := r.rescue()
	if missing != nil {
		err = missing
	}
	if closing := r.log.close(); err == nil {
		err = closing
	}
	r.show(now)
	r.board.close()
	return &Outcome{
		Files: r.files(), Counts: r.batch.counts, Processes: r.processes, Duration: now.Sub(r.started),
		Reason: v.reason, Ended: ended, Diagnostic: v.diagnostic(), Rescued: rescued,
	}, err
}

// why is an error's message, "" where there is none.
func why(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A verdict on a process says whether and why the run ends with it. The run goes on where reason is "".
type verdict struct {
	reason string
	what   string // what happened
	tail   string // the last lines of the process; "" where they do not tell why
	cause  string // the reason that the process printed
}

// diagnostic says what happened, with the last lines of the process.
func (v verdict) diagnostic() string {
	if v.tail == "" {
		return v.what
	}
	return v.what + "; its last lines:\n" + v.tail
}

// why says what happened in one line, with the cause instead of the last lines.
func (v verdict) why() string {
	line, _, _ := strings.Cut(v.what, "\n")
	if line != "" && v.cause != "" {
		line += " (" + v.cause + ")"
	}
	return line
}

// stopped says why the run ends with a process.
func (r *run) stopped(d death, what string) verdict {
	return verdict{
		reason: ReasonStopped, what: fmt.Sprintf("the process (pid %d) %s", d.pid, what),
		tail: r.tail.lines(), cause: d.cause,
	}
}

// processAll starts processes until no file is left: of the batch, of those that come after it ([Config.More]) and of those
// that are to be done again ([Config.RetryFailed]). A process that begins none is the last.
func (r *run) processAll(ctx context.Context) (verdict, error) {
	for {
		if ctx.Err() != nil || r.interrupted {
			r.interrupted = true
			return verdict{reason: ReasonInterrupted}, nil
		}
		r.rest(ctx)
		if ctx.Err() != nil || r.interrupted {
			continue
		}
		fed := r.feed(ctx, time.Now())
		switch {
		case r.interrupted:
			continue
		case len(fed) == 0 && r.cfg.Feed != FeedNone:
			return verdict{reason: ReasonDone}, nil
		}
		v, err := r.processOne(ctx, fed)
		if err != nil {
			return verdict{reason: ReasonStopped}, err
		}
		if v.reason != "" {
			return v, nil
		}
		r.giveBack()
	}
}

// share is how many files one process gets; 0 is all there are.
func (r *run) share() int {
	if r.cfg.Feed == FeedProcess {
		return 1
	}
	return r.cfg.RestartEvery
}

// processOne starts a process, sees it through to its end, and says what follows from that.
func (r *run) processOne(ctx context.Context, fed []int) (verdict, error) {
	if err := r.watch(); err != nil {
		return verdict{}, err
	}
	s, err := r.spawn(fed)
	if err != nil {
		return verdict{}, err
	}
	now := time.Now()
	p, err := start(s, r.newFamily(), r.cfg.kill)
	if err != nil {
		return verdict{}, fmt.Errorf("%w: %w; check the command after --", ErrNotStarted, err)
	}
	r.processes++
	r.tail.reset()
	r.track.process(fed, now)
	if r.cfg.Feed == FeedProcess {
		r.track.begin(fed[0], Input{}, now)
	}
	waiting, ok := r.batch.left, r.batch.counts[parser.StatusOK]
	d := r.attend(ctx, p)

	now = d.at
	between := r.track.active == nil
	r.track.finish(d, r.cfg.Timeout, now)
	r.orphans(d.left, d.running)
	if d.lost {
		r.stuck[d.pid] = true
	}
	restarted := r.restarts.n
	v := r.judge(d, between, r.batch.left < waiting, r.batch.counts[parser.StatusOK] > ok)
	if !d.lost {
		exit := parser.Exit{Header: r.log.head(now), PID: d.pid, Code: d.code, Signal: d.signal, Reason: d.reason()}
		if exit.Reason == parser.ExitByItself {
			exit.Error = d.cause
		}
		if r.restarts.n > restarted {
			exit.Restarts = r.restarts.n
		}
		r.log.own(exit)
	}
	if err := r.log.flush(); err != nil {
		return verdict{}, err
	}
	r.show(time.Now())
	return v, r.watch()
}

// judge says what follows from the end of a process. between says that it worked on no file then; progress, that files
// began in it, and well, that some ended well.
func (r *run) judge(d death, between, progress, well bool) verdict {
	stopped := func(what string) verdict { return r.stopped(d, what) }
	failed := d.signal != "" || d.code != 0 || d.overuse != ""
	waiting, _ := r.batch.next(r.track.fed)
	switch {
	case d.lost:
		return stopped("did not end after SIGKILL: it is stuck in the kernel, mostly in a device driver; see its state in " +
			"/proc, the machine may have to be restarted")
	case d.interrupted:
		return verdict{reason: ReasonInterrupted}
	case d.over:
		return verdict{reason: ReasonDone}
	case r.cfg.Feed == FeedProcess:
		switch {
		case !d.timeout && !failed || r.batch.left == 0 && r.queue.empty():
			return verdict{}
		case r.cfg.OnCrash == CrashStop:
			return stopped(d.String() + ", and on-crash is stop")
		}
		return r.restart(d, well)
	case r.cfg.Feed == FeedNone:
		switch {
		case d.timeout:
			return stopped(fmt.Sprintf("began no new file within %v and was ended", r.cfg.Timeout))
		case d.signal != "" || d.overuse != "", failed && len(r.batch.files) == 0: // it was given no files
			return stopped(d.String())
		}
		return verdict{reason: ReasonDone}
	case waiting == unknown: // all of its files are done; that it says by its exit code that one failed is no crash
		return verdict{}
	case !progress && d.timeout:
		return stopped(fmt.Sprintf("began no file within %v and was ended; raise the timeout if it takes longer to load", r.cfg.Timeout))
	case !progress && failed:
		return stopped(d.String() + " before it began a file")
	case !progress:
		return stopped(fmt.Sprintf("exited with code 0, but no file was seen to begin; have it read its files from %s and "+
			"print a line %q for each", r.source(), parser.ProtocolPrefix+" file-start path=..."))
	case !d.timeout && !failed && !r.track.names && !r.track.ends:
		// It may have passed over a file. To give the rest to a new process would call the wrong files done.
		return stopped(fmt.Sprintf("exited with code 0, but its checkpoints show %d of %d files, and not which; have it print "+
			"a line %q for each", r.begun(), len(r.track.fed), parser.ProtocolPrefix+" file-start path=..."))
	case r.cfg.OnCrash == CrashStop && (d.timeout || failed):
		return stopped(d.String() + ", and on-crash is stop")
	}
	what := "the process ended before its files were done"
	switch {
	case failed && r.track.starved:
		what = "the process ran out of memory"
	case between:
		what = "the process ended between files"
	}
	if d.timeout || failed {
		if v := r.restart(d, well); v.reason != "" {
			return v
		}
	}
	end := d.String()
	if d.cause != "" {
		end += ": " + d.cause
	}
	r.cfg.Logger.Warn(what+"; the remaining files go to a new one", "end", end, "remaining", r.batch.left)
	return verdict{}
}

// files is how many files the run has, or by now had.
func (r *run) files() int {
	if r.cfg.Until > 0 {
		return r.worked()
	}
	return len(r.batch.files)
}

// worked is how many files this run, or this worker of it, has begun.
func (r *run) worked() int {
	if r.queue != nil { // of the others it does not know
		return r.batch.ended()
	}
	return len(r.batch.files) - r.batch.left
}

// begun is how many files of the process have begun.
func (r *run) begun() int {
	n := 0
	for _, i := range r.track.fed {
		if r.batch.begun[i] {
			n++
		}
	}
	return n
}

// source is where a process finds its files.
func (r *run) source() string {
	if r.cfg.Feed == FeedStdin {
		return "standard input"
	}
	return "the list"
}

// show puts the present state before a person.
func (r *run) show(now time.Time) {
	p := Progress{
		Done: r.batch.ended(), Files: len(r.batch.files), Failed: r.batch.failed(), Reading: r.track.reading,
		Elapsed: now.Sub(r.started),
	}
	if r.track.active != nil {
		p.Current = r.track.active.path
	}
	switch {
	case r.cfg.Feed == FeedNone:
		p.Files = 0
	case r.cfg.Until > 0:
		p.Files, p.Left, p.HasLeft = 0, max(0, r.cfg.Until-p.Elapsed), true
	default:
		p.pace = r.batch.pace(r.started, r.track.lastEnd, now)
		p.Left, p.HasLeft = p.pace.remaining()
	}
	r.track.changed = false
	r.board.put(p)
}

// commandLine is a command for a person to read.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`*?|&;<>()#") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
