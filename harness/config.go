package harness

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/harness/secret"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// A Feed is the way in which files reach the command.
type Feed string

// The ways to feed a command.
const (
	// FeedProcess starts one process a file; "{}" in its arguments stands for the path.
	FeedProcess Feed = "process"
	// FeedList starts one process for many files; "{list}" stands for the path of a file with one path a line.
	FeedList Feed = "list"
	// FeedStdin starts one process for many files and writes one path a line to its standard input, then closes it.
	FeedStdin Feed = "stdin"
	// FeedNone starts one process that knows its files by itself.
	FeedNone Feed = "none"
)

const (
	pathMark = "{}"
	listMark = "{list}"
)

// FeedOf is the feed that a command's arguments ask for: FeedList for "{list}", FeedProcess for "{}", else FeedNone.
func FeedOf(command []string) Feed {
	switch {
	case holds(command, listMark):
		return FeedList
	case holds(command, pathMark):
		return FeedProcess
	}
	return FeedNone
}

// holds says whether an argument of the command contains the mark.
func holds(command []string, mark string) bool {
	return slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, mark) })
}

// An OnCrash says what follows when a process dies in the middle of a file or has to be ended.
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
	DefaultSettleLimit = 30 * time.Second // for those who set it; without it the devices are not looked at
)

// An Input is one file of the batch.
type Input struct {
	Path         string  // as it is given to the command
	AudioSeconds float64 // length of the audio; 0 where unknown
}

// A Config says what to run over which files, and where the log goes.
type Config struct {
	Command []string // program and arguments
	// Shown is the command as the log has it; nil is Command with its secrets masked. A run that is
	// resumed has the one that it began with.
	Shown []string
	// Secrets are further names of flags and variables whose values the log must not have.
	Secrets secret.Names
	Files   []Input // in the order in which they are fed; a path may stand several times
	Feed    Feed

	// Timeout is how long one file may take, the start of the process included where the process is the file's own, and
	// how long the wait for the next file to begin may take; 0 is no limit.
	Timeout time.Duration
	OnCrash OnCrash
	// RestartEvery feeds at most so many files to one process; 0 is no limit.
	RestartEvery int
	// MaxRestarts ends the run instead of starting a process anew after so many crashes; 0 is no limit.
	MaxRestarts int
	// BackOff is the time between a crash and the process after it: twice as long after each crash, up to [BackOffMax],
	// until a file ends well again; 0 is none.
	BackOff time.Duration
	// RetryFailed is how many times a file that did not end well is done again, when all others are done.
	RetryFailed int
	// Until is how long the run soaks; 0 is until the batch is done. When it is over, the file that is worked on is brought
	// to its end, and the process is ended.
	Until time.Duration
	// More yields files to be fed when those that there are do not suffice, and none where there are no more; it may be nil. A
	// process that takes many files is given at least so many at once as RestartEvery says, or else 10,000. With Resume it
	// yields the files that the log knows again.
	More func() []Input
	// Resume goes on with the run whose log is in the run folder, as far as it came, rather than beginning one.
	Resume bool

	// MaxDeviceUsed ends a process when more of its device is in use than this, before it takes the device down; the
	// zero value is no limit. Where there is no Device it is the machine's memory.
	MaxDeviceUsed Limit

	// SampleEvery is the time between two looks at the process's memory.
	SampleEvery time.Duration
	// Grace is the time between asking a process to end (SIGTERM) and ending it (SIGKILL).
	Grace time.Duration

	Dir     string   // run folder, which exists; soak.log is appended to in it
	Env     []string // "NAME=value", beyond the harness's own environment
	Version string   // of vramsoak, for the log
	Policy  string   // text of the policy file by which the log is to be judged, for the log; "" for the defaults

	// Dialects are those in which the pipeline's lines are read; nil is all built-in ones. They must be those of Policy, so
	// that the log is judged by what the harness saw.
	Dialects *parser.Set

	// Device reads what the driver says the process and its descendants use, as [meter.View.Use] does; nil where there is
	// no device. A driver that takes its time delays the samples and nothing else.
	Device func(pids []int) ([]meter.Use, error)
	// Reaper makes this process the parent of what the pipeline leaves behind, and has it wait for every child that ends: for
	// programs that start no other processes while they run one.
	Reaper bool
	// Occupied reads what is on the devices, as [meter.View.Occupied] does, and SettleLimit is how long the run waits for it to
	// stop moving, before the first process and after the last: see [Settle]. Where Occupied is nil or SettleLimit is 0 it does
	// not look.
	Occupied    func() ([]meter.Occupancy, error)
	SettleLimit time.Duration
	// MaxIdleUsed is how much may be in use on a device before the first process; the run does not begin where it is more. Nil
	// is any amount.
	MaxIdleUsed *Limit
	// Kill, once it yields or is closed, ends the run as the end of the context does, but without grace.
	Kill <-chan struct{}
	// Progress is called when something changed, and once a second. Calls never overlap and are skipped while one is under
	// way, so that a slow one delays nothing but the return of [Run].
	Progress func(Progress)
	Logger   *slog.Logger

	// gpu is the GPU of the worker, of so many workers, that this is the configuration of: see [RunAll].
	gpu     *int
	workers int
	// settle is how long what a process leaves behind may take to end by itself, up to the grace but where a test sets it.
	settle time.Duration
	// wall is what the log's times are of a moment; nil is the moment's own. A test has it jump.
	wall func(time.Time) time.Time
	// kill is unix.Kill. A test puts in its place what a process is like that no signal ends.
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
	if c.settle == 0 {
		c.settle = min(settleTime, c.Grace)
	}
	if c.kill == nil {
		c.kill = unix.Kill
	}
	return c
}

