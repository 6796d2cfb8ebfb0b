package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"vramsoak/harness/sample"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A gpu is a device whose readings are given values, one after the other. The last value stays.
type gpu struct {
	mu      sync.Mutex
	used    []int64
	holders []meter.Holder
	err     error
	reads   int
}

func (g *gpu) occupied() ([]meter.Occupancy, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	used := g.used[min(g.reads, len(g.used)-1)]
	g.reads++
	return []meter.Occupancy{{
		Device: 0, GPU: 3, Used: used, Total: 1000 << 20,
		Holders: g.holders,
	}}, g.err
}

// idleLines returns the lines of a log about devices, without their times.
func idleLines(log []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(log)) {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(line, "[vramsoak] "), " ")
		if kind == "idle" || kind == "holder" || kind == "file-start" || kind == "run-end" {
			_, fields, _ := strings.Cut(rest, " ")
			if kind == "file-start" || kind == "run-end" {
				fields = "\n"
			}
			b.WriteString(kind + " " + fields)
		}
	}
	return b.String()
}

// TestDevicesInTheLog: the log shows, before the first file and after the last, how much memory is
// in use on the devices and which processes hold it.
func TestDevicesInTheLog(t *testing.T) {
	t.Parallel()
	left := bystander(t, "sleep", supervise.EnvRun+"=0123456789abcdef", supervise.EnvHarness+"=1-1")
	cfg := batchOf(t, FeedList, 2, "LINES=both")
	g := &gpu{used: []int64{9 << 20}, holders: []meter.Holder{
		{PID: left.Process.Pid, Used: 5 << 20, HasUsed: true, Here: true},
		{PID: os.Getpid(), Used: 3 << 20, HasUsed: true, Here: true},
		{PID: left.Process.Pid, Used: 1 << 20, HasUsed: true}, // in another namespace
		{PID: 1 << 30, Here: true},                            // gone
	}}
	cfg.Occupied, cfg.SettleLimit, cfg.MaxIdleUsed = g.occupied, time.Minute,
		&sample.Limit{Share: 0.01}
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	held := fmt.Sprintf(`idle device=0 gpu=3 used=9437184 total=1048576000 settled=true phase=PHASE
holder device=0 pid=%d command=%s used=5242880 ours=true
holder device=0 pid=%d command=%s used=3145728
holder device=0 pid=%d used=1048576
holder device=0 pid=1073741824
`, left.Process.Pid, os.Args[0], os.Getpid(), quotedCommand(t), left.Process.Pid)
	want := strings.Replace(held, "PHASE", "before", 1) + "file-start \nfile-start \n" +
		strings.Replace(held, "PHASE", "after", 1) + "run-end \n"
	if got := idleLines(log); got != want {
		t.Errorf("found\n%swant\n%s", got, want)
	}
}

// quotedCommand returns the command line of this process as a line of the log shows it.
func quotedCommand(t *testing.T) string {
	t.Helper()
	command, ok := supervise.CommandOf(os.Getpid())
	if !ok {
		t.Fatal("this process is not there")
	}
	line := string(record.Holder{Command: command}.AppendLine(nil))
	_, line, _ = strings.Cut(line, "command=")
	return line
}

// TestDeviceThatIsTooFull: if too much memory is in use on a device, the run does not begin. The
// error and the log name the processes that hold the memory.
func TestDeviceThatIsTooFull(t *testing.T) {
	t.Parallel()
	left := bystander(t, "sleep", supervise.EnvRun+"=0123456789abcdef", supervise.EnvHarness+"=1-1")
	cfg := batchOf(t, FeedList, 2, "LINES=both")
	g := &gpu{used: []int64{900 << 20}, holders: []meter.Holder{{
		PID:  left.Process.Pid,
		Used: 800 << 20, HasUsed: true, Here: true,
	}}}
	cfg.Occupied, cfg.SettleLimit, cfg.MaxIdleUsed = g.occupied, time.Minute,
		&sample.Limit{Bytes: 512 << 20}
	o, log, err := runOf(t.Context(), t, cfg)
	want := fmt.Sprintf("GPU 3: expected at most 512 MiB in use before the first file, "+
		"found 900 MiB of 1000 MiB, held by pid %d (%s) 800 MiB, "+
		"left by a run of vramsoak; vramsoak doctor --free ends what is left", left.Process.Pid,
		os.Args[0])
	if err == nil || err.Error() != want {
		t.Errorf("found %v, want %s", err, want)
	}
	if o == nil || o.Processes != 0 || o.Reason != ReasonStopped {
		t.Errorf("outcome %+v", o)
	}
	if got := idleLines(log); !strings.HasPrefix(got, "idle ") ||
		!strings.HasSuffix(got, "run-end \n") || strings.Contains(got, "file-start") {
		t.Errorf("the log has\n%s", got)
	}

	if !strings.Contains(string(log),
		` reason=stopped error="GPU 3: expected at most 512 MiB in use`) {
		t.Errorf("the log's end does not say why:\n%s", log)
	}

	g = &gpu{used: []int64{0}, err: errors.New("GPU is lost")}
	cfg = batchOf(t, FeedList, 2, "LINES=both")
	cfg.Occupied, cfg.SettleLimit, cfg.MaxIdleUsed = g.occupied, time.Minute,
		&sample.Limit{Bytes: 512 << 20}
	if _, _, err := runOf(t.Context(), t, cfg); err == nil ||
		!strings.Contains(err.Error(), "GPU is lost; without --max-idle-used") {
		t.Errorf("a driver that fails: %v", err)
	}
	cfg = batchOf(t, FeedList, 2, "LINES=both")
	cfg.Occupied, cfg.SettleLimit = g.occupied, time.Minute
	if o, log, err := runOf(t.Context(), t, cfg); err != nil || o.Reason != ReasonDone ||
		strings.Contains(idleLines(log), "idle") {
		t.Errorf("a driver that fails where nothing is demanded of the device: %+v, %v", o, err)
	}
}

// TestInterruptedWhileSettling: after a first Ctrl-C, and after a second, the harness no longer
// waits until the use of a device stops changing.
func TestInterruptedWhileSettling(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"context", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			kill := make(chan struct{}, 1)
			cfg := batchOf(t, FeedList, 2, "LINES=both")
			g := &gpu{used: []int64{0}}
			cfg.SettleLimit, cfg.Kill = time.Hour, kill
			cfg.Occupied = func() ([]meter.Occupancy, error) {
				if how == "kill" {
					select {
					case kill <- struct{}{}:
					default:
					}
				} else {
					cancel()
				}
				all, err := g.occupied()
				all[0].Used = int64(g.reads) // changes for ever
				return all, err
			}
			o, log, err := runOf(ctx, t, cfg)
			if err != nil || o.Reason != ReasonInterrupted || o.Processes != 0 ||
				strings.Contains(idleLines(log), "idle") {
				t.Errorf("outcome %+v, %v", o, err)
			}
		})
	}
}
