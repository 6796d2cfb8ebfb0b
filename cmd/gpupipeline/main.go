//go:build whisper

// Gpupipeline transcribes a batch of audio files with whisper.cpp, finds who speaks with
// sherpa-onnx, and logs its memory at every step.
//
// It is a program of its own, because its engines may crash. See --help.
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
	"runtime/debug"
	"syscall"

	"vramsoak/pipeline"
	"vramsoak/pipeline/onnx"
	"vramsoak/pipeline/whisper"
	"vramsoak/reports/sink"
)

// Everything is printed through this sink, because names may contain anything.
var (
	stdout = sink.NewTerminal(os.Stdout)
	stderr = sink.NewTerminal(os.Stderr)
)

func main() {
	// A crash in C must end the process with a signal, not with Go's exit code 2, which in this
	// program means wrong usage. An abort, as by ggml's assertions, then ends the process at once.
	// For other crashes, Go's runtime first prints where they occurred.
	C.let_aborts_through()
	debug.SetTraceback("crash")
	if err := waitPassively(); err != nil {
		stderr.Printf("gpupipeline: %s\n", sink.Error(err, os.Args[1:]...))
		os.Exit(2)
	}
	if len(os.Args) == 2 && os.Args[1] == workerFlag {
		os.Exit(serve())
	}
	os.Exit(run(os.Args[1:]))
}

// waitPassively makes the threads of OpenMP sleep while they wait for each other. By default they
// spin, and on busy CPUs they then keep the CPU from the threads that they wait for. Ten files on 2
// busy CPUs took 14 to 18 s with spinning threads, and 3 s with sleeping threads. OpenMP reads its
// environment before main begins, so the process executes itself again. Its pid stays the same.
func waitPassively() error {
	const policy = "OMP_WAIT_POLICY"
	if os.Getenv(policy) != "" {
		return nil
	}
	if err := os.Setenv(policy, "passive"); err != nil {
		return err
	}
	return syscall.Exec(executable(), os.Args, os.Environ())
}

// executable returns the path of this program's file. It returns /proc/self/exe only if the file
// was removed or replaced since the start: the system names a process by the path that was
// executed, and tools would show the process as "exe".
func executable() string {
	const always = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return always
	}
	file, err1 := os.Stat(path)
	running, err2 := os.Stat(always)
	if errors.Join(err1, err2) != nil || !os.SameFile(file, running) {
		return always
	}
	return path
}

func run(args []string) int {
	o, err := parse(args, os.Getenv)
	if errors.Is(err, flag.ErrHelp) {
		stdout.Printf("%s", sink.Safe(usage))
		return 0
	}
	var result pipeline.Result
	if err == nil {
		ctx := untilSignal()
		if o.version {
			err = printVersion(stdout)
		} else {
			for _, notice := range o.notices {
				stderr.Printf("gpupipeline: %s\n", notice)
			}
			result, err = process(ctx, o)
		}
	}
	if stop, ok := errors.AsType[interrupt](err); ok {
		stderr.Printf("gpupipeline: %v\n", stop)
		return stop.exitCode()
	}
	if err != nil {
		stderr.Printf("gpupipeline: %s\n", sink.Error(err, os.Args[1:]...))
		return 2
	}
	if result.Failed > 0 {
		stderr.Printf("gpupipeline: %d of %d files failed\n", result.Failed, result.Files)
		return 1
	}
	return 0
}

func printVersion(w io.Writer) error {
	devices, err := whisper.Init(false)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "whisper.cpp %s\nONNX Runtime %s\n", whisper.Version(),
		onnx.Version())
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

// untilSignal returns a context that is canceled with an interrupt at the first SIGINT, SIGTERM or
// SIGQUIT. The second signal ends the process, because code in C++ may never return.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
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