// Validate names every mistake in the configuration.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if len(c.Command) == 0 || c.Command[0] == "" {
		wrong("expected a command to run, found none; put it after --")
	}
	marked := FeedOf(c.Command)
	switch c.Feed {
	case FeedProcess:
		if marked != FeedProcess {
			wrong("expected %s in the command's arguments, where the path of the file goes, found none", pathMark)
		}
	case FeedList:
		switch {
		case marked != FeedList:
			wrong("expected %s in the command's arguments, where the path of the list goes, found none", listMark)
		case holds(c.Command, pathMark):
			wrong("expected %s or %s in the command's arguments, found both; a process is given one file or a list", pathMark, listMark)
		}
	case FeedStdin, FeedNone: // what looks like a mark is an argument like any other
	default:
		wrong("expected feed %s, %s, %s or %s, found %q", FeedProcess, FeedList, FeedStdin, FeedNone, c.Feed)
	}
	switch {
	case c.Feed == FeedNone && len(c.Files) > 0:
		wrong("the command takes no files, but %d are to be fed; put %s or %s into its arguments, or feed stdin",
			len(c.Files), pathMark, listMark)
	case c.Feed != FeedNone && len(c.Files) == 0 && c.More == nil:
		wrong("expected files to feed, found none; name them with --files")
	case c.Feed == FeedNone && c.RestartEvery > 0:
		wrong("cannot restart every %d files a command that takes no files", c.RestartEvery)
	}
	for i, file := range c.Files {
		if err := file.validate(c.Feed); err != nil {
			wrong("file %d: %w", i+1, err)
		}
	}
	if c.OnCrash != CrashRestart && c.OnCrash != CrashStop {
		wrong("expected on-crash %s or %s, found %q", CrashRestart, CrashStop, c.OnCrash)
	}
	if c.RestartEvery < 0 {
		wrong("expected to restart every 0 (never) or more files, found %d", c.RestartEvery)
	}
	errs = append(errs, c.validateRestarts(), c.validateOveruse())
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"timeout", c.Timeout},
		{"time between samples", c.SampleEvery},
		{"grace", c.Grace},
		{"back-off", c.BackOff},
		{"time to soak", c.Until},
		{"limit for the device to settle", c.SettleLimit},
	} {
		if d.value < 0 {
			wrong("expected a %s of 0 or more, found %v", d.name, d.value)
		}
	}
	if c.MaxIdleUsed != nil && c.SettleLimit == 0 {
		wrong("expected a limit for the device to settle, where it may have at most %v in use, found none", *c.MaxIdleUsed)
	}
	for _, entry := range c.Env {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" || strings.ContainsRune(entry, 0) {
			wrong("expected an environment variable as NAME=value, found %q", entry)
		}
	}
	switch info, err := os.Stat(c.Dir); {
	case c.Dir == "":
		wrong("expected a run folder, found none")
	case err != nil:
		wrong("run folder: %w", err)
	case !info.IsDir():
		wrong("run folder: expected a folder, found the file %s", c.Dir)
	}
	return errors.Join(errs...)
}

// validate says why the file cannot be fed.
func (f Input) validate(feed Feed) error {
	switch {
	case f.Path == "":
		return errors.New("expected a path, found an empty one")
	case strings.ContainsRune(f.Path, 0):
		return fmt.Errorf("path %q holds a NUL byte; rename the file", f.Path)
	case feed != FeedProcess && strings.ContainsAny(f.Path, "\n\r"):
		return fmt.Errorf("path %q holds a line break and cannot stand in a list; rename the file or feed %s", f.Path, FeedProcess)
	case !(f.AudioSeconds >= 0):
		return fmt.Errorf("expected an audio length of 0 or more seconds, found %v", f.AudioSeconds)
	}
	return nil
}

// logPath is where the run's log is.
func (c Config) logPath() string { return filepath.Join(c.Dir, LogName) }
