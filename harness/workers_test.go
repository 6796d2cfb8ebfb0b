package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/queue"
	"vramsoak/harness/sample"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/meter"
)

// onGPU is a pipeline that prints which GPU it sees. Its arguments are the paths of its files, or
// the path of a list. Without arguments it reads the paths from standard input. WRONG says what
// goes wrong on which GPU in which file: "3:start=dead 0:f2=once 0:*=wait". The name "start" means
// before the first file, and "*" means in each file.
func onGPU(args []string) {
	gpu := os.Getenv(EnvGPU)
	wrong := map[string]string{}
	for w := range strings.FieldsSeq(os.Getenv("WRONG")) {
		at, what, _ := strings.Cut(w, "=")
		wrong[at] = what
	}
	mishap := func(path string) {
		for _, at := range []string{gpu + ":" + path, gpu + ":*"} {
			switch what := wrong[at]; {
			case at == gpu+":*" && path == "start":
			case what == "wait":
				waitForGo()
			case what == "hang":
				time.Sleep(10 * time.Minute)
			case what == "last":
				waitForGo()
				os.Exit(3)
			case what == "once": // only the first time
				mark := os.Getenv("GO") + "-" + path
				if _, err := os.Stat(mark); err != nil {
					_ = os.WriteFile(mark, nil, 0o644)
					os.Exit(3)
				}
			case what == "dead":
				fmt.Println("CUDA error: device lost")
				os.Exit(3)
			}
		}
	}
	mishap("start")
	var paths []string
	for _, arg := range args {
		if text, err := os.ReadFile(arg); err == nil {
			paths = append(paths, strings.Fields(string(text))...)
		} else {
			paths = append(paths, arg)
		}
	}
	if len(args) == 0 {
		var b bytes.Buffer
		_, _ = b.ReadFrom(os.Stdin)
		paths = strings.Fields(b.String())
	}
	for _, path := range paths {
		fmt.Println("[pipeline] file-start path=" + path)
		fmt.Printf("sees %s of %s by %s\n", os.Getenv(meter.VisibleDevices), gpu,
			os.Getenv("CUDA_DEVICE_ORDER"))
		fmt.Println("[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB | allocated=1073741824 device=0")
		mishap(path)
		fmt.Println("[GPU Memory] After Work: Allocated: 0.50GB | Reserved: 2.00GB | Total: 24.00GB | allocated=536870912 device=0")
		fmt.Println("[pipeline] file-end path=" + path + " status=ok")
	}
}

// onGPUs returns the configuration of a run of onGPU over n files. The parameter wrong is the value
// of WRONG. A file that waits goes on when [goFile] exists.
func onGPUs(t *testing.T, feed Feed, n int, wrong string) Config {
	t.Helper()
	cfg := child(t, "onGPU", feed, map[Feed][]string{
		FeedProcess: {pathMark},
		FeedList:    {listMark},
	}[feed]...)
	cfg.Files = inputs(n)
	cfg.Env = append(cfg.Env, "WRONG="+wrong, "GO="+goFile(&cfg))
	return cfg
}

// goFile returns the path of the file for which files wait in a run of onGPU.
func goFile(cfg *Config) string { return filepath.Join(cfg.Dir, "go") }

var twoGPUs = []Worker{{GPU: 0}, {GPU: 3}}

// runAll runs the configuration on the GPUs 0 and 3, and returns what [RunAll] returns, with the
// two logs. It fails the test if the run does not end.
func runAll(ctx context.Context, t *testing.T, cfg Config) (*Outcome, [2]string, error) {
	t.Helper()
	o, err := ended(t, func() (*Outcome, error) { return RunAll(ctx, cfg, twoGPUs) })
	return o, workerLogs(t, cfg.Dir), err
}

// workerLogs returns the content that the two logs have now. Any goroutine may call it.
func workerLogs(t *testing.T, dir string) (logs [2]string) {
	t.Helper()
	for i, w := range twoGPUs {
		text, err := os.ReadFile(filepath.Join(WorkerDir(dir, w.GPU), LogName))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		logs[i] = string(text)
	}
	return logs
}

