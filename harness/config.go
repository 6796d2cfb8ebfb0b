package harness

import (
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/harness/sample"
	"vramsoak/harness/secret"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// A Feed is the way in which files reach the command.
type Feed string

// The ways to feed a command.
const (
	// FeedProcess starts one process per file; "{}" in its arguments is replaced by the path.
	FeedProcess Feed = "process"
	// FeedList starts one process for many files; "{list}" is replaced by the path of a file with
	// one path per line.
	FeedList Feed = "list"
	// FeedStdin starts one process for many files. It writes one path per line to the process's
	// standard input, then closes that.
	FeedStdin Feed = "stdin"
	// FeedNone starts one process that knows its files by itself.
	FeedNone Feed = "none"
)

const (
	pathMark = "{}"
	listMark = "{list}"
)

// FeedOf returns the feed that a command's arguments ask for: FeedList for "{list}", FeedProcess
// for "{}", else FeedNone.
func FeedOf(command []string) Feed {
	switch {
	case contains(command, listMark):
		return FeedList
	case contains(command, pathMark):
		return FeedProcess
	}
	return FeedNone
}

// contains reports whether an argument of the command contains the mark.
func contains(command []string, mark string) bool {
	has := func(arg string) bool { return strings.Contains(arg, mark) }
	return slices.ContainsFunc(command, has)
}

// OnCrash says what follows when a process dies in the middle of a file, or is killed.
type OnCrash string

// What may follow a crash.
const (
	// CrashRestart goes on with the remaining files in a new process. It is the default.
	CrashRestart OnCrash = "restart"
	// CrashStop ends the run.
	CrashStop OnCrash = "stop"
)

// Defaults of a [Config].
const (
	DefaultSampleEvery = 100 * time.Millisecond
	DefaultGrace       = 5 * time.Second
	DefaultSettleLimit = 30 * time.Second // of the command line; 0 does not look at the devices
)

// A Config says what to run over which files, and where the log goes.
type Config struct {
	Command []string // program and arguments
	// Shown is the command as the log has it; nil is Command with its secrets masked. A run that is
	// resumed keeps the one that it began with.
	Shown []string
	// Secrets are further names of flags and variables whose values must not get into the log.
	Secrets secret.Names
	Files   []queue.Input // in the order in which they are fed; a path may occur several times
	Feed    Feed

	// Timeout is how long one file may take, and how long the wait for the next file to begin may
	// take; 0 is no limit. If a process works on one file, its start counts.
	Timeout time.Duration
	OnCrash OnCrash
	// RestartEvery feeds at most this many files to one process; 0 is no limit.
	RestartEvery int
	// MaxRestarts ends the run instead of starting another process after this many crashes; 0 is no
	// limit.
	MaxRestarts int
	// BackOff is the time between a crash and the next process. It doubles with each crash, up to
	// five minutes, until a file ends well again; 0 is none.
	BackOff time.Duration
	// RetryFailed is how many times a file that failed is done again, after all others.
	RetryFailed int
	// Until is how long the run soaks; 0 is until the batch is done. When the time is over, the
	// current file is finished and the process is ended.
	Until time.Duration
	// More yields further files when those that there are do not suffice, and none at the end of
	// the batch; it may be nil. A process that takes many files is given RestartEvery at once, or
	// else 10,000. With Resume it yields the files that the log knows again.
	More func() []queue.Input
	// Resume goes on with the run whose log is in the run folder, instead of beginning one.
	Resume bool

	// MaxDeviceUsed ends a process when more of its device is in use than this, before it takes the
	// device down; the zero value is no limit. Without a Device it limits the machine's memory.
	MaxDeviceUsed sample.Limit

	// SampleEvery is the time between two looks at the process's memory.
	SampleEvery time.Duration
	// Grace is the time between asking a process to end (SIGTERM) and killing it (SIGKILL).
	Grace time.Duration

	Dir     string   // run folder, which exists; soak.log is appended to in it
	Env     []string // "NAME=value", in addition to the harness's own environment
	Version string   // of vramsoak, for the log
	Policy  string   // text of the policy file that will judge the log; "" for the defaults

	// Dialects are those in which the pipeline's lines are read; nil is all built-in ones. They
	// must be those of Policy, so that the log is judged by what the harness saw.
	Dialects *parser.Set

	// Device reads what the driver says that the process and its descendants use, as
	// [meter.View.Use] does; nil if there is no device. A slow driver delays samples and nothing
	// else.
	Device func(pids []int) ([]meter.Use, error)
	// Reaper makes this process the parent of what the pipeline leaves behind. It then waits for
	// every child that ends: for programs that start no other processes during a run.
	Reaper bool
	// Occupied reads what is in use on the devices, as [meter.View.Occupied] does. SettleLimit is
	// how long the run waits for that to stop changing, before the first process and after the
	// last; see [sample.Settle]. The run does not wait if Occupied is nil or SettleLimit is 0.
	Occupied    func() ([]meter.Occupancy, error)
	SettleLimit time.Duration
	// MaxIdleUsed is how much may be in use on a device before the first process. The run does not
	// begin if it is more. Nil is no limit.
	MaxIdleUsed *sample.Limit
	// Kill, once it yields or is closed, ends the run as the end of the context does, but without
	// grace.
	Kill <-chan struct{}
	// Progress is called when something changed, and once a second. Calls never overlap. They are
	// skipped while one is under way, so that a slow one delays nothing but the return of [Run].
	Progress func(Progress)
	Logger   *slog.Logger

	// gpu is the GPU of the worker that this is the configuration of, and workers their number; see
	// [RunAll].
	gpu     *int
	workers int
	// selfExit is how long what a process leaves behind may take to exit by itself; 0 is the
	// default.
	selfExit time.Duration
	// wall returns the clock time of a moment, for the log; nil is the moment's own. A test has it
	// jump.
	wall func(time.Time) time.Time
	// kill sends a signal; nil is unix.Kill. A test replaces it by one that no process obeys.
	kill func(pid int, sig syscall.Signal) error
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.OnCrash == "" {
		c.OnCrash = CrashRestart
	}
	if c.SampleEvery == 0 {
		c.SampleEvery = DefaultSampleEvery
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// perProcess returns how many files one process gets; 0 is all there are.
func (c Config) perProcess() int {
	if c.Feed == FeedProcess {
		return 1
	}
	return c.RestartEvery
}
