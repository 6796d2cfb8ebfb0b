package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

const mortalFiles = 6

// mortals is a harness of its own on two GPUs: DIR FEED, and "resume" where it goes on.
func mortals(args []string) {
	o, err := RunAll(context.Background(), mortalsConfig(args[0], Feed(args[1]), len(args) > 2), twoGPUs)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(o.Reason, o.Diagnostic)
}

func mortalsConfig(dir string, feed Feed, resume bool) Config {
	cfg := mortalConfig(dir, feed, resume)
	cfg.Files = inputs(mortalFiles)
	return cfg
}

// A run on two GPUs that is killed at any instant, and taken up again until it is done, does every file once, on one of them.
func TestWorkersKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("KILL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("KILL_SEED=%d", seed)
	feeds := []Feed{FeedList, FeedStdin, FeedProcess}
	victims := []victim{harnessDies, harnessDies, pipelineDies, machineDies}
	sizes := map[Feed]int64{}
	for _, feed := range feeds {
		dir := t.TempDir()
		if _, err := RunAll(t.Context(), mortalsConfig(dir, feed, false), twoGPUs); err != nil {
			t.Fatal(err)
		}
		sizes[feed] = workersSize(dir)
	}
	const cases, at = 36, 3
	next := make(chan int)
	var pool sync.WaitGroup
	for range at {
		pool.Go(func() {
			for n := range next {
				k := killedTeam{
					random: rand.New(rand.NewPCG(seed, uint64(n))), feed: feeds[n%len(feeds)], dies: victims[n%len(victims)], dir: t.TempDir(),
				}
				k.size = sizes[k.feed]
				if err := k.run(t.Context()); err != nil {
					t.Errorf("case %d: %s, feed %s: %v\nlogs:\n%s", n, k.dies, k.feed, err, strings.Join(teamLogs(k.dir), "\n\n"))
				}
			}
		})
	}
	for n := range cases {
		if t.Failed() {
			break
		}
		next <- n
	}
	close(next)
	pool.Wait()
}

func workerPaths(dir string) []string {
	var paths []string
	for _, w := range twoGPUs {
		paths = append(paths, filepath.Join(WorkerDir(dir, w.GPU), LogName))
	}
	return paths
}

func teamLogs(dir string) []string {
	var logs []string
	for _, path := range workerPaths(dir) {
		text, _ := os.ReadFile(path)
		logs = append(logs, string(text))
	}
	return logs
}

func workersSize(dir string) (size int64) {
	for _, path := range workerPaths(dir) {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// killedTeam is one case.
type killedTeam struct {
	random *rand.Rand
	feed   Feed
	dies   victim
	dir    string
	size   int64 // of the logs of a run that nothing happened to
}

func (k *killedTeam) run(ctx context.Context) error {
	args := []string{k.dir, string(k.feed)}
	for range 1 + k.random.IntN(2) {
		if err := k.strike(args); err != nil {
			return err
		}
		args = append(args[:2], "resume")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for range 3 { // a pipeline that was killed before its first file stops its worker
		o, err := RunAll(ctx, mortalsConfig(k.dir, k.feed, true), twoGPUs)
		switch {
		case err != nil:
			return err
		case o.Reason == ReasonDone:
			return k.judge(o)
		case o.Reason == ReasonInterrupted:
			return errors.New("the run hangs")
		}
	}
	return errors.New("the run stops again and again")
}

// strike runs a harness and kills when its logs have reached a length drawn at random.
func (k *killedTeam) strike(args []string) error {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envProgram+"=mortals", "GORACE=atexit_sleep_ms=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := time.After(2 * time.Minute)
	for at := k.random.Int64N(k.size + k.size/8); workersSize(k.dir) < at; {
		select {
		case err := <-ended: // before it came so far
			if err != nil {
				return fmt.Errorf("the harness: %w: %s", err, said.String())
			}
			return k.tear()
		case <-over:
			_ = cmd.Process.Kill()
			return errors.New("the run hangs")
		case <-time.After(time.Millisecond):
		}
	}
	if k.dies == pipelineDies {
		for _, pid := range meter.Tree(cmd.Process.Pid)[1:] {
			if killChild(cmd.Process.Pid, pid) > 0 {
				break
			}
		}
		select {
		case err := <-ended:
			return err
		case <-over:
			_ = cmd.Process.Kill()
			return errors.New("the run hangs")
		}
	}
	_ = cmd.Process.Kill()
	if err := <-ended; err == nil && k.dies != machineDies { // it was done before it could be killed
		return nil
	}
	return k.tear()
}

// tear leaves of each log what the end of the machine may leave, of the one more than of the other.
func (k *killedTeam) tear() error {
	if k.dies != machineDies {
		return nil
	}
	for _, path := range workerPaths(k.dir) {
		one := killed{random: k.random, dies: k.dies}
		if err := one.tear(path); err != nil {
			return err
		}
	}
	return nil
}

func (k *killedTeam) judge(o *Outcome) error {
	if o.Files != mortalFiles || o.Counts[parser.StatusOK] != mortalFiles {
		return fmt.Errorf("outcome %+v", o)
	}
	b := &parser.Builder{}
	for i, log := range teamLogs(k.dir) {
		if err := b.Read(strings.NewReader(log), fmt.Sprintf("gpu-%d", i)); err != nil {
			return err
		}
	}
	tl := b.Timeline()
	ends := map[int]int{}
	for _, f := range tl.Files {
		if f.Status == parser.StatusOK {
			ends[f.Index]++
		}
	}
	if want := map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}; !cmp.Equal(ends, want) {
		return fmt.Errorf("how often files ended well: %v", ends)
	}
	if last := tl.LastAttempts(); len(last) != mortalFiles || len(tl.Runs) != 2 || tl.Runs[1].Batch != 0 {
		return fmt.Errorf("%d files in %d runs", len(last), len(tl.Runs))
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check == check.Completeness && f.Subject != "processes" && f.Verdict != check.Pass {
			return fmt.Errorf("finding %+v", f)
		}
	}
	return nil
}