// timelineOf returns the timeline of both logs.
func timelineOf(t *testing.T, logs [2]string) *timeline.Timeline {
	t.Helper()
	b := &parser.Builder{}
	for i, log := range logs {
		if err := b.Read(strings.NewReader(log), fmt.Sprintf("gpu-%d/soak.log",
			twoGPUs[i].GPU)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Timeline()
}

// filesFinding returns the finding of the check "completeness" about the files in both logs.
func filesFinding(t *testing.T, logs [2]string) check.Finding {
	t.Helper()
	r := check.Of(timelineOf(t, logs), check.DefaultPolicy())
	i := slices.IndexFunc(r.Findings,
		func(f check.Finding) bool { return f.Check == check.Completeness && f.Subject == "files" })
	return r.Findings[i]
}

// begun returns the paths of the files that began in a log, in order.
func begun(t *testing.T, log string) []string {
	t.Helper()
	var paths []string
	for rec, err := range parser.Read(strings.NewReader(log), LogName) {
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := rec.(record.FileStart); ok && !start.Pipeline {
			paths = append(paths, start.Path)
		}
	}
	return paths
}

// whenLogged waits until the log of the GPU's worker contains the text that many times. Then it
// creates the file for which a waiting pipeline looks.
func whenLogged(t *testing.T, cfg Config, gpu int, text string, times int) {
	t.Helper()
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			log, _ := os.ReadFile(filepath.Join(WorkerDir(cfg.Dir, gpu), LogName))
			if bytes.Count(log, []byte(text)) >= times {
				_ = os.WriteFile(goFile(&cfg), nil, 0o644)
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
	})
}

// TestWorkers: each file is done once, by one of the workers. The processes of a worker see the
// worker's GPU and no other. If each worker gets all of its files at once, the files go to the
// workers in turn.
func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		feed    Feed
		restart int
		dealt   bool
	}{
		{"process", FeedProcess, 0, false},
		{"list", FeedList, 0, true},
		{"stdin", FeedStdin, 0, true},
		{"list, two at a time", FeedList, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := onGPUs(t, test.feed, 7, "")
			cfg.RestartEvery = test.restart
			o, logs, err := runAll(t.Context(), t, cfg)
			if err != nil || o.Files != 7 || o.Counts[record.StatusOK] != 7 ||
				o.Reason != ReasonDone {
				t.Fatalf("outcome %+v, %v", o, err)
			}
			zero, three := begun(t, logs[0]), begun(t, logs[1])
			all := slices.Sorted(slices.Values(append(slices.Clone(zero), three...)))
			if diff := cmp.Diff([]string{"f1", "f2", "f3", "f4", "f5", "f6", "f7"},
				all); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([][]string{{"f1", "f3", "f5", "f7"}, {"f2", "f4", "f6"}},
				[][]string{zero, three}); test.dealt && diff != "" {
				t.Errorf("dealt (-want +got):\n%s", diff)
			}
			for i, sees := range []string{
				"sees 0 of 0 by PCI_BUS_ID",
				"sees 3 of 3 by PCI_BUS_ID",
			} {
				if n, of := strings.Count(logs[i], sees), strings.Count(logs[i],
					"sees "); n != of || n != len([][]string{zero, three}[i]) {
					t.Errorf("%d of %d files, %q", n, of, sees)
				}
				if !strings.Contains(logs[i], fmt.Sprintf(" workers=2 gpu=%d\n", twoGPUs[i].GPU)) {
					t.Errorf("the first line of %q", logs[i])
				}
			}
			if f := filesFinding(t, logs); f.Verdict != check.Pass ||
				f.Message != "all 7 files ended ok" {
				t.Errorf("finding %+v", f)
			}
		})
	}
}

