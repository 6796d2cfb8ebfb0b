package harness

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/parser/strictyaml"
)

// mistakes collects the mistakes in a configuration.
type mistakes []error

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// Validate returns an error that names every mistake in the configuration.
func (c Config) Validate() error {
	c = c.withDefaults()
	var m mistakes
	c.validateFeed(&m)
	if c.OnCrash != CrashRestart && c.OnCrash != CrashStop {
		m.add("expected on-crash %s or %s, found %q%s", CrashRestart, CrashStop, c.OnCrash,
			strictyaml.Meant(string(c.OnCrash), []string{string(CrashRestart), string(CrashStop)}))
	}
	if c.RestartEvery < 0 {
		m.add("expected to restart every 0 (never) or more files, found %d", c.RestartEvery)
	}
	c.validateRestarts(&m)
	if err := c.MaxDeviceUsed.Validate(); err != nil {
		m = append(m, err)
	}
	c.validateTimes(&m)
	for _, entry := range c.Env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			m.add("expected an environment variable as NAME=value, found %q", entry)
		}
	}
	switch info, err := os.Stat(c.Dir); {
	case c.Dir == "":
		m.add("expected a run folder, found none")
	case err != nil:
		m.add("run folder: %w", err)
	case !info.IsDir():
		m.add("run folder: expected a folder, found the file %s", c.Dir)
	}
	return errors.Join(m...)
}

// validateFeed adds to m the mistakes in the command and in how it gets its files.
func (c Config) validateFeed(m *mistakes) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		m.add("expected a command to run, found none; put it after --")
	}
	marked := FeedOf(c.Command)
	switch c.Feed {
	case FeedProcess:
		if marked != FeedProcess {
			m.add("expected %s in the command's arguments, where the path of the file goes, "+
				"found none", pathMark)
		}
	case FeedList:
		switch {
		case marked != FeedList:
			m.add("expected %s in the command's arguments, where the path of the list goes, "+
				"found none", listMark)
		case contains(c.Command, pathMark):
			m.add("expected %s or %s in the command's arguments, found both; "+
				"a process is given one file or a list", pathMark, listMark)
		}
	case FeedStdin, FeedNone: // marks have no meaning here
	default:
		m.add("expected feed %s, %s, %s or %s, found %q%s",
			FeedProcess, FeedList, FeedStdin, FeedNone, c.Feed, meantFeed(c.Feed))
	}
	switch {
	case c.Feed == FeedNone && len(c.Files) > 0:
		m.add("the command takes no files, but %d are to be fed; put %s or %s into its arguments, "+
			"or feed stdin", len(c.Files), pathMark, listMark)
	case c.Feed != FeedNone && len(c.Files) == 0 && c.More == nil && c.Share.Shards == 0:
		m.add("expected files to feed, found none; name them with --files")
	case c.Feed == FeedNone && c.Share.Shards > 0:
		m.add("a shard is a part of the files that are fed, and this command takes none; "+
			"put %s or %s into its arguments, or feed stdin", pathMark, listMark)
	case c.Feed == FeedNone && c.RestartEvery > 0:
		m.add("cannot restart every %d files a command that takes no files", c.RestartEvery)
	}
	for i, file := range c.Files {
		if err := validateInput(file, c.Feed); err != nil {
			m.add("file %d: %w", i+1, err)
		}
	}
}

// meantFeed returns the feed that a misspelt one may stand for, as a part of a message, or "".
func meantFeed(feed Feed) string {
	return strictyaml.Meant(string(feed), []string{
		string(FeedProcess), string(FeedList), string(FeedStdin), string(FeedNone),
	})
}

// validateInput returns an error if the harness cannot pass the file to the command by this feed.
func validateInput(f queue.Input, feed Feed) error {
	switch {
	case f.Path == "":
		return errors.New("expected a path, found an empty one")
	case strings.ContainsRune(f.Path, 0):
		return fmt.Errorf("path %q holds a NUL byte; rename the file", f.Path)
	case feed != FeedProcess && strings.ContainsAny(f.Path, "\n\r"):
		return fmt.Errorf("path %q holds a line break and cannot stand in a list; "+
			"rename the file or feed %s", f.Path, FeedProcess)
	case !(f.AudioSeconds >= 0):
		return fmt.Errorf("expected an audio length of 0 or more seconds, found %v", f.AudioSeconds)
	}
	return nil
}

// validateRestarts adds to m the mistakes in the settings for restarts, for retries, for Until and
// for Resume.
func (c Config) validateRestarts(m *mistakes) {
	for _, n := range []struct {
		name  string
		value int
	}{{"restarts", c.MaxRestarts}, {"retries of a failed file", c.RetryFailed}} {
		if n.value < 0 {
			m.add("expected a number of %s of 0 or more, found %d", n.name, n.value)
		}
	}
	restarts := c.MaxRestarts > 0 || c.BackOff > 0
	if restarts && c.OnCrash == CrashStop {
		m.add("on-crash stop ends the run at the first crash, " +
			"so that there are no restarts to limit or to delay; leave one of them out")
	}
	if (restarts || c.RetryFailed > 0) && c.Feed == FeedNone {
		m.add("cannot start anew a command that takes no files: it would begin with its first one")
	}
	if c.Until > 0 {
		switch {
		case c.Feed == FeedNone:
			m.add("cannot soak until a time with a command that takes no files: " +
				"it ends when it likes")
		case c.RetryFailed > 0:
			m.add("a soak by time does each file again in every round; " +
				"leave out the retries of failed files")
		}
	}
	if c.Resume && c.Feed == FeedNone {
		m.add("cannot resume a command that takes no files: it would begin with its first one; " +
			"start a new run")
	}
}

// validateTimes adds to m the mistakes in the settings that are durations.
func (c Config) validateTimes(m *mistakes) {
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
			m.add("expected a %s of 0 or more, found %v", d.name, d.value)
		}
	}
	if c.MaxIdleUsed != nil && c.SettleLimit == 0 {
		m.add("expected a limit for the device to settle, where it may have at most %v in use, "+
			"found none", *c.MaxIdleUsed)
	}
}
