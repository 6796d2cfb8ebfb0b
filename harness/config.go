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
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A Feed is the way in which the harness passes files to the command.
type Feed string

// These are the ways to feed a command.
const (
	// FeedProcess starts one process per file. The harness replaces "{}" in the command's arguments by
	// the path of the file.
	FeedProcess Feed = "process"
	// FeedList starts one process for many files. The harness replaces "{list}" in the command's
	// arguments by the path of a text file that holds one path per line.
	FeedList Feed = "list"
	// FeedStdin starts one process for many files. The harness writes one path per line to the
	// standard input of the process, then closes the standard input.
	FeedStdin Feed = "stdin"
	// FeedNone starts one process that finds its files by itself. The harness then has no batch: it
	// learns of the files from the process's output.
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

// contains reports whether an argument of the command contains the mark {} or {list}.
func contains(command []string, mark string) bool {
	has := func(arg string) bool { return strings.Contains(arg, mark) }
	return slices.ContainsFunc(command, has)
}

// OnCrash says what the harness does after a process crashed: a signal killed the process, or it
// ended in the middle of a file.
type OnCrash string

// These are the values of OnCrash.
const (
	// CrashRestart makes the run go on: a new process gets the remaining files. It is the default.
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
	// Shown is the command as the log shows it; nil means Command with its secrets masked. When a run
	// is resumed, Shown must be the same as before.
	Shown []string
	// Secrets are names of flags and variables whose values must not get into the log, in addition to
	// the names that package secret knows.
	Secrets secret.Names
	Files   []queue.Input // in the order in which they are fed; a path may occur several times
	Feed    Feed

	// Timeout is how long one file may take, and how long a process may take to begin its next file; 0
	// is no limit. With FeedProcess a file begins when its process starts, so the start of the process
	// counts too.
	Timeout time.Duration
	OnCrash OnCrash
	// RestartEvery is the largest number of files that one process gets; 0 is no limit.
	RestartEvery int
	// MaxRestarts is how many crashes a run survives. After each of them another process starts; the
	// next crash ends the run. 0 is no limit.
	MaxRestarts int
	// BackOff is the wait between a crash and the start of the next process; 0 is no wait. The wait
	// doubles with each crash, up to five minutes. When a file has ended with status ok, the wait is
	// BackOff again.
	BackOff time.Duration
	// RetryFailed is how many more times a failed file is tried, after all other files are done.
	RetryFailed int
	// Until is how long the run lasts; 0 means until the batch is done. When that time is over, the
	// process may finish its current file, and then the harness ends the process.
	Until time.Duration
	// More returns further files when the harness needs more than it has, or no files at the end of
	// the batch; More may be nil. A process that works on many files gets RestartEvery of them, or
	// 10,000 if RestartEvery is 0. When a run is resumed, More must return the same files as before.
	More func() []queue.Input
	// Resume continues the run whose log is in the run folder, instead of beginning a new run.
	Resume bool

	// Share is the part of the batch that Files are, or the zero value if they are the whole batch.
	// The run then works on a shard, and each file of it has its Place in the whole batch.
	Share record.Share
	// Round is the number of files in one round of the whole batch, if the run works on a shard.
	Round int
	// Owned returns an error when another task has taken over the shard. The run then ends, because
	// what it writes no longer counts. It is nil for a run that works on the whole batch, whose log is
	// locked instead: shards may lie on a network file system, where locks cannot be relied on.
	Owned func() error
	// OnDisk is called when the log at a path is on the disk up to a size in bytes: before the first
	// process starts, and whenever a file has ended. It must not wait after the first call for a log,
	// because the pipeline waits too. Its error ends the run. With several GPUs, the workers call it
	// at the same time. It may be nil.
	OnDisk func(log string, size int64) error

	// MaxDeviceUsed is how much of a device's memory may be in use. When more is in use, the harness
	// ends the process, so that the device does not run out of memory. The zero value is no limit. If
	// Device is nil, the limit applies to the machine's memory instead.
	MaxDeviceUsed sample.Limit

	// SampleEvery is the time between two memory samples of the process.
	SampleEvery time.Duration
	// Grace is the time between asking a process to end (SIGTERM) and killing it (SIGKILL).
	Grace time.Duration

	Dir     string   // run folder, which must exist; the log in it is soak.log
	Env     []string // "NAME=value", in addition to the harness's own environment
	Version string   // of vramsoak, for the log
	Policy  string   // text of the policy file that will judge the log; "" for the defaults

	// Dialects are the log formats in which the harness reads the pipeline's lines; nil means all
	// built-in dialects. They must be the dialects of Policy, so that the check reads the same records
	// later as the harness reads now.
	Dialects *parser.Set

	// Device returns how much memory the processes with these PIDs use on each device, as
	// [meter.View.Use] does; nil if there is no device. A slow driver delays samples and nothing else.
	Device func(pids []int) ([]meter.Use, error)
	// Reaper makes the harness the parent of orphan processes: processes that the pipeline leaves
	// behind. The harness then waits for every child of this program that ends. So set Reaper only in
	// a program that starts no other processes during a run.
	Reaper bool
	// Occupied returns the memory in use on each device, as [meter.View.Occupied] does. Before the
	// first process and after the last, the run waits up to SettleLimit until the memory in use stops
	// changing; see [sample.Settle]. The run does not wait if Occupied is nil or SettleLimit is 0.
	Occupied    func() ([]meter.Occupancy, error)
	SettleLimit time.Duration
	// MaxIdleUsed is how much memory may be in use on a device before the first process starts. If
	// more is in use, the run does not begin. nil is no limit.
	MaxIdleUsed *sample.Limit
	// Kill ends the run when the harness receives from it or somebody closes it. The process then gets
	// SIGKILL at once. When the context ends instead, the process gets SIGTERM first, and SIGKILL
	// after Grace.
	Kill <-chan struct{}
	// EndEarly ends the run in an orderly way when the harness receives from it: the processes finish
	// their current files and begin no others. FailFast says in the log that this may happen.
	EndEarly <-chan EarlyEnd
	FailFast bool
	// Progress is called after each change, and once a second. Calls never overlap: during a call,
	// newer progress waits, and only the newest is passed on. A slow call delays only the return of
	// [Run].
	Progress func(Progress)
	Logger   *slog.Logger

	// gpu is the driver's number of the GPU that the worker with this configuration uses; nil for a
	// run without workers. The field workers is the number of workers. See [RunAll].
	gpu     *int
	workers int
	// selfExit is how long the descendants of a process that has ended may take to exit by themselves;
	// 0 is the default of package supervise.
	selfExit time.Duration
	// wall returns the clock time that the log shows for a point in time; nil means that time itself.
	// A test uses wall to make the clock jump.
	wall func(time.Time) time.Time
	// kill sends a signal; nil means unix.Kill. A test replaces kill by a function that does not end
	// the process.
	kill func(pid int, sig syscall.Signal) error
}

// withDefaults returns a copy of the configuration in which defaults replace zero values.
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
