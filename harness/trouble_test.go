package harness

import (
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/soaklog"
)

// TestTrouble: pipelines go wrong in many ways, and the log says in which way.
func TestTrouble(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		feed   Feed
		files  int
		env    []string
		change func(*Config)
		want   string
		say    []string // in the diagnostic
	}{
		{name: "crash in a list", feed: FeedList, files: 4, env: []string{"FAULT=crash:2"}, want: `
			run 4 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			start 4 f4
			end 4 f4 ok
			exit 0
			done 4 done`},
		{
			name: "crash, stop", feed: FeedStdin, files: 4, env: []string{"FAULT=crash:2"},
			change: func(c *Config) { c.OnCrash = CrashStop },
			say:    []string{"was ended by SIGKILL", "on-crash is stop"}, want: `
			run 4 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 stopped`,
		},
		{
			name: "crash in a process a file", feed: FeedProcess, files: 3,
			env: []string{"FAULT=crash:2"}, want: `
			run 3 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "crash in a process a file, stop", feed: FeedProcess, files: 3,
			env:    []string{"FAULT=crash:2"},
			change: func(c *Config) { c.OnCrash = CrashStop },
			say:    []string{"was ended by SIGKILL"}, want: `
			run 3 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 stopped`,
		},
		{
			name: "crash without file lines", feed: FeedStdin, files: 3,
			env: []string{"LINES=none", "FAULT=crash:2"}, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "crash in the last file", feed: FeedStdin, files: 2,
			env:    []string{"FAULT=crash:2"},
			change: func(c *Config) { c.OnCrash = CrashStop }, want: `
			run 2 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 done`,
		},
		{
			name: "exit code in a file", feed: FeedStdin, files: 3, env: []string{"FAULT=exit3:2"},
			want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 failed the process exited with code 3: Traceback: no module named torch
			exit 3
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "exit code in a process a file", feed: FeedProcess, files: 2,
			env: []string{"FAULT=exit3:1"}, want: `
			run 2 process
			start 1 f1
			end 1 f1 failed the process exited with code 3: Traceback: no module named torch
			exit 3
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`,
		},
		{
			name: "exit code after the last file", feed: FeedList, files: 2,
			env:    []string{"FAULT=fail:1 exit3:-1"},
			change: func(c *Config) { c.OnCrash = CrashStop }, want: `
			run 2 list
			start 1 f1
			end 1 f1 failed no audio
			start 2 f2
			end 2 f2 ok
			exit 3
			done 2 done`,
		},
		{
			name: "a process a file says that it failed", feed: FeedProcess, files: 1,
			env: []string{"FAULT=fail:1"}, want: `
			run 1 process
			start 1 f1
			end 1 f1 failed no audio
			exit 0
			done 1 done`,
		},
		{
			name: "out of memory", feed: FeedList, files: 3, env: []string{"FAULT=oom:1 oomexit:2"},
			want: `
			run 3 list
			start 1 f1
			end 1 f1 oom
			start 2 f2
			end 2 f2 oom the process exited with code 1: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
			exit 1
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "out of memory in a process a file", feed: FeedProcess, files: 1,
			env: []string{"LINES=none", "FAULT=oomexit:1"}, want: `
			run 1 process
			start 1 f1
			end 1 f1 oom the process exited with code 1: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
			exit 1
			done 1 done`,
		},
		{
			name: "exit 0 in a file", feed: FeedStdin, files: 3, env: []string{"FAULT=exit0:2"},
			want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process exited with code 0 before the file's end
			exit 0
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "exit before any file", feed: FeedList, files: 3, env: []string{"FAULT=exit3:0"},
			say: []string{"exited with code 3 before it began a file", "no module named torch"},
			want: `
			run 3 list
			exit 3
			done 0 stopped`,
		},
		{
			name: "exit 0 before any file", feed: FeedList, files: 3,
			env: []string{"FAULT=exit0:0"},
			say: []string{"no file was seen to begin", "it printed nothing"}, want: `
			run 3 list
			exit 0
			done 0 stopped`,
		},
		{
			name: "checkpoints that do not recur", feed: FeedList, files: 3,
			env: []string{"LINES=none", "PREAMBLE=Model Loaded"},
			say: []string{"show 1 of 3 files"}, want: `
			run 3 list
			start 1 f1
			end 1 f1 ok
			exit 0
			done 1 stopped`,
		},
		{
			name: "a checkpoint before the first file", feed: FeedList, files: 2,
			env: []string{"PREAMBLE=Model Loaded"}, want: `
			run 2 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`,
		},
		{
			name: "hang", feed: FeedList, files: 3, env: []string{"FAULT=hang:2"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 3 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 timeout took longer than 8s
			exit -1 SIGTERM timeout
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "hang, stop", feed: FeedStdin, files: 3, env: []string{"FAULT=hang:2"},
			change: func(c *Config) { c.Timeout, c.OnCrash = hung, CrashStop },
			say:    []string{"on-crash is stop"}, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 timeout took longer than 8s
			exit -1 SIGTERM timeout
			done 2 stopped`,
		},
		{
			name: "hang that ignores SIGTERM", feed: FeedStdin, files: 3,
			env:    []string{"FAULT=stubborn:2"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 timeout took longer than 8s
			exit -1 SIGKILL timeout
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`,
		},
		{
			name: "hang that ends its file when asked to end", feed: FeedStdin, files: 2,
			env:    []string{"FAULT=polite:1"},
			change: func(c *Config) { c.Timeout, c.Grace = hung, time.Minute }, want: `
			run 2 stdin
			start 1 f1
			end 1 f1 timeout took longer than 8s
			exit 0 timeout
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`,
		},
		{
			name: "hang in a process a file", feed: FeedProcess, files: 2,
			env:    []string{"FAULT=stubborn:1"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 2 process
			start 1 f1
			end 1 f1 timeout took longer than 8s
			exit -1 SIGKILL timeout
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`,
		},
		{
			name: "hang before any file", feed: FeedList, files: 2, env: []string{"FAULT=hang:0"},
			change: func(c *Config) { c.Timeout = hung }, say: []string{"began no file within 8s"},
			want: `
			run 2 list
			exit -1 SIGTERM timeout
			done 0 stopped`,
		},
		{
			name: "hang after the last file", feed: FeedList, files: 1,
			env:    []string{"FAULT=hang:-1"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 1 list
			start 1 f1
			end 1 f1 ok
			exit -1 SIGTERM timeout
			done 1 done`,
		},
		{
			name: "restart every 2", feed: FeedList, files: 5,
			change: func(c *Config) { c.RestartEvery = 2 }, want: `
			run 5 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			exit 0
			start 3 f3
			end 3 f3 ok
			start 4 f4
			end 4 f4 ok
			exit 0
			start 5 f5
			end 5 f5 ok
			exit 0
			done 5 done`,
		},
		{
			name: "restart every 2 and a crash", feed: FeedStdin, files: 4,
			env:    []string{"FAULT=crash:1"},
			change: func(c *Config) { c.RestartEvery = 2 }, want: `
			run 4 stdin
			start 1 f1
			end 1 f1 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			start 4 f4
			end 4 f4 ok
			exit 0
			done 4 done`,
		},
		{
			name: "crash in a pipeline with its own files", feed: FeedNone, env: []string{"FAULT=crash:2"},
			say: []string{"was ended by SIGKILL"}, want: `
			run 0 none
			start 1 x.wav
			end 1 x.wav ok
			start 2 y.wav
			end 2 y.wav crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 stopped`,
		},
		{
			name: "hang in a pipeline with its own files", feed: FeedNone,
			env:    []string{"FAULT=hang:2", "LINES=none"},
			change: func(c *Config) { c.Timeout = hung },
			say:    []string{"began no new file within 8s"}, want: `
			run 0 none
			start 1
			end 1 ok
			start 2
			end 2 timeout took longer than 8s
			exit -1 SIGTERM timeout
			done 2 stopped`,
		},
		{
			name: "exit before the first of its own files", feed: FeedNone,
			env: []string{"FAULT=exit3:0"},
			say: []string{"exited with code 3; its last lines", "no module named torch"}, want: `
			run 0 none
			exit 3
			done 0 stopped`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, test.feed, test.files, append([]string{"LINES=both"}, test.env...)...)
			if test.change != nil {
				test.change(&cfg)
			}
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			soaklog.Expect(t, log, test.want)
			for _, say := range test.say {
				if !strings.Contains(o.Diagnostic, say) {
					t.Errorf("diagnostic %q does not say %q", o.Diagnostic, say)
				}
			}
			if len(test.say) == 0 && o.Diagnostic != "" {
				t.Errorf("unexpected diagnostic %q", o.Diagnostic)
			}
			if want := strings.Contains(test.want, "stopped"); want != (o.Reason == ReasonStopped) {
				t.Errorf("reason %q", o.Reason)
			}
		})
	}
}
