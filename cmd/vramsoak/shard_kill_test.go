package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramsoak/fixtures/s3server"
	"vramsoak/harness/bucket"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

const (
	killedShards = 8
	killedFiles  = 128
	killsPerRun  = 10
)

// TestShardsKilledAtAnyInstant plays a scheduler that loses tasks: it kills them, with or without
// what they run, asks them to end, or takes one for dead that goes on later. It starts each task
// again until its shard is complete. Every file is then done once, and the verdict is that of a run
// that nobody disturbed. KILL_SEED and KILL_CASES set the seed and the number of kills.
func TestShardsKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	seed, kills := uint64(time.Now().UnixNano()), killsPerRun
	if testing.Short() {
		kills = 3
	}
	for name, to := range map[string]func(n uint64){
		"KILL_SEED":  func(n uint64) { seed = n },
		"KILL_CASES": func(n uint64) { kills = int(n) },
	} {
		if s := os.Getenv(name); s != "" {
			n, err := strconv.ParseUint(s, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			to(n)
		}
	}
	t.Logf("KILL_SEED=%d", seed)
	want := newScheduler(t, seed).play(0)
	for n := 0; kills > 0; n++ {
		s := newScheduler(t, seed+uint64(n))
		got := s.play(min(kills, killsPerRun))
		kills -= killsPerRun
		if got != want {
			t.Errorf("run %d: %+v, expected %+v, as without kills:\n%s", n, got, want,
				strings.Join(s.story, "\n"))
		}
	}
}

// A judgement is what the verdict on a whole run says.
type judgement struct {
	Verdict string `json:"verdict"`
	Files   int    `json:"files"`
}

// A scheduler runs the tasks of the shards and starts them again, as Slurm and Kubernetes do.
type scheduler struct {
	t       *testing.T
	dir     string
	random  *rand.Rand
	running map[int]*task // by shard
	lost    []*task       // tasks that were taken for dead and still exist
	ended   chan *task
	left    int // shards that are not complete
	story   []string
	began   time.Time

	runs string        // as given by --runs
	pace time.Duration // that a checkpoint takes
	// store is the server of the bucket in which the run is, or nil if the run is in a folder.
	store *s3server.Server
}

type task struct {
	shard int
	cmd   *exec.Cmd
	err   bytes.Buffer
	code  int
}

