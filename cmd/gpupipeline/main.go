//go:build whisper

// Gpupipeline transcribes a batch of audio files with whisper.cpp and logs its memory at every step.
//
// It is a process of its own because what runs in it may crash. See --help.
package main

/*
#include <signal.h>

static void let_aborts_through(void) { signal(SIGABRT, SIG_DFL); }
*/
import "C"

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"vramsoak/pipeline"
	"vramsoak/pipeline/whisper"
)

const usage = `gpupipeline transcribes audio files with whisper.cpp and logs its memory at every step.

USAGE
  gpupipeline --model FILE [flags] AUDIO...
  gpupipeline --model FILE [flags] --list FILE
  gpupipeline --model FILE [flags] --stdin

EXAMPLES
  gpupipeline --model tiny.bin --out transcripts audio/*.wav
  find audio -name '*.wav' | gpupipeline --model tiny.bin --stdin
  gpupipeline --model tiny.bin --fault leak:4MiB --fault crash:20 --list batch.txt

The log goes to stdout: a line for each checkpoint, and one where each file begins and ends. A file that fails does not
end the batch; why it failed is in the log and on stderr.

FLAGS
  --model FILE     model in ggml format
  --out DIR        write a JSON transcript for each file into DIR
  --list FILE      read paths from FILE, one a line
  --stdin          read paths from stdin, one a line, and work on each as it comes
  --language CODE  what is spoken; auto detects it (en)
  --threads N      CPU threads (the CPUs, at most 4)
  --device NAME    what the readings are of: host, the C allocator of this process; nvml, the GPU; auto, the GPU where
                   whisper.cpp uses one (auto)
  --first N        place in the batch of the first file (VRAMSOAK_FIRST from the environment, else 1)
  --fault SPEC     fail on purpose, to test what watches; may be given again:
                     leak:SIZE  each file keeps SIZE             keep:NAME  the cleanup Whisper or Final does not free
                     oom:N      file N asks for twice the device  crash:N    the process aborts at file N
                     hang:N     file N never ends
  --verbose        whisper.cpp's own log on stderr
  --version        print the version of whisper.cpp and the devices that it finds
  --help           print this

EXIT STATUS
  0    every file is transcribed
  1    a file failed
  2    trouble: wrong usage, no model, no files, the log cannot be written
  130  interrupted (SIGINT); the file in work was cleaned up. A second signal ends the process at once
  143  terminated (SIGTERM), likewise
`

func main() {
	// A crash in C ends the process with a signal and not with Go's exit code 2, which means wrong usage here. An abort,
	// which is how ggml's assertions end, does so at once; of other crashes Go's runtime first prints where they were.
	C.let_aborts_through()
	debug.SetTraceback("crash")
	if err := waitPassively(); err != nil {
		fmt.Fprintf(os.Stderr, "gpupipeline: %v\n", err)
		os.Exit(2)
	}
	os.Exit(run(os.Args[1:]))
}

// waitPassively has OpenMP's threads sleep where they wait for each other. By default they spin, which on CPUs that do
// other work too is waiting for a thread that is not running: ten files on 2 busy CPUs took 14 to 18 s, and asleep 3 s.
// OpenMP reads its environment before main does anything, so the process begins again with it; its pid stays.
func waitPassively() error {
	const policy = "OMP_WAIT_POLICY"
	if os.Getenv(policy) != "" {
		return nil
	}
	if err := os.Setenv(policy, "passive"); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

type options struct {
	model, out, list, language, device string
	stdin, verbose, version            bool
	threads, first                     int
	faults                             pipeline.Faults
	paths                              []string
}

func run(args []string) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return 0
	}
	var result pipeline.Result
	if err == nil {
		ctx := untilSignal()
		if o.version {
			err = printVersion(os.Stdout)
		} else {
			result, err = transcribe(ctx, o)
		}
	}
	if stop, ok := errors.AsType[interrupt](err); ok {
		fmt.Fprintf(os.Stderr, "gpupipeline: %v\n", stop)
		return stop.exitCode()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gpupipeline: %v\n", err)
		return 2
	}
	if result.Failed > 0 {
		fmt.Fprintf(os.Stderr, "gpupipeline: %d of %d files failed\n", result.Failed, result.Files)
		return 1
	}
	return 0
}

func parse(args []string) (*options, error) {
	o := &options{first: 1}
	var errs []error
	if first := os.Getenv("VRAMSOAK_FIRST"); first != "" {
		n, err := strconv.Atoi(first)
		if err != nil {
			errs = append(errs, fmt.Errorf("VRAMSOAK_FIRST: expected a file's place in the batch, from 1, found %q", first))
		} else {
			o.first = n
		}
	}
	flags := flag.NewFlagSet("gpupipeline", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.model, "model", "", "")
	flags.StringVar(&o.out, "out", "", "")
	flags.StringVar(&o.list, "list", "", "")
	flags.BoolVar(&o.stdin, "stdin", false, "")
	flags.StringVar(&o.language, "language", "en", "")
	flags.IntVar(&o.threads, "threads", min(4, runtime.NumCPU()), "")
	flags.StringVar(&o.device, "device", "auto", "")
	flags.IntVar(&o.first, "first", o.first, "")
	flags.Var(&o.faults, "fault", "")
	flags.BoolVar(&o.verbose, "verbose", false, "")
	flags.BoolVar(&o.version, "version", false, "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errors.Join(append(errs, fmt.Errorf("%w; see gpupipeline --help", err))...)
	}
	o.paths = flags.Args()
	if o.version {
		return o, nil
	}
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	expect(o.model != "", "--model: expected a model file, found none")
	expect(o.threads >= 1, "--threads: expected 1 or more, found %d", o.threads)
	expect(o.first >= 1, "--first: expected 1 or more, found %d", o.first)
	expect(o.device == "auto" || o.device == "host" || o.device == "nvml", "--device: expected auto, host or nvml, found %q", o.device)
	expect(len(o.paths) > 0 || o.list != "" || o.stdin, "expected audio files, --list or --stdin, found none")
	for _, name := range o.faults.Keep {
		expect(name == "Whisper" || name == "Final", "--fault: expected keep:Whisper or keep:Final, found keep:%s", name)
	}
	return o, errors.Join(errs...)
}

func printVersion(w io.Writer) error {
	devices, err := whisper.Init(false)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "whisper.cpp %s\n", whisper.Version())
	for _, d := range devices {
		text = fmt.Appendf(text, "%s: %s\n", d.Name, d.Description)
	}
	_, err = w.Write(text)
	return err
}

// An interrupt is the signal that ended the batch.
type interrupt struct{ signal syscall.Signal }

func (i interrupt) Error() string { return "interrupted: " + i.signal.String() }

func (i interrupt) exitCode() int { return 128 + int(i.signal) }

// untilSignal returns a context that the first SIGINT or SIGTERM cancels with an interrupt. The second one ends the
// process: work in C++ may not return.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for s := range signals {
			stop := interrupt{s.(syscall.Signal)}
			if ctx.Err() != nil {
				os.Exit(stop.exitCode())
			}
			cancel(stop)
		}
	}()
	return ctx
}
