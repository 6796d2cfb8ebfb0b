package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/harness"
	"vramsoak/parser/record"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

type simulateOptions struct {
	gpu      string
	files    int
	stdin    bool
	pace     float64
	segments bool
	trace    string
	set      []string
	shards   int
	out      string
}

func newSimulateCommand() *cobra.Command {
	opts := simulateOptions{}
	cmd := &cobra.Command{
		Use:   "simulate SCENARIO",
		Short: "Run a scenario on the virtual GPU; print checkpoint lines",
		Long: `Simulate runs a pipeline that is written down in YAML over a batch of files, on a
model of PyTorch's allocator and of a card. It prints the lines that the pipeline would print:
checkpoints with exact bytes, out-of-memory messages in PyTorch's words, the current file, and the
allocator's segments, block by block, at each file's end and when memory runs out. So check, plot
and soak treat it like a real pipeline. The same scenario gives the same bytes each time.

Times are virtual: they begin on January 1, 2026, and a stage takes the seconds that the scenario
gives it. With --stdin the simulation reads the paths of files, one on each line, as soak --feed
stdin writes them. The header of a WAV file gives its length; the lengths of other files are drawn
from the scenario. Times are then those of the wall clock, as in the soak's own lines. With --pace
N, one second of the wall clock is N virtual seconds; without --pace the simulation runs as fast as
it can. In both cases a file's [pipeline] file-end line has its virtual seconds.

With --shards the simulation writes the logs of a run whose files are divided among many tasks, on
nodes n1, n2 and so on, 8 shards on each.`,
		Example: `  vramsoak simulate pipeline.yaml | vramsoak check -
  vramsoak simulate pipeline.yaml --files 1000 > run.log
  vramsoak simulate pipeline.yaml --trace run.trace > run.log && head -1 run.trace
  vramsoak simulate pipeline.yaml --files 4000 --shards 8 --out run && vramsoak check run
  vramsoak soak --files audio/ --feed stdin -- vramsoak simulate pipeline.yaml --stdin --pace 1000`,
		Args: wantsFiles(1, 1, "a scenario, which is a YAML file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSimulate(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.gpu, "gpu", "", "the `card`: a size such as 16GiB, a name such as \"RTX "+
		"5080\", or auto; the default is the card in the file")
	wholeVar(f, &opts.files, "files", 0, 0, "number of files; 0: as many as the scenario has")
	f.StringArrayVar(&opts.set, "set", nil, setUsage)
	f.BoolVar(&opts.stdin, "stdin", false, "read the paths of the files from standard input, one "+
		"on each line")
	f.Float64Var(&opts.pace, "pace", 0,
		"virtual seconds in each real second, with --stdin; 0: as fast as possible")
	extraVar(f, &opts.trace, "trace", "write the requests to the allocator to this `file` as "+
		"a trace for vramsoak replay; those of further processes go to FILE.2 and so on")
	wholeVar(f, &opts.shards, "shards", 0, 0, "divide the files into this many shards and write "+
		"the logs of all, as soak --shard writes them, into the folder that --out names")
	f.StringVar(&opts.out, "out", "", "the `folder` for --shards, which must not exist yet")
	f.BoolVar(&opts.segments, "segments", true, "print what the allocator holds at the end of "+
		"each file")
	return cmd
}

func runSimulate(in io.Reader, out, diagnostics io.Writer, path string,
	opts simulateOptions,
) error {
	switch {
	case opts.pace < 0:
		return fmt.Errorf("--pace: expected a number above 0, such as 1000, found %g", opts.pace)
	case opts.stdin && opts.files > 0:
		return errors.New("--files, --stdin: expected one of them: standard input says how many " +
			"files there are")
	case opts.pace > 0 && !opts.stdin:
		return errors.New("--pace: expected --stdin too; without it all times are virtual, and " +
			"the simulation never waits")
	}
	if err := opts.checkShards(); err != nil {
		return err
	}
	if opts.trace == stdoutPath {
		return errors.New("--trace: expected a file, found -; standard output has the log")
	}
	if path == stdinPath && opts.stdin {
		return errors.New("-: expected a scenario's file; with --stdin standard input has the " +
			"paths of audio files")
	}
	src, err := scenarioFile(path)
	if err != nil {
		return err
	}
	s, err := scenario.Read(src, path)
	if err != nil {
		return err
	}
	if err := setParameters(opts.set, s.Set); err != nil {
		return err
	}
	warnOfEnvironment(s, diagnostics)
	if opts.gpu != "" {
		if s.GPU, err = cardFor(s, opts.gpu); err != nil {
			return err
		}
	}
	if err := lint(s, diagnostics); err != nil {
		return err
	}
	if opts.shards > 0 {
		return simulateShards(diagnostics, s, opts)
	}
	buffered := bufio.NewWriterSize(out, 64<<10)
	o := simulator.Options{Files: opts.files, Log: buffered, Segments: opts.segments}
	if opts.stdin {
		if o.First, err = firstFile(); err != nil {
			return err
		}
		o.Source, o.EndAtCrash = pathsOf(in, buffered), true
		o.Clock = wallClock(opts.pace, buffered)
	}
	traces := processTraces{path: opts.trace}
	if opts.trace != "" {
		o.Trace, o.EachPass = traces.begin, true
	}
	outcome, err := simulator.Run(s, o)
	if ended := traces.end(); err == nil {
		err = ended
	}
	if flushed := buffered.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("writing the log: %w", flushed)
	}
	if errors.Is(err, simulator.ErrCrashed) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // so that a soak sees a crash
		select {}
	}
	if err == nil {
		_, _ = sink.Fprintf(diagnostics, "%s\n", simulated(s, outcome))
	}
	return err
}

