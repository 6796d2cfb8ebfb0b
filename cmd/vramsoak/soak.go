package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/harness"
	"vramsoak/harness/bucket"
	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/html"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/plots/overfiles"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type soakOptions struct {
	files        []string
	repeat       int
	shuffle      *uint64 // seed; nil keeps the order
	feed         string
	timeout      time.Duration
	grace        time.Duration
	onCrash      string
	restartEvery int
	settleLimit  time.Duration
	maxIdleUsed  string
	maxUsed      string
	maxRestarts  int
	backOff      time.Duration
	retryFailed  int
	until        time.Duration
	failFast     bool
	gpus         string
	workers      []int // GPUs, with one worker each
	resume       string
	given        map[string][]string // flags
	policy       string
	baselines    []string
	runs         string
	run          string // name of the run folder; "" for the time
	shard        string // as the user gave it; "" for the whole batch
	print        printOptions
	listen       string
	secrets      []string // names, see package secret
}

const gpusUsage = "run one worker on each of these `GPUs`, such as 0,1, or on all of them; the " +
	"workers share the files"

func newSoakCommand() *cobra.Command {
	opts := soakOptions{}
	var seed uint64
	cmd := &cobra.Command{
		Use:   "soak [flags] -- COMMAND...",
		Short: "Run a pipeline over a batch, judge it, write the run folder",
		Long: `Soak runs a command over a batch of files and watches its memory. The command
prints a checkpoint line before and after each cleanup. vramsoak copies all lines of the command to
soak.log, adds lines of its own (files, exits, samples of the device), judges the log, and writes
the run folder: soak.log, run.json, verdict.json, junit.xml, summary.md, report.html, and as
pictures over-files (what was judged, file by file) and memory (over time), each as .png and .svg.

The command can get the files in four ways:
  {list}         in its arguments is replaced by the path of a list, one path on each line: one
                 process for all files. This shows leaks
  --feed stdin   writes one path on each line to its standard input: one process for all files
  {}             in its arguments is replaced by a path: one process for each file. What a file
                 leaks ends with its process
  --feed none    or none of these: the command finds its files itself

A pipeline that works on many files in one process should print which file it works on:
  [pipeline] file-start path=PATH
  [pipeline] file-end path=PATH status=ok
Without these lines, a new file begins whenever the name of the first checkpoint is printed again.

If files are sorted by length, memory that follows the length of the audio looks like a leak.
--shuffle feeds the batch in another order, which is the same for the same seed. --repeat feeds the
batch several times (four or more is best). With both flags, each round has an order of its own. A
real leak still grows.

If there is a GPU, the run begins when the memory in use on the GPU no longer changes, or after
--settle-limit. The log says how much is in use, and which processes hold it. After the last process
has ended, vramsoak waits and reports in the same way. With --max-idle-used, vramsoak does not begin
if more memory than this is in use on a GPU, and exits with 2.

After a kill, a crash of the machine or Ctrl-C, --resume RUN continues the run with the interrupted
file. It does not repeat files that have ended. No command is needed.

While the run goes on, vramsoak judges the log after 24, 32, 48, 64, 96, 128 files and so on. Growth
that two such looks in a row find is certain, and said at once. With --fail-fast, the run then ends
after the files that are in work. The files that were not started do not count as failed.

With --gpus, each GPU has a worker. The processes of a worker see only its GPU, as device 0
(CUDA_VISIBLE_DEVICES), and each worker has its own log in the run folder. All workers take files
from one batch and are judged together. A file counts whichever GPU worked on it. A leak is judged
on each GPU.

With --shard, the command works on a part of the batch: a task of a Slurm array, a pod of an
Indexed Job of Kubernetes, or a job of a CI matrix. --shard auto takes the part from the task's
index. All tasks have the same --files, --runs and --run. A task that is started again goes on where
the log of its shard ends. It exits with 0 when its part is done, whatever that shows, with 2 if it
cannot be done, and with 128 plus the number of the signal if one ended it. vramsoak check RUNS/RUN
then judges all shards as one run.

With --listen, a browser shows the report on the run so far at http://127.0.0.1:PORT/, and
Prometheus can read its metrics at /metrics. Only this machine can connect, unless the address names
another one.

Passwords and tokens in the command's arguments (--api-key=..., TOKEN=...) are masked in run.json
and in the log. --secret masks the values after other names too. To resume such a run, give the same
command again after --.

No shell is involved. vramsoak sets PYTHONUNBUFFERED=1 in the command's environment. It also sets
VRAMSOAK_FIRST, the position in the batch of the process's first file, counted from 1, and
VRAMSOAK_LISTEN, the folder in which a Python process with vramlook.py listens for doctor --force.`,
		Example: `  # One process for the whole batch, which shows leaks; started again after a crash
  vramsoak soak --files audio/ -- python transcribe.py --list {list}

  # One process for each file, killed if a file takes longer than 10 minutes
  vramsoak soak --files audio/ --timeout 10m -- python transcribe.py {}

  # To tell a leak from files that get longer
  vramsoak soak --files audio/ --repeat 4 --shuffle 1 -- python transcribe.py --list {list}

  # Continue a run that was killed, interrupted or stopped
  vramsoak soak --resume runs/2026-11-20T02-00-00Z

  # Show the run in a browser and to Prometheus while it runs
  vramsoak soak --files audio/ --listen 9435 -- python transcribe.py --list {list}

  # On two GPUs, which share the files
  vramsoak soak --files audio/ --gpus 0,1 -- python transcribe.py --list {list}

  # Soak for a night, and wait longer after each crash
  vramsoak soak --files audio/ --until 8h --shuffle 1 --back-off 10s --feed stdin -- python transcribe.py

  # One task of a Slurm array or of an Indexed Job, and the verdict on all of them
  vramsoak soak --files batch.txt --shard auto --runs /shared/runs --run nightly-42 -- python transcribe.py --list {list}
  vramsoak check /shared/runs/nightly-42

  # End a long run when a leak is certain
  vramsoak soak --files audio/ --until 8h --fail-fast -- python transcribe.py --list {list}

  # Fail also if memory got worse than in the last good run, or than in a fixed earlier run
  vramsoak soak --files audio/ --baseline last-good.json --baseline anchor.json -- python transcribe.py --list {list}

  # The native pipeline
  vramsoak soak --files batch/ --feed stdin -- gpupipeline --model ggml-base.bin --out out --stdin`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && opts.resume == "" {
				return errors.New("expected a command to run, found none; put it after --, such " +
					"as: vramsoak soak --files audio/ -- python transcribe.py --list {list}")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var past *runfolder.Run
			if opts.resume != "" {
				var err error
				if past, err = takeUp(cmd, opts.resume, args); err != nil {
					return err
				}
				args = past.Command
			}
			if cmd.Flags().Changed("shuffle") {
				opts.shuffle = &seed
			}
			if cmd.Flags().Changed("until") && opts.until == 0 {
				return fmt.Errorf("--until: expected how long to soak, such as 8h, found %v; "+
					"leave it out to feed the batch once", opts.until)
			}
			if opts.until > 0 && cmd.Flags().Changed("repeat") {
				return errors.New("--until, --repeat: expected one of them; --until feeds the " +
					"batch until the time is over, --repeat a number of times")
			}
			opts.given = givenFlags(cmd.Flags())
			return runSoak(cmd.Context(), cmd.OutOrStdout(), opts, args, past)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&opts.files, "files", nil, "the batch: a `folder`, a manifest.json, a list "+
		"(.txt) or a file; may be repeated")
	wholeVar(f, &opts.repeat, "repeat", 1, 1, "feed the batch `N` times")
	f.Uint64Var(&seed, "shuffle", 0, "feed each round in an order drawn by this `seed`; the "+
		"default is the order of --files")
	f.Var(&shardValue{&opts.shard}, "shard", shardUsage)
	choiceVar(f, &opts.feed, "feed", "", feeds, "process, list, stdin or none; the default "+
		"follows from the command")
	spanVar(f, &opts.timeout, "timeout", 0,
		"end the process when one file takes longer than this; 0 is no limit")
	spanVar(f, &opts.grace, "grace", harness.DefaultGrace, "time from SIGTERM to SIGKILL")
	choiceVar(f, &opts.onCrash, "on-crash", string(harness.CrashRestart), crashModes,
		"restart starts the process again with the next file; stop ends the run")
	wholeVar(f, &opts.restartEvery, "restart-every", 0, 0,
		"start a new process after this many files; 0 is never")
	spanVar(f, &opts.settleLimit, "settle-limit", harness.DefaultSettleLimit,
		"before and after the run, wait at most this long until the memory in use on the GPUs no "+
			"longer changes; 0 does not wait or report")
	f.StringVar(&opts.maxIdleUsed, "max-idle-used", "",
		"do not begin if more than this `amount` of a GPU's memory is in use, such as 512MiB or "+
			"5%; the default is no limit")
	f.StringVar(&opts.maxUsed, "max-device-used", "",
		"end the process when more than this `share` of its device's memory is in use, such as "+
			"90%, or a size such as 20GiB")
	wholeVar(f, &opts.maxRestarts, "max-restarts", 0, 0,
		"end the run after more than `N` crashes instead of starting the process again; 0 is no "+
			"limit")
	spanVar(f, &opts.backOff, "back-off", 0, "wait this long after a crash, and twice as long "+
		"after each further crash until a file ends ok, at most 5m")
	wholeVar(f, &opts.retryFailed, "retry-failed", 0, 0,
		"at the end, repeat each file that did not end ok, up to `N` times")
	spanVar(f, &opts.until, "until", 0, "repeat the batch for this long, and finish the file "+
		"that is then in work")
	f.BoolVar(&opts.failFast, "fail-fast", false, failFastUsage)
	f.StringVar(&opts.gpus, "gpus", "", gpusUsage)
	f.StringVar(&opts.resume, "resume", "", "continue the run in this `folder`, which was killed, "+
		"interrupted or stopped; no command is needed")
	policyVar(f, &opts.policy, "policy `file` (YAML); the default is vramsoak.yaml "+
		"if that exists")
	inputsVar(f, &opts.baselines, "baseline", baselineUsage, "json")
	f.StringVar(&opts.runs, "runs", "runs", "the run folder is made in this `folder`, or "+
		"with --shard in a bucket: s3://bucket/prefix")
	f.Var(&runName{&opts.run}, "run", runUsage+"; the default is the time")
	f.StringArrayVar(&opts.secrets, "secret", nil,
		"also mask the value after this `name` in the command, such as --hf-auth; may be repeated")
	f.StringVar(&opts.listen, "listen", "", listenUsage)
	opts.print.flags(f, "what to print at the end: text, json, junit or markdown")
	return cmd
}

// runSoak begins a new run, or resumes the run `past` if that is not nil.
func runSoak(ctx context.Context, out io.Writer, opts soakOptions, command []string,
	past *runfolder.Run,
) error {
	task, err := opts.shardTask()
	if err != nil {
		return err
	}
	if err := bucket.CheckRuns(opts.runs); err != nil {
		return fmt.Errorf("--runs: %w", err)
	}
	if task == nil && bucket.IsAddress(opts.runs) {
		return errors.New("--runs: a bucket keeps runs of shards; expected --shard and --run too, " +
			"such as --shard 1/1 --run nightly-42 for a run of one task")
	}
	in, err := opts.inputs(past, task)
	if err != nil {
		return err
	}
	view, err := openWebView(opts.listen)
	if err != nil {
		return err
	}
	defer view.close()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25) // leave the memory to the pipeline; the harness has time
	}
	display := newDisplay(stderr)
	cfg := opts.config(in, command, past)
	cfg.Progress = view.progress(display.show)
	cfg.Logger = newLogger(display, slog.LevelInfo)
	warnOfMarks(cfg, past)
	nvml, closeNVML := openNVML()
	defer closeNVML()
	workers, err := opts.useGPUs(&cfg, past, nvml)
	if err != nil {
		return err
	}
	if task != nil {
		defer func() { task.bucket.close() }()
		if err := task.useBucket(ctx, opts, cfg.Logger); err != nil {
			return err
		}
	}
	info, undo, done, err := opts.openFolder(&cfg, past, nvml, in.batch, task)
	switch {
	case err != nil:
		return err
	case done:
		task.completeBefore()
		return nil
	}
	stderr.Printf("run folder: %s\n", displayName(cfg.Dir))
	ctx, kill, stop := onInterrupt(ctx)
	defer stop()
	cfg.Kill = kill
	if task != nil {
		task.bucket.begin(ctx)
	}

	stopWatch := opts.judgeWhileRunning(&cfg, in.policy, display)
	view.follow(cfg, workers, in.refs, comparedInfo(info))
	outcome, runErr := runOn(ctx, cfg, workers)
	stopWatch()
	display.close()
	view.end()
	if task != nil {
		release, stored := task.bucket.finish(ctx, kill)
		defer release()
		runErr = errors.Join(runErr, stored)
	}
	switch {
	case errors.Is(runErr, harness.ErrNotStarted) && outcome.Processes == 0:
		undo()
		return runErr
	case outcome == nil:
		return runErr
	}
	if errors.Is(runErr, shard.ErrTakenOver) {
		return runErr // the folder belongs to the other task now
	}
	if task != nil && outcome.Reason == harness.ReasonInterrupted {
		return task.interrupted(ctx, info.Ended(outcome), runErr)
	}
	if outcome.Rescued != "" { // write the reports beside the rescued log
		cfg.Dir = outcome.Rescued
	}
	write := func(w io.Writer, tl *timeline.Timeline, rep *check.Report) error {
		if task != nil { // a build passes or fails by the verdict on all shards
			return opts.print.write(w, tl, rep)
		}
		return errors.Join(opts.print.write(w, tl, rep), reportToCI(w, opts.print, tl, rep))
	}
	if task == nil {
		return finish(out, cfg, write, in.refs, info.Ended(outcome), runErr, outcome)
	}
	if len(in.files) == 0 && runErr == nil { // there are more shards than files
		return task.evidence(outcome, writeInfo(cfg.Dir, info.Ended(outcome)))
	}
	err = finish(out, cfg, write, in.refs, info.Ended(outcome), runErr, outcome)
	return task.evidence(outcome, err)
}