// TestUnevenWorkers: while one GPU works on one long file, the other GPU does all other files.
func TestUnevenWorkers(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedProcess, FeedStdin} {
		cfg := onGPUs(t, feed, 6, "3:*=wait")
		cfg.RestartEvery = map[Feed]int{FeedStdin: 1}[feed]
		whenLogged(t, cfg, 0, "[vramsoak] exit ", 5)
		o, logs, err := runAll(t.Context(), t, cfg)
		if err != nil || o.Counts[record.StatusOK] != 6 {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		if zero, three := begun(t, logs[0]), begun(t, logs[1]); len(zero) != 5 || len(three) != 1 {
			t.Errorf("%s: GPU 0 did %v, GPU 3 did %v", feed, zero, three)
		}
	}
}

// TestWorkerThatDiesForGood: if a GPU is lost, the other GPU does its files, and the verdict says
// that a worker was stopped.
func TestWorkerThatDiesForGood(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedList, FeedStdin} {
		o, logs, err := runAll(t.Context(), t, onGPUs(t, feed, 6, "3:start=dead"))
		if err != nil || o.Counts[record.StatusOK] != 6 || o.Reason != ReasonStopped ||
			!strings.HasPrefix(o.Diagnostic, "GPU 3: the process (pid ") ||
			!strings.Contains(o.Diagnostic, "device lost") {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		if zero := begun(t, logs[0]); len(zero) != 6 {
			t.Errorf("GPU 0 did %v", zero)
		}
		f := filesFinding(t, logs)
		if f.Verdict != check.Fail || !strings.HasPrefix(f.Message,
			"the worker of GPU 3 was stopped: the process (pid ") ||
			!strings.HasSuffix(f.Message,
				"exited with code 3 before it began a file (error: device lost); 6 of 6 files ended ok") {
			t.Errorf("finding %+v", f)
		}
	}
}

// TestWorkerThatMayNotRestart: the processes of one GPU crash in every file, so its worker stops
// after MaxRestarts restarts. The other GPU waits in its first file until then, so that files are
// left for both.
func TestWorkerThatMayNotRestart(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 6, "3:*=dead 0:f1=wait")
	cfg.MaxRestarts = 1
	whenLogged(t, cfg, 3, "[vramsoak] run-end ", 1)
	o, logs, err := runAll(t.Context(), t, cfg)
	if err != nil || o.Counts[record.StatusOK] != 4 || o.Counts[record.StatusFailed] != 2 ||
		o.Reason != ReasonStopped {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if zero, three := begun(t, logs[0]), begun(t, logs[1]); len(zero) != 4 || len(three) != 2 {
		t.Errorf("GPU 0 did %v, GPU 3 did %v", zero, three)
	}
}

// TestFilesOfACrashGoBack: the files that a process did not begin before it crashed go back to the
// queue. In this test the other worker takes them.
func TestFilesOfACrashGoBack(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedList, 8, "3:f2=dead")
	cfg.BackOff = time.Hour // GPU 3 does nothing more
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for strings.Count(workerLogs(t, cfg.Dir)[0], "[vramsoak] exit ") < 2 && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	o, logs, err := runAll(ctx, t, cfg)
	if err != nil || o.Counts[record.StatusOK] != 7 || o.Counts[record.StatusFailed] != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if diff := cmp.Diff([]string{"f1", "f3", "f5", "f7", "f4", "f6", "f8"},
		begun(t, logs[0])); diff != "" {
		t.Errorf("files of GPU 0 (-want +got):\n%s", diff)
	}
}

// TestRetryStaysOnItsGPU: a failed file is retried on the GPU on which it failed.
func TestRetryStaysOnItsGPU(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedProcess, FeedList} {
		cfg := onGPUs(t, feed, 4, "0:f1=once 3:f2=once")
		cfg.RetryFailed = 1
		o, logs, err := runAll(t.Context(), t, cfg)
		if err != nil || o.Counts[record.StatusOK] != 4 || o.Reason != ReasonDone {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		for i, path := range []string{"f1", "f2"} {
			if n := strings.Count(strings.Join(begun(t, logs[i]), " "), path); n != 2 {
				t.Errorf("%s: %s began %d times on its GPU", feed, path, n)
			}
		}
		if f := filesFinding(t, logs); f.Verdict != check.Pass ||
			f.Message != "all 4 files ended ok; 2 files needed a retry" {
			t.Errorf("finding %+v", f)
		}
	}
}