func newScheduler(t *testing.T, seed uint64) *scheduler {
	s := &scheduler{
		t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0)), running: map[int]*task{},
		ended: make(chan *task), left: killedShards, began: time.Now(),
		runs: "runs", pace: 4 * time.Millisecond,
	}
	if err := os.Mkdir(filepath.Join(s.dir, "audio"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range killedFiles {
		path := filepath.Join(s.dir, "audio", fmt.Sprintf("%04d.wav", i+1))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *scheduler) tell(format string, args ...any) {
	at := fmt.Sprintf("%6.2f s  ", time.Since(s.began).Seconds())
	s.story = append(s.story, at+fmt.Sprintf(format, args...))
}

// play runs all shards, disturbs them so many times, and returns the verdict on the run.
func (s *scheduler) play(kills int) judgement {
	s.t.Helper()
	for n := 1; n <= killedShards; n++ {
		s.start(n)
	}
	limit := time.After(2 * time.Minute)
	next := time.NewTimer(s.span(400))
	for s.left > 0 || len(s.lost) > 0 {
		select {
		case <-next.C:
			if kills > 0 && s.left > 0 && s.disturb() {
				kills--
			}
			next.Reset(s.span(400))
		case ended := <-s.ended:
			s.end(ended)
		case <-limit:
			s.t.Fatalf("the run does not end:\n%s", strings.Join(s.story, "\n"))
		}
	}
	s.checkFiles()
	return s.judge()
}

func (s *scheduler) span(milliseconds int) time.Duration {
	return time.Duration(s.random.IntN(milliseconds*1000)) * time.Microsecond
}

func (s *scheduler) start(n int) {
	k := &task{shard: n}
	k.cmd = exec.Command("vramsoak", "soak", "--files", "audio", "--feed", "stdin", "--grace", "100ms",
		"--shard", fmt.Sprintf("%d/%d", n, killedShards), "--runs", s.runs, "--run", "r", "--",
		"pipeline", "--protocol", "--pace", s.pace.String())
	k.cmd.Dir, k.cmd.Stderr = s.dir, &k.err
	k.cmd.Env = append(os.Environ(), "COLUMNS=2000", "VRAMSOAK_NODE=n"+strconv.Itoa(n%2+1))
	if err := k.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.tell("shard %d: task %d starts", n, k.cmd.Process.Pid)
	s.running[n] = k
	go func() {
		err := k.cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			k.code = exit.ExitCode() // -1 if a signal ended it
		}
		s.ended <- k
	}()
}

// end takes note of the end of a task, and starts it again if its shard is not complete.
func (s *scheduler) end(k *task) {
	s.tell("shard %d: task %d ended with %d", k.shard, k.cmd.Process.Pid, k.code)
	takenOver := k.code == exitTrouble && strings.Contains(k.err.String(), "has taken over this shard")
	for i, lost := range s.lost {
		if lost == k {
			s.lost = append(s.lost[:i], s.lost[i+1:]...)
			// It may have been stopped before it took its lease. Then it takes over from the other.
			if k.code != exitPass && !takenOver {
				s.t.Errorf("shard %d: a task that lost its shard ended with %d:\n%s", k.shard, k.code,
					&k.err)
			}
			return
		}
	}
	delete(s.running, k.shard)
	switch {
	case k.code == exitPass:
		s.left--
	case k.code == -1 || k.code == 128+int(syscall.SIGTERM) || takenOver:
		s.start(k.shard)
	default:
		s.t.Errorf("shard %d ended with %d:\n%s", k.shard, k.code, &k.err)
		s.left--
	}
}

// disturb does something bad to a random task, and reports whether there was one.
func (s *scheduler) disturb() bool {
	var tasks []*task
	for n := 1; n <= killedShards; n++ {
		if k := s.running[n]; k != nil {
			tasks = append(tasks, k)
		}
	}
	if len(tasks) == 0 {
		return false
	}
	k := tasks[s.random.IntN(len(tasks))]
	pid := k.cmd.Process.Pid
	kill := func(pid int, sig syscall.Signal) { _ = syscall.Kill(pid, sig) } // it may have ended
	ways := 4
	if s.store != nil {
		ways = 6
	}
	switch s.random.IntN(ways) {
	case 0:
		s.tell("shard %d: kill -9 %d", k.shard, pid)
		kill(pid, syscall.SIGKILL)
	case 1:
		family := descendants(pid)
		s.tell("shard %d: its node dies: kill -9 %d %v", k.shard, pid, family)
		for _, p := range append([]int{pid}, family...) {
			kill(p, syscall.SIGKILL)
		}
	case 2:
		after := s.span(150)
		s.tell("shard %d: preempted: kill %d, and kill -9 after %v", k.shard, pid, after)
		kill(pid, syscall.SIGTERM)
		time.AfterFunc(after, func() { kill(pid, syscall.SIGKILL) })
	case 3:
		s.tell("shard %d: task %d is taken for dead, and goes on later", k.shard, pid)
		kill(pid, syscall.SIGSTOP)
		s.lost = append(s.lost, k)
		s.start(k.shard)
		time.AfterFunc(time.Second+s.span(500), func() { kill(pid, syscall.SIGCONT) })
	default:
		away := s.span(1500)
		s.tell("the store is killed, for %v", away)
		s.store.Kill()
		time.AfterFunc(away, s.store.Restart)
	}
	return true
}

// descendants returns the processes that a process has started, and those that they have.
func descendants(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // it has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// checkFiles fails the test unless every file ended well, once, in the logs that count.
func (s *scheduler) checkFiles() {
	s.t.Helper()
	times := map[int]int{}
	run := filepath.Join(s.dir, "runs/r")
	if s.store != nil {
		run = s.copyRun()
	}
	for n := 1; n <= killedShards; n++ {
		log, _, err := shard.Logs(filepath.Join(run, shard.Folder(n), "soak.log"))
		if err != nil {
			s.t.Fatal(err)
		}
		f, err := os.Open(log)
		if err != nil {
			s.t.Fatal(err)
		}
		for rec, err := range parser.Read(f, log) {
			if err != nil {
				s.t.Fatal(err)
			}
			end, ok := rec.(record.FileEnd)
			if ok && !end.Pipeline && end.Status == record.StatusOK {
				times[end.Index]++
			}
		}
		_ = f.Close()
	}
	for place := 1; place <= killedFiles; place++ {
		if times[place] != 1 {
			s.t.Errorf("file %d ended well %d times:\n%s", place, times[place],
				strings.Join(s.story, "\n"))
		}
	}
}

// judge returns the verdict of vramsoak check on the whole run.
func (s *scheduler) judge() (j judgement) {
	s.t.Helper()
	run := "runs/r"
	if s.store != nil {
		run = bucket.Join(s.runs, "r")
	}
	cmd := exec.Command("vramsoak", "check", "--format", "json", run)
	cmd.Dir = s.dir
	out, err := cmd.Output()
	if err := json.Unmarshal(out, &j); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed == (j.Verdict == "pass") {
		s.t.Errorf("the verdict is %s, and vramsoak check ended with %v", j.Verdict, err)
	}
	return j
}

// TestInterruptedWithoutStore: a task that a signal ended is started again, even if the store did
// not take the end of its log. A scheduler does not start a task again that exits with 2.
func TestInterruptedWithoutStore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError(syscall.SIGTERM))
	away := errors.New("the store is away")
	err := (&shardTask{dir: t.TempDir()}).interrupted(ctx, runfolder.Info{}, away)
	if ended, ok := errors.AsType[signalError](err); !ok || ended.exitCode() != 143 {
		t.Errorf("%v", err)
	}
}