// finish judges the run and writes the run folder. It reads the log from the disk again, so that
// the verdict is the same as that of vramsoak check.
func finish(out io.Writer, cfg harness.Config, write reportFunc, refs references,
	info runfolder.Info, runErr error,
	outcome *harness.Outcome,
) error {
	var drawn []string
	defer func() {
		if len(drawn) > 0 {
			_, _ = sink.Fprintf(text.NewFolder(stderr, textOptions(stderr)),
				"see report.html in the run folder; pictures: %s\n", strings.Join(drawn, ", "))
		}
		stderr.Printf("run folder: %s\n", displayName(cfg.Dir))
		if cfg.Feed != harness.FeedNone && outcome.Reason != harness.ReasonDone &&
			outcome.Rescued == "" && outcome.Processes > 0 {
			stderr.Printf("%s\n", goOn(cfg.Dir, info))
		}
		if !outcome.Ended {
			stderr.Printf("%s\n", durationLine(outcome))
		}
	}()
	if outcome.Ended {
		stderr.Printf("vramsoak: the run had already ended; nothing is left to resume\n")
	}
	if err := writeInfo(cfg.Dir, info); err != nil {
		return errors.Join(runErr, err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(5) // the reports need more than the harness had
	}
	debug.FreeOSMemory()
	sketch := memory.NewSketch(plots.Options{})
	logs := runfolder.Logs(cfg.Dir)
	page := html.NewCollector()
	tl, report, err := readOptions{measures: len(refs) > 0, trends: true, page: page}.judge(logs,
		sketch)
	_, nothing := errors.AsType[emptyError](err)
	switch {
	case runErr != nil && err != nil: // a run that failed to begin has no records either
		return runErr
	case nothing && outcome.Diagnostic != "": // the diagnostic says why there are no records
		return errors.New(outcome.Diagnostic)
	case nothing:
		return fmt.Errorf("%w\n%s", err, lastLines(logs))
	case err != nil:
		return err
	case outcome.Diagnostic != "" && runErr == nil: // say why the run stopped; judge the log anyway
		stderr.Printf("vramsoak: %s\n", sink.Block(outcome.Diagnostic))
	case tl.Checkpoints == 0:
		stderr.Printf("vramsoak: the log has no checkpoints; %s\n", sink.Block(lastLines(logs)))
	}
	if err := refs.joinAndRemark(report, comparedInfo(info)); err != nil {
		return err
	}
	debug.FreeOSMemory()
	pictures := []picture{
		{"over-files", "file by file", overfiles.New(report)},
		{"memory", "over time", sketch.Chart(tl, report)},
	}
	debug.FreeOSMemory()
	err = errors.Join(writeReports(cfg.Dir, tl, report),
		writePage(filepath.Join(cfg.Dir, runfolder.ReportName), tl, report, page, logs,
			readOptions{}),
		write(out, tl, report))
	end := cmp.Or(runErr, verdict(report))
	// The pictures come last, when only their charts are still in memory.
	var plotErr error
	drawn, plotErr = writePlots(cfg.Dir, pictures)
	if err := errors.Join(err, plotErr); err != nil {
		return errors.Join(runErr, err)
	}
	return end
}

// durationLine returns the last line of a soak: "took 12:05 for 60 files".
func durationLine(o *harness.Outcome) string {
	ended := 0
	for _, n := range o.Counts {
		ended += n
	}
	files := plural(ended, "file")
	if ended < o.Files {
		files = fmt.Sprintf("%d of %s", ended, plural(o.Files, "file"))
	}
	how := clock(o.Duration)
	if o.Duration < 10*time.Second {
		how = fmt.Sprintf("%.1f s", o.Duration.Seconds())
	}
	return "took " + how + " for " + files
}

// openNVML returns a nil NVML if this machine has no driver.
func openNVML() (nvml *meter.NVML, closeNVML func()) {
	nvml, err := meter.OpenNVML()
	if err != nil {
		return nil, func() {}
	}
	return nvml, func() { _ = nvml.Close() } // the process is about to end
}
