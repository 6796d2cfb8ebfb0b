// Vramsoak soaks GPU pipelines over long batches, reads the memory checkpoints that they log, and
// fails if memory is not given back.
//
// See vramsoak --help, and the README for how to soak a pipeline of your own.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/secret"
	"vramsoak/reports/sink"
)

// Exit codes, as every command's help states them.
const (
	exitPass      = 0
	exitFail      = 1
	exitTrouble   = 2
	exitUndecided = 3
)

// The end of a command's help: for commands that judge, and for the others.
const (
	verdictStatus = `
EXIT STATUS
  0  pass
  1  a check failed
  2  trouble: wrong usage, input that cannot be read, nothing in it to judge
  3  undecided: the log cannot tell; the report says what would decide it
`
	plainStatus = `
EXIT STATUS
  0  done
  2  trouble: wrong usage, input that cannot be read
`
)

// All output goes through these: a name in it may come from anywhere and hold control characters.
var (
	stdout = sink.NewTerminal(os.Stdout)
	stderr = sink.NewTerminal(os.Stderr)
)

func main() {
	quitAsTerm()
	code := run(os.Args[1:])
	_ = errors.Join(stdout.Close(), stderr.Close()) // write errors were reported already
	os.Exit(code)
}

// run is the whole program except for the exit. Only here an error becomes an exit code.
func run(args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if verdict, ok := errors.AsType[verdictError](err); ok {
		switch check.Verdict(verdict) {
		case check.Fail:
			return exitFail
		case check.Undecided:
			return exitUndecided
		}
		return exitPass
	}
	if err != nil {
		stderr.Printf("vramsoak: %s\n",
			sink.Safe(secret.Credentials(string(sink.Error(err, args...)))))
		return exitTrouble
	}
	return exitPass
}

// A verdictError is the verdict, other than pass, of a command that has printed its result.
type verdictError check.Verdict

func (v verdictError) Error() string { return "verdict: " + string(v) }

// verdict returns nil for a pass.
func verdict(r *check.Report) error {
	if r.Verdict == check.Pass {
		return nil
	}
	return verdictError(r.Verdict)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "vramsoak",
		Short: "Soak GPU pipelines over long batches and fail if memory is not given back",
		Long: `vramsoak runs a GPU pipeline over a long batch of files, reads the memory
checkpoints that the pipeline logs, and fails the build if memory is not given back.`,
		Example: `  # Judge a log that you have
  vramsoak check run.log

  # Soak your own pipeline: one process a file, each killed after 10 minutes
  vramsoak soak --files audio/ --timeout 10m -- python transcribe.py {}

  # See where the memory goes
  vramsoak plot run.log -o memory.png`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          wantsNone,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	template := root.HelpTemplate()
	root.SetHelpTemplate(template + verdictStatus)
	root.SetFlagErrorFunc(flagTrouble)
	for _, cmd := range []*cobra.Command{newSoakCommand(), newCheckCommand(), newCompareCommand()} {
		root.AddCommand(cmd)
	}
	validate := newValidateCommand()
	validate.SetHelpTemplate(template + validateStatus)
	root.AddCommand(validate)
	for _, cmd := range []*cobra.Command{
		newBaselineCommand(), newHistoryCommand(), newCalibrateCommand(), newParseCommand(),
		newPlotCommand(), newSimulateCommand(),
		newSnapshotCommand(), newReplayCommand(), newProfileCommand(), newFixturesCommand(),
		newDoctorCommand(),
		newSchemaCommand(), newDialectsCommand(),
	} {
		cmd.SetHelpTemplate(template + plainStatus)
		root.AddCommand(cmd)
	}
	refuseDSNs(root)
	return root
}

// version returns the module's version, which the Go toolchain recorded when it built the program.
// In a checkout it is made from the commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// quitAsTerm makes SIGQUIT (Ctrl-\) act as SIGTERM. Otherwise the program would end with the stacks
// of its goroutines.
func quitAsTerm() {
	if signal.Ignored(syscall.SIGQUIT) { // as a shell has it for what it runs in the background
		return
	}
	quit := make(chan os.Signal, 2)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for range quit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // cannot fail for one's own process
		}
	}()
}

// onInterrupt ends the context at the first Ctrl-C, SIGTERM, SIGQUIT or, when the terminal is
// closed, SIGHUP. At the second it closes kill.
func onInterrupt(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	killed := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// If the reader of our output ends, writes to it fail, but the run must go on. If we ignored
	// the signal, the pipeline would inherit that. The same holds for a limit on the size of files:
	// the write fails, and is reported.
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