// firstFile returns the number of the first file in the batch. A soak passes it in the environment.
func firstFile() (int, error) {
	text := os.Getenv(harness.EnvFirst)
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: expected a whole number from 1, found %q", harness.EnvFirst, text)
	}
	return n, nil
}

// pathsOf yields the files whose paths it reads, one in each line. It flushes the output before it
// waits for the next path.
func pathsOf(in io.Reader, out *bufio.Writer) iter.Seq2[simulator.File, error] {
	return func(yield func(simulator.File, error) bool) {
		for lines := bufio.NewReader(in); ; {
			if err := out.Flush(); err != nil {
				yield(simulator.File{}, fmt.Errorf("writing the log: %w", err))
				return
			}
			line, err := lines.ReadString('\n')
			if path := strings.TrimSpace(line); path != "" {
				seconds, _ := audio.WAVSeconds(path)
				if !yield(simulator.File{Path: path, Seconds: seconds}, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(simulator.File{}, fmt.Errorf("reading paths: %w", err))
				}
				return
			}
		}
	}
}

// wallClock returns a function that waits until a virtual time is reached and returns the real
// time. The parameter pace is the number of virtual seconds in each real second. With a pace of 0,
// the function does not wait.
func wallClock(pace float64, out *bufio.Writer) func(seconds float64) time.Time {
	began := time.Now()
	return func(seconds float64) time.Time {
		if pace > 0 {
			if wait := time.Until(began.Add(time.Duration(seconds / pace * float64(
				time.Second)))); wait > 0 {
				_ = out.Flush() // an error comes again at the next write
				time.Sleep(wait)
			}
		}
		return time.Now().UTC()
	}
}

// simulated returns a summary of a simulated run in one line.
func simulated(s *scenario.Scenario, o *simulator.Outcome) string {
	text := fmt.Sprintf("%s, %d failed, peak %s allocated, %s reserved of %s; %.1f audio "+
		"hours per hour",
		wording.Plural(o.Files, "file"), o.Failed, record.FormatBytes(o.Peak.Allocated),
		record.FormatBytes(o.Peak.Reserved), record.FormatBytes(s.GPU.Total),
		o.AudioHoursPerHour())
	if o.FirstPressure > 0 {
		text += fmt.Sprintf("; cached memory had to be released from file %d on", o.FirstPressure)
	}
	if f := o.FirstFailure; f != nil {
		what := "failure"
		if f.OOM != nil {
			what = "out of memory"
		}
		text += fmt.Sprintf("; first %s in file %d: %s", what, f.File, f.What)
		if f.Recovered {
			text += ", recovered"
		}
	}
	return text
}

// A processTraces writes the requests to a simulation's allocator as traces for vramsoak replay.
// Each process gets its own file: PATH for the first process, PATH.2 for the second, and so on.
type processTraces struct {
	path      string
	processes int
	file      *os.File
	w         *bufio.Writer
	line      []byte
	err       error // the first error
}

// begin begins the trace of a process.
func (t *processTraces) begin(conf string, card allocator.DeviceConfig) func(trace.Op) {
	_ = t.end() // an error comes again at the end
	t.processes++
	path := t.path
	if t.processes > 1 {
		path = fmt.Sprintf("%s.%d", t.path, t.processes)
	}
	f, err := os.Create(path)
	if err != nil {
		t.failed(err)
		return nil
	}
	t.file, t.w = f, bufio.NewWriterSize(f, 64<<10)
	_, _ = fmt.Fprintf(t.w, "# vramsoak replay %s --capacity %d --overhead %d --conf %s\n",
		sink.Shell(path), card.Total,
		card.Overhead, sink.Shell(conf))
	return func(op trace.Op) {
		t.line = append(op.AppendTo(t.line[:0]), '\n')
		_, _ = t.w.Write(t.line) // an error comes again at the end
	}
}

// end ends the current trace. It returns the first error of all traces so far.
func (t *processTraces) end() error {
	if t.file == nil {
		return t.err
	}
	t.failed(t.w.Flush())
	t.failed(t.file.Close())
	if t.err == nil {
		stderr.Printf("wrote %s\n", t.file.Name())
	}
	t.file = nil
	return t.err
}

func (t *processTraces) failed(err error) {
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("writing the trace: %w", err)
	}
}
