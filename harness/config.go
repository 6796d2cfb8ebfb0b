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
	// FeedStdin starts one process for many files. The harness writes one path per line to the
	// standard input of the process, then closes the standard input.
	FeedStdin Feed = "stdin"
	// FeedNone starts one process that finds its files by itself. The harness has no batch then.
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

// OnCrash says what the harness does after a process crashed: it was killed, or ended in the middle
// of a file.
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
	DefaultSettleLimit = 30 * time.Second // default of --settle-limit
)

// A Config holds the command, the files, the limits of the run, and the run folder.
type Config struct {
	Command []string // program and arguments
	// Shown is the command as the log shows it; nil means Command with its secrets masked. A run that
	// is resumed must have the same Shown as before.
	Shown []string
	// Secrets are further names of flags and variables whose values must not get into the log.
	Secrets secret.Names
	Files   []queue.Input // in the order in which they are fed; a path may occur several times
	Feed    Feed

	// Timeout is how long one file may take, and how long a process may take to begin the next file; 0
	// is no limit. With FeedProcess the time that the process takes to start counts as time of its
	// file.
	Timeout time.Duration
	OnCrash OnCrash
	// RestartEvery feeds at most this many files to one process; 0 is no limit.
	RestartEvery int
	// MaxRestarts is how many crashes a run survives: after each of these crashes another process
	// starts, and the next crash ends the run. 0 is no limit.
	MaxRestarts int
	// BackOff is the wait between a crash and the start of the next process; 0 is no wait. The wait
	// doubles with each crash, up to five minutes, and falls back to BackOff when a file has ended
	// well.
	BackOff time.Duration
	// RetryFailed is how many more times a failed file is tried, after all other files.
	RetryFailed int
	// Until is how long the run lasts; 0 means until the batch is done. When the time is over, the
	// process finishes its current file, and then the harness ends the process.
	Until time.Duration
	// More returns the next files when the harness needs more than it has, and no files at the end of
	// the batch. More may be nil. A process that takes many files is given RestartEvery files, or
	// 10,000 if RestartEvery is 0. With Resume, More must return the same files again that it returned
	// before.
	More func() []queue.Input
	// Resume continues the run whose log is in the run folder, instead of beginning a new run.
	Resume bool

	// MaxDeviceUsed is how much of a device may be in use. The harness ends a process when its device
	// goes over this limit, before the memory of the device runs out. The zero value is no limit. If
	// Device is nil, MaxDeviceUsed limits the machine's memory instead.
	MaxDeviceUsed sample.Limit

	// SampleEvery is the time between two memory samples of the process.
	SampleEvery time.Duration
	// Grace is the time between asking a process to end (SIGTERM) and killing it (SIGKILL).
	Grace time.Duration

	Dir     string   // run folder, which exists; soak.log is appended to in it
	Env     []string // "NAME=value", in addition to the harness's own environment
	Version string   // of vramsoak, for the log
	Policy  string   // text of the policy file that will judge the log; "" for the defaults

	// Dialects are the dialects in which the harness reads the pipeline's lines; nil means all
	// built-in dialects. They must be the dialects of Policy, so that the check later reads the same
	// records as the harness.
	Dialects *parser.Set

	// Device asks the driver how much memory these processes use on each device, as [meter.View.Use]
	// does; nil if there is no device. A slow driver delays samples and nothing else.
	Device func(pids []int) ([]meter.Use, error)
	// Reaper makes the harness the parent of the orphan processes that the pipeline leaves behind. The
	// harness then waits for every child of this program that ends, so set Reaper only in a program
	// that starts no other processes during a run.
	Reaper bool
	// Occupied returns the memory in use on each device, as [meter.View.Occupied] does. Before the
	// first process and after the last, the run waits up to SettleLimit until the memory in use stops
	// changing; see [sample.Settle]. The run does not wait if Occupied is nil or SettleLimit is 0.
	Occupied    func() ([]meter.Occupancy, error)
	SettleLimit time.Duration
	// MaxIdleUsed is how much memory may be in use on a device before the first process starts. If
	// more is in use, the run does not begin. Nil is no limit.
	MaxIdleUsed *sample.Limit
	// Kill ends the run when the harness receives from it or it is closed. The process gets SIGKILL at
	// once; when the context ends, the process gets SIGTERM and Grace first.
	Kill <-chan struct{}
	// Progress is called after each change, and once a second. Calls never overlap: while a call is
	// under way, newer progress waits and only the newest is passed on. A slow call delays only the
	// return of [Run].
	Progress func(Progress)
	Logger   *slog.Logger

	// gpu is the GPU of the worker that has this configuration, nil for a run without workers. workers
	// is the number of workers. See [RunAll].
	gpu     *int
	workers int
	// selfExit is how long the orphan processes of a process may take to exit by themselves; 0 is the
	// default.
	selfExit time.Duration
	// wall returns the clock time that the log shows for a moment; nil means the moment itself. A test
	// uses wall to make the clock jump.
	wall func(time.Time) time.Time
	// kill sends a signal; nil means unix.Kill. A test replaces kill by a function that no process
	// obeys.
	kill func(pid int, sig syscall.Signal) error
}

// withDefaults replaces zero values by their defaults.
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

// perProcess returns how many files one process gets; 0 means all files.
func (c Config) perProcess() int {
	if c.Feed == FeedProcess {
		return 1
	}
	return c.RestartEvery
}