// TestWorkersStopTogether: with CrashStop, a crash of one worker ends the whole run.
func TestWorkersStopTogether(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 6, "3:f2=last 0:f1=hang")
	cfg.OnCrash = CrashStop
	whenLogged(t, cfg, 0, "Before Work", 1)
	o, logs, err := runAll(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonStopped {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	f := filesFinding(t, logs)
	if f.Verdict != check.Fail || !strings.Contains(f.Message, "4 files never started") ||
		!strings.Contains(f.Message, "the worker of GPU 0 was interrupted") ||
		!strings.Contains(f.Message, "the worker of GPU 3 was stopped") {
		t.Errorf("finding %+v", f)
	}
}

// TestInterruptedWorkers: a first Ctrl-C (the context ends) interrupts all workers, and a second
// Ctrl-C (Config.Kill) reaches all workers too.
func TestInterruptedWorkers(t *testing.T) {
	t.Parallel()
	for _, kills := range []bool{false, true} {
		cfg := onGPUs(t, FeedList, 6, "0:f1=wait 3:f2=wait")
		kill := make(chan struct{}, 1)
		cfg.Kill = kill
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for {
				logs := workerLogs(t, cfg.Dir)
				if strings.Contains(logs[0], "Before Work") &&
					strings.Contains(logs[1], "Before Work") || ctx.Err() != nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			if kills {
				kill <- struct{}{}
			} else {
				cancel()
			}
		}()
		o, logs, err := runAll(ctx, t, cfg)
		cancel()
		if err != nil || o.Reason != ReasonInterrupted || o.Counts[record.StatusFailed] != 2 {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		f := filesFinding(t, logs)
		if !strings.Contains(f.Message, "4 files never started, the run was interrupted; 0 of 6") {
			t.Errorf("finding %+v", f)
		}
	}
}

// TestWorkersUntil: a run with Until feeds further files to both GPUs. When the time is over, each
// GPU finishes its current file.
func TestWorkersUntil(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedProcess, FeedStdin} {
		cfg := onGPUs(t, feed, 2, "")
		cfg.Until = 500 * time.Millisecond
		cfg.More = func() []queue.Input { return inputs(2) }
		o, logs, err := runAll(t.Context(), t, cfg)
		if err != nil || o.Reason != ReasonDone || o.Files < 2 ||
			o.Counts[record.StatusOK] != o.Files {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		tl := timelineOf(t, logs)
		if len(tl.Files) != o.Files || len(tl.LastAttempts()) != o.Files {
			t.Errorf("%d files, %d of them different, want %d", len(tl.Files),
				len(tl.LastAttempts()), o.Files)
		}
	}
}

// TestWorkersDevices: no process starts if too much memory is in use on one of the devices.
func TestWorkersDevices(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 4, "")
	cfg.SettleLimit, cfg.MaxIdleUsed = time.Minute, &sample.Limit{Bytes: 512 << 20}
	clean, dirty := &gpu{used: []int64{0}}, &gpu{used: []int64{900 << 20}}
	o, err := RunAll(t.Context(), cfg, []Worker{
		{GPU: 0, Occupied: clean.occupied},
		{GPU: 3, Occupied: dirty.occupied},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "GPU 3: expected at most 512 MiB in use") ||
		o == nil || o.Processes != 0 {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

func TestWorkersThatCannotBe(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 2, "")
	for want, workers := range map[string][]Worker{
		"expected GPUs to work on, found none":      nil,
		"expected each GPU once, found GPU 1 again": {{GPU: 1}, {GPU: 1}},
		"expected the number of a GPU, found -1":    {{GPU: -1}},
	} {
		if _, err := RunAll(t.Context(), cfg, workers); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	none := batchOf(t, FeedNone, 0)
	none.Files = nil
	if _, err := RunAll(t.Context(), none, twoGPUs); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot share the files of a command") {
		t.Errorf("error %v", err)
	}
	missing := onGPUs(t, FeedList, 4, "")
	missing.Command[0] = filepath.Join(missing.Dir, "no-such-command")
	o, logs, err := runAll(t.Context(), t, missing)
	if !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), "no-such-command") != 1 ||
		o == nil {
		t.Errorf("outcome %+v, %v", o, err)
	}
	for _, log := range logs {
		if !strings.Contains(log, "run-end") {
			t.Errorf("log %q", log)
		}
	}
}

// TestProgressOfWorkers: combine adds up the progress of both workers, and estimates the time left
// for both together.
func TestProgressOfWorkers(t *testing.T) {
	t.Parallel()
	p := combine([]Progress{
		{Done: 4, Files: 20, GPU: 0, Elapsed: 40 * time.Second, pace: queue.Pace{
			Done: 4, Left: 16, DoneAudio: 400, LeftAudio: 1600, AudioKnown: true,
			Spent: 40 * time.Second, Since: 5 * time.Second, InWork: 1, InWorkAudio: 100,
		}},
		{Done: 6, Failed: 1, Files: 20, GPU: 3, Elapsed: 41 * time.Second, pace: queue.Pace{
			Done: 6, Left: 14, DoneAudio: 600, LeftAudio: 1400, AudioKnown: true,
			Spent: 38 * time.Second, Since: 3 * time.Second, InWork: 1, InWorkAudio: 100,
		}},
	})
	// 1000 s of audio took 40 s, and 1000 s of audio are left. Since the last end 3 s have passed.
	if p.Done != 10 || p.Failed != 1 || p.Files != 20 || !p.HasLeft || p.Left != 37*time.Second ||
		p.Elapsed != 41*time.Second || len(p.Workers) != 2 {
		t.Errorf("progress %+v", p)
	}
	// Files of 900 s and 50 s are in work, and 50 s of audio wait: 2 s.
	p = combine([]Progress{
		{Files: 10, pace: queue.Pace{
			Done: 4, Left: 6, DoneAudio: 500, LeftAudio: 1500, AudioKnown: true,
			Spent: 40 * time.Second, Since: time.Hour, InWork: 1, InWorkAudio: 900,
		}},
		{Files: 10, pace: queue.Pace{
			Done: 3, Left: 7, DoneAudio: 500, LeftAudio: 1500, AudioKnown: true,
			Spent: 40 * time.Second, Since: time.Hour, InWork: 1, InWorkAudio: 50,
		}},
	})
	if !p.HasLeft || p.Left != 2*time.Second {
		t.Errorf("while two files hang: %v left, expected 2s", p.Left)
	}
	if p := combine([]Progress{{Files: 20}, {}}); p.HasLeft {
		t.Errorf("progress of nothing %+v", p)
	}
}

// TestPeakOfWorkers: the peak of all workers is that of the GPU with the largest share in use.
func TestPeakOfWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		workers []peak
		want    peak
	}{
		{"none known", []peak{{}, {}}, peak{}},
		{"10, 5 and none", []peak{{10, 24}, {5, 24}, {}}, peak{10, 24}},
		{"the smaller GPU", []peak{{12, 80}, {11, 24}}, peak{11, 24}}, // 15 % and 46 %
		{"no totals", []peak{{5, 0}, {10, 0}}, peak{10, 0}},
		{"one total", []peak{{20, 0}, {5, 24}}, peak{5, 24}},
		{"the first", []peak{{10, 24}, {10, 24}}, peak{10, 24}},
	} {
		for range 2 {
			var all []Progress
			for _, w := range c.workers {
				all = append(all, Progress{Peak: w.bytes, Total: w.total})
			}
			p := combine(all)
			if got := (peak{p.Peak, p.Total}); got != c.want {
				t.Errorf("%s: %v give %v, want %v", c.name, c.workers, got, c.want)
			}
			slices.Reverse(c.workers)
		}
	}
}
