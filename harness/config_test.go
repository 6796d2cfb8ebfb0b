package harness

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

func TestFeedOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command string
		want    Feed
	}{
		{"transcribe {}", FeedProcess},
		{"transcribe --in={} -v", FeedProcess},
		{"transcribe --batch {list}", FeedList},
		{"transcribe --all", FeedNone},
		{"", FeedNone},
	} {
		if got := FeedOf(strings.Fields(test.command)); got != test.want {
			t.Errorf("%q: found %s, expected %s", test.command, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	good := Config{Command: []string{"cmd", "{}"}, Feed: FeedProcess, Files: inputs(2), Dir: dir}
	if err := good.Validate(); err != nil {
		t.Errorf("a good configuration: %v", err)
	}
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"empty", func(c *Config) { *c = Config{} }, []string{
			"expected a command",
			"expected feed process, list", "expected files to feed", "expected a run folder",
		}},
		{
			"no mark", func(c *Config) { c.Command = []string{"cmd"} },
			[]string{"expected {} in the command's arguments"},
		},
		{
			"no list mark", func(c *Config) { c.Feed = FeedList },
			[]string{"expected {list} in the command's arguments"},
		},
		{"both marks", func(c *Config) {
			c.Command, c.Feed = []string{"cmd", "{}", "{list}"},
				FeedList
		}, []string{"found both"}},
		{
			"files for none", func(c *Config) { c.Command, c.Feed = []string{"cmd"}, FeedNone },
			[]string{"takes no files, but 2"},
		},
		{"restarts of a pipeline with its own files", func(c *Config) {
			c.Command, c.Feed, c.Files, c.RestartEvery = []string{"cmd"}, FeedNone, nil, 3
		}, []string{"cannot restart every 3 files"}},
		{
			"no files", func(c *Config) { c.Files = nil },
			[]string{"expected files to feed, found none"},
		},
		{"bad files", func(c *Config) {
			c.Command, c.Feed = []string{"cmd"}, FeedStdin
			c.Files = []queue.Input{
				{Path: ""},
				{Path: "a\nb"},
				{Path: "a\x00"},
				{Path: "a", AudioSeconds: math.NaN()},
				{Path: "ok"},
			}
		}, []string{
			"file 1: expected a path", "file 2: path \"a\\nb\" holds a line break",
			"file 3: path \"a\\x00\" holds a NUL", "file 4: expected an audio length",
		}},
		{"numbers", func(c *Config) {
			c.RestartEvery, c.Timeout, c.Grace, c.SampleEvery = -1,
				-time.Second, -1, -1
		}, []string{
			"restart every 0 (never) or more files, found -1", "timeout of 0 or more, found -1s",
			"grace of 0", "time between samples of 0",
		}},
		{
			"on-crash", func(c *Config) { c.OnCrash = "explode" },
			[]string{`expected on-crash restart or stop, found "explode"`},
		},
		{
			"environment", func(c *Config) { c.Env = []string{"A=", "B", "=c"} },
			[]string{`NAME=value, found "B"`, `NAME=value, found "=c"`},
		},
		{
			"folder is a file", func(c *Config) { c.Dir = file },
			[]string{"expected a folder, found the file"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			test.change(&cfg)
			o, err := Run(t.Context(), cfg)
			if o != nil || err == nil {
				t.Fatalf("found %+v, %v, expected an error and no run", o, err)
			}
			mistakes := strings.Split(err.Error(), "\n")
			if len(mistakes) != len(test.want) {
				t.Errorf("found %d mistakes, expected %d: %v", len(mistakes), len(test.want), err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("expected %q in %v", want, err)
				}
			}
		})
	}
	missing := good
	missing.Dir = filepath.Join(dir, "missing")
	if err := missing.Validate(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	line := good
	line.Files = []queue.Input{{Path: "a\nb"}}
	if err := line.Validate(); err != nil {
		t.Errorf("a line break in an argument: %v", err)
	}
}

// TestRunStart: the first line of the log holds the command, and the policy by which the run will
// be judged.
func TestRunStart(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 2, "LINES=both")
	cfg.Policy = "peak:\n  critical: 85%\n"
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(log, []byte("\n"))
	records := (*parser.Set)(nil).ParseLine(first, record.Position{})
	if len(records) != 1 {
		t.Fatalf("the log begins %q", first)
	}
	start, ok := records[0].(record.RunStart)
	if !ok || start.Files != 2 || start.Feed != "list" || start.Version != "test" ||
		start.Policy != cfg.Policy ||
		start.Command != supervise.CommandLine(cfg.Command) || start.Time.IsZero() {
		t.Errorf("the log begins %q", first)
	}
}
