package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// quitAsTerm has SIGQUIT (Ctrl-\) do what SIGTERM does, rather than end the program with the stacks of
// its goroutines.
func quitAsTerm() {
	if signal.Ignored(syscall.SIGQUIT) { // as a shell has it for what it runs in the background
		return
	}
	quit := make(chan os.Signal, 2)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for range quit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // to oneself it cannot fail
		}
	}()
}

// onInterrupt ends the context at the first Ctrl-C, SIGTERM, SIGQUIT, or SIGHUP of a terminal that is closed, and closes
// kill at the second.
func onInterrupt(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	killed := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A reader of our output that ends, with the terminal or before, must not end the run: writes to it fail, and no more.
	// To ignore the signal would have the pipeline ignore it too.
	// Nor must a limit on the size of files: the write fails, and is told.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			stderr.Printf("\nending the pipeline; once more to kill it\n")
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			close(killed)
		case <-done:
		}
	}()
	return ctx, killed, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
