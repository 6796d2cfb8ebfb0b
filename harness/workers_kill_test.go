package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

const mortalFiles = 6

// mortals runs a harness on two GPUs that a test kills. Its arguments are DIR FEED and, for a run
// that is resumed, "resume".
func mortals(args []string) {
	o, err := RunAll(context.Background(), mortalsConfig(args[0], Feed(args[1]), len(args) > 2),
		twoGPUs)
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

// TestWorkersKilledAtAnyInstant kills runs on two GPUs at random times and resumes each until it is
// done. Each file must be done once, on one of the GPUs.
func TestWorkersKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	seed, cases := killing(t, 9) // each feed with each victim
	feeds := []Feed{FeedList, FeedStdin, FeedProcess}
	victims := []victim{harnessDies, pipelineDies, machineDies}
	sizes := map[Feed]int64{}
	for _, feed := range feeds {
		dir := t.TempDir()
		if _, err := RunAll(t.Context(), mortalsConfig(dir, feed, false), twoGPUs); err != nil {
			t.Fatal(err)
		}
		sizes[feed] = (&crasher{logs: workerPaths(dir)}).written()
	}
	const at = 3
	next := make(chan int)
	var pool sync.WaitGroup
	for range at {
		pool.Go(func() {
			for n := range next {
				dir, feed := t.TempDir(), feeds[n%len(feeds)]
				k := killedTeam{feed: feed, dir: dir, crasher: crasher{
					random: rand.New(rand.NewPCG(seed, uint64(n))),
					dies:   victims[n/len(feeds)%len(victims)], program: "mortals",
					logs: workerPaths(dir), size: sizes[feed],
				}}
				if err := k.run(t.Context()); err != nil {
					t.Errorf("case %d: %s, feed %s: %v\nlogs:\n%s", n, k.dies, k.feed, err,
						strings.Join(teamLogs(k.dir), "\n\n"))
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

// A killedTeam is one case of TestWorkersKilledAtAnyInstant.
type killedTeam struct {
	crasher
	feed Feed
	dir  string
}

func (k *killedTeam) run(ctx context.Context) error {
	o, err := k.survive(ctx, []string{k.dir, string(k.feed)},
		func(ctx context.Context) (*Outcome, error) {
			return RunAll(ctx, mortalsConfig(k.dir, k.feed, true), twoGPUs)
		})
	if err != nil {
		return err
	}
	return k.judge(o)
}

func (k *killedTeam) judge(o *Outcome) error {
	if o.Files != mortalFiles || o.Counts[record.StatusOK] != mortalFiles {
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
		if f.Status == record.StatusOK {
			ends[f.Index]++
		}
	}
	if want := map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}; !cmp.Equal(ends, want) {
		return fmt.Errorf("how often files ended well: %v", ends)
	}
	if last := tl.LastAttempts(); len(last) != mortalFiles || len(tl.Runs) != 2 ||
		tl.Runs[1].Batch != 0 {
		return fmt.Errorf("%d files in %d runs", len(last), len(tl.Runs))
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check == check.Completeness && f.Subject != "processes" && f.Verdict != check.Pass {
			return fmt.Errorf("finding %+v", f)
		}
	}
	return nil
}
