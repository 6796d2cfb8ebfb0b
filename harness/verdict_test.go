package harness

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestSupervision: whatever a process does, the run ends, the file has a status, the log is
// complete, and the verdict names what happened.
func TestSupervision(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		program string
		args    []string
		timeout time.Duration
		want    string // between the first line and the last
		files   string // the finding on the files
		left    string // the finding on processes left behind
	}{
		{
			name: "hangs", program: "sleep", timeout: hung,
			want:  "end 1 f1 timeout took longer than 8s\nexit -1 SIGTERM timeout",
			files: "hung and was ended after its timeout",
		},
		{
			name: "ignores SIGTERM", program: "daemon", timeout: hung,
			want:  "end 1 f1 timeout took longer than 8s\nexit -1 SIGKILL timeout",
			files: "hung and was ended after its timeout",
		},
		{
			name: "closes its output and lives", program: "mute", timeout: hung,
			want:  "end 1 f1 timeout took longer than 8s\nexit -1 SIGTERM timeout",
			files: "hung and was ended after its timeout",
		},
		{
			name: "forks a grandchild", program: "parent", args: []string{"group"},
			want: "end 1 f1 ok\norphan ended\nexit 0", files: "the file ended ok",
			left: "outlived process",
		},
		{
			name: "forks a daemon", program: "parent", args: []string{"daemon"},
			want: "end 1 f1 ok\norphan ended\nexit 0", files: "the file ended ok",
			left: "outlived process",
		},
		{
			name: "leaves zombies", program: "zombies", want: "end 1 f1 ok\nexit 0",
			files: "the file ended ok",
		},
		{
			name: "prints as fast as it can", program: "flood", want: "end 1 f1 ok\nexit 0",
			files: "the file ended ok",
		},
		{
			name: "prints NULs", program: "nul", want: "end 1 f1 ok\nexit 0",
			files: "the file ended ok",
		},
		{
			name: "prints nothing", program: "say", args: []string{"0"},
			want:  "end 1 f1 ok\nexit 0",
			files: "the file ended ok",
		},
		{
			name: "prints nothing and fails", program: "say", args: []string{"7"},
			want: "end 1 f1 failed the process exited with code 7\nexit 7", files: "failed",
		},
		{
			name: "is ended by a signal without a name", program: "say",
			args:  []string{"$(kill -36 $$)"},
			want:  "end 1 f1 crashed the process was ended by SIG36\nexit -1 SIG36",
			files: "crashed",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := child(t, test.program, FeedProcess, append(test.args, "{}")...)
			if test.program == "say" { // which would print the path
				cfg.Command = []string{"sh", "-c", "exit " + test.args[0], "{}"}
			}
			cfg.Files, cfg.Timeout = inputs(1), test.timeout
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil || o.Reason != ReasonDone {
				t.Fatalf("outcome %+v, %v", o, err)
			}
			short := log
			if len(log) > 1<<20 { // keeps a failure short
				short = bytes.Join([][]byte{log[:1<<10], log[len(log)-1<<10:]}, []byte("\n"))
			}
			events := strings.Join(soaklog.Events(t, log), "\n")
			if want := "run 1 process\nstart 1 f1\n" + test.want + "\ndone 1 done"; events != want {
				t.Errorf("events:\n%s\nwant:\n%s\nlog:\n%s", events, want, short)
			}
			if test.program == "flood" && bytes.Count(log, []byte("\n"+strings.Repeat("x",
				99)+"\n")) == 0 {
				t.Errorf("the log has %d bytes:\n%s", len(log), short)
			}
			if n := bytes.Count(log, []byte("x")); test.program == "flood" && n < floodSize/100*99 {
				t.Errorf("%d of %d bytes in the log", n, floodSize/100*99)
			}
			expectFindings(t, log, test.files, test.left)
			for _, word := range []string{"pid=", "grandchild "} {
				if bytes.Contains(log, []byte(word)) {
					until(t, "no process is left", dead(pidIn(t, log, word)))
				}
			}
		})
	}
}

// expectFindings fails the test unless the check of completeness on the log has these messages:
// files about the files, and left about the processes left behind. "" means that there is no such
// finding.
func expectFindings(t *testing.T, log []byte, files, left string) {
	t.Helper()
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), LogName))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"files": files, "processes left behind": left}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		say, ok := want[f.Subject]
		if f.Check != check.Completeness || !ok {
			continue
		}
		delete(want, f.Subject)
		if say == "" || !strings.Contains(f.Message, say) {
			t.Errorf("%s: %q, want %q", f.Subject, f.Message, say)
		}
		if passes := strings.Contains(say, "ended ok"); passes != (f.Verdict == check.Pass) {
			t.Errorf("%s: verdict %s, %s", f.Subject, f.Verdict, f.Message)
		}
	}
	for subject, say := range want {
		if say != "" {
			t.Errorf("completeness says nothing of %s", subject)
		}
	}
}
