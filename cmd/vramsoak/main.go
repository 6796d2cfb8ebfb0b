// Vramsoak soaks GPU pipelines: it runs them over long batches, reads the memory checkpoints that
// they log, and fails if they do not free memory.
//
// See vramsoak --help, and the README for how to soak a pipeline of your own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/secret"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// Exit codes, as every command's help states them.
const (
	exitPass      = 0
	exitFail      = 1
	exitTrouble   = 2
	exitUndecided = 3
)

// The last lines of a command's help: verdictStatus for commands that judge, plainStatus for all
// others.
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

// All output goes through these sinks, because a name may come from anywhere and contain control
// characters.
var (
	stdout = sink.NewTerminal(os.Stdout)
	stderr = sink.NewTerminal(os.Stderr)
)

func main() {
	quitAsTerm()
	endAsProcess1()
	code := run(os.Args[1:])
	_ = errors.Join(stdout.Close(), stderr.Close()) // write errors were reported already
	os.Exit(code)
}

// run runs the command line and returns the exit code. It is the only function that turns errors
// into exit codes.
func run(args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	addCompletion(root)
	defer removeCopies()
	err := root.ExecuteContext(context.Background())
	if failed := stdout.Err(); failed != nil {
		err = incomplete(err, failed)
	}
	if verdict, ok := errors.AsType[verdictError](err); ok {
		switch check.Verdict(verdict) {
		case check.Fail:
			return exitFail
		case check.Undecided:
			return exitUndecided
		}
		return exitPass
	}
	if ended, ok := errors.AsType[signalError](err); ok {
		return ended.exitCode()
	}
	if err != nil {
		printError(err, args...)
		return exitTrouble
	}
	return exitPass
}

// printError prints an error to stderr, without credentials. The error may quote args, the
// arguments of the command line.
func printError(err error, args ...string) {
	message := shownIn(secret.Credentials(string(sink.Error(err, args...))))
	_ = writeError(stderr, message, textOptions(stderr)) // there is nobody to tell
}

// writeError writes an error. On a terminal it folds lines, except for indented ones, which may be
// lines of a file to copy. In a pipe, a program such as grep looks for a whole line.
func writeError(w io.Writer, message string, opts text.Options) error {
	folded := text.NewFolder(w, opts)
	for line := range strings.Lines("vramsoak: " + message + "\n") {
		to := io.Writer(folded)
		if !opts.Terminal || strings.HasPrefix(line, " ") {
			to = w
		}
		if _, err := io.WriteString(to, line); err != nil {
			return err
		}
	}
	return nil
}

// incomplete returns the error of a command that could not write all of its output. It replaces the
// verdict, and the errors that wrap the failed write.
func incomplete(err, failed error) error {
	var others []error
	for _, e := range splitJoined(err) {
		if _, verdict := errors.AsType[verdictError](e); !verdict && !errors.Is(e, failed) {
			others = append(others, e)
		}
	}
	return errors.Join(append(others, fmt.Errorf("writing to standard output: %w; what was "+
		"printed is not complete", withoutPath(failed)))...)
}

// A verdictError is the verdict of a command that has printed its result and did not pass.
type verdictError check.Verdict

func (v verdictError) Error() string { return "verdict: " + string(v) }

// verdict returns nil if the report's verdict is pass, else a verdictError.
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

  # Soak your own pipeline: one process for all files, which shows leaks
  vramsoak soak --files audio/ -- python transcribe.py --list {list}

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
	foldHelp(root)
	root.SetFlagErrorFunc(flagTrouble)
	choiceVar(root.PersistentFlags(), &colors, "color", "auto", colorModes,
		"auto, always or never; auto obeys NO_COLOR, "+
			"FORCE_COLOR and CLICOLOR_FORCE")
	for _, cmd := range []*cobra.Command{newSoakCommand(), newCheckCommand(), newCompareCommand()} {
		root.AddCommand(cmd)
	}
	validate := newValidateCommand()
	validate.SetHelpTemplate(template + validateStatus)
	root.AddCommand(validate)
	for _, cmd := range []*cobra.Command{
		newBaselineCommand(), newHistoryCommand(), newCalibrateCommand(), newParseCommand(),
		newPlotCommand(), newReportCommand(), newExportCommand(), newSimulateCommand(),
		newSnapshotCommand(), newReplayCommand(), newProfileCommand(), newFixturesCommand(),
		newJobCommand(),
		newDoctorCommand(),
		newSchemaCommand(), newDialectsCommand(),
	} {
		cmd.SetHelpTemplate(template + plainStatus)
		root.AddCommand(cmd)
	}
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = knownTopic
	}
	readBuckets(root)
	checkBeforehand(root)
	addCompletions(root)
	return root
}

// addCompletion adds the command completion, which refuses shells that it does not know. The
// command writes to the output that root has now.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args = wantsNone
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// version returns the version that the Go toolchain recorded when it built the program. A build
// from a checkout gets its version from the commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// quitAsTerm makes SIGQUIT (Ctrl-\) act like SIGTERM. By default, a Go program prints the stacks of
// all goroutines and dies.
func quitAsTerm() {
	if signal.Ignored(syscall.SIGQUIT) { // a shell ignores it for background processes
		return
	}
	quit := make(chan os.Signal, 2)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for range quit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // a process may always signal itself
		}
	}()
}

// interruptible is true while a command handles signals itself, such as in [onInterrupt].
var interruptible atomic.Bool

// endAsProcess1 makes signals end this process if it is the first one of a container. By default
// the kernel does not let such a process die of a signal, and the Go runtime then exits with 2.
// That code would say that another try is of no use.
func endAsProcess1() {
	if os.Getpid() != 1 {
		return
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range ends {
			if number, is := s.(syscall.Signal); is && !interruptible.Load() {
				os.Exit(signalError(number).exitCode())
			}
		}
	}()
}

// onInterrupt returns a context that ends at the first Ctrl-C, SIGTERM, SIGQUIT or SIGHUP (a closed
// terminal). The cause of its end is then a [signalError]. At the second signal onInterrupt closes
// the channel kill.
func onInterrupt(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	killed := make(chan struct{})
	interruptible.Store(true)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// The run must continue if the reader of the output dies, or if a file reaches its size limit:
	// the write then fails, and the error is reported. Ignoring these signals would have the same
	// effect, but the pipeline would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			stderr.Printf("\nending the pipeline; interrupt again to kill it\n")
			number, _ := s.(syscall.Signal) // every signal on Linux is one
			cancel(signalError(number))
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
		interruptible.Store(false)
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
