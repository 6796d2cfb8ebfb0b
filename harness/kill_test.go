package harness

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

const (
	killFiles   = 4
	killRetries = 9 // each kill may hit the same file
)

// mortalConfig returns the configuration of a run that a test kills and resumes.
func mortalConfig(dir string, feed Feed, resume bool) Config {
	args := map[Feed]string{FeedProcess: pathMark, FeedList: listMark, FeedStdin: "-"}[feed]
	return Config{
		Command: []string{os.Args[0], args}, Feed: feed, Files: inputs(killFiles), Dir: dir,
		Version:     "test",
		Env:         []string{envProgram + "=steady", "GORACE=atexit_sleep_ms=0"},
		Grace:       100 * time.Millisecond,
		SampleEvery: 20 * time.Millisecond, RetryFailed: killRetries, Resume: resume,
	}
}

// mortal runs a harness that a test kills. Its arguments are DIR FEED and, for a run that is
// resumed, "resume".
func mortal(args []string) {
	o, err := Run(context.Background(), mortalConfig(args[0], Feed(args[1]), len(args) > 2))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(o.Reason, o.Diagnostic)
}

// steady is a pipeline that does the same for each file. It waits a little after each line, so that
// a test can kill it between two lines. Some of its lines look like the harness's. Its argument
// says where it gets the paths of its files.
func steady(args []string) {
	paths := args
	switch text, err := os.ReadFile(args[0]); {
	case args[0] == "-":
		var b bytes.Buffer
		_, _ = b.ReadFrom(os.Stdin)
		paths = strings.Fields(b.String())
	case err == nil: // a list
		paths = strings.Fields(string(text))
	}
	for _, path := range paths {
		say := func(line string) {
			fmt.Println(line)
			time.Sleep(time.Millisecond)
		}
		reading := func(name string, allocated int64) {
			c := record.Checkpoint{Name: name}
			c.Set(record.Allocated, record.Exact(allocated))
			c.Set(record.Reserved, record.Exact(1<<30))
			c.Set(record.Total, record.Exact(8<<30))
			say(string(c.AppendLine(nil)))
		}
		say("[pipeline] file-start path=" + path)
		reading("Before Work", 1<<20)
		say("working on " + path)
		say(strings.Join(forged(killFiles), "\n"))
		reading("Before Work Cleanup", 1<<29)
		reading("After Work Cleanup", 1<<20)
		reading("After Work", 1<<20)
		say("[pipeline] file-end path=" + path + " status=ok")
	}
}

// A victim says what a case kills: one process, or all processes.
type victim string

const (
	harnessDies  victim = "harness"
	pipelineDies victim = "pipeline"
	// machineDies kills everything, as a power failure does. The log then ends anywhere, perhaps with
	// bytes of another file.
	machineDies victim = "machine"
)

// whole holds what a run that was not killed gives, for comparison.
type whole struct {
	size     int64 // of the log
	findings []check.Finding
}

// killing returns the seed of a test's random cases, and their number. The variables KILL_SEED and
// KILL_CASES set them, as make test-kill does.
func killing(t *testing.T, cases int) (seed uint64, n int) {
	t.Helper()
	seed = uint64(time.Now().UnixNano())
	var err error
	if testing.Short() {
		cases = 3
	}
	if s := os.Getenv("KILL_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("KILL_CASES"); s != "" {
		if cases, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("KILL_SEED=%d KILL_CASES=%d", seed, cases)
	return seed, cases
}

// TestKilledAtAnyInstant kills runs at random times and resumes each until it is done. Each file
// must be done once, and the verdict must be that of a run that was not killed. make test-kill runs
// more cases.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	seed, cases := killing(t, 15) // every feed with every victim
	feeds := []Feed{FeedList, FeedStdin, FeedList, FeedStdin, FeedProcess}
	victims := []victim{harnessDies, pipelineDies, machineDies}
	clean := map[Feed]whole{}
	for _, feed := range feeds[2:] {
		dir := t.TempDir()
		_, log, err := runOf(t.Context(), t, mortalConfig(dir, feed, false))
		if err != nil {
			t.Fatal(err)
		}
		clean[feed] = whole{int64(len(log)), findingsOf(t, log)}
	}
	const workers = 6
	next := make(chan int)
	hit := map[victim]int{}
	var mu sync.Mutex
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for n := range next {
				feed, dies := feeds[n%len(feeds)], victims[n%len(victims)]
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				dir := t.TempDir()
				path := filepath.Join(dir, LogName)
				k := killed{feed: feed, dir: dir, clean: clean[feed], crasher: crasher{
					random: random, dies: dies, program: "mortal", logs: []string{path},
					size: clean[feed].size,
				}}
				if err := k.run(t.Context()); err != nil {
					log, _ := os.ReadFile(path)
					t.Errorf("case %d: %s, feed %s: %v\nlog:\n%q", n, dies, feed, err, log)
				}
				mu.Lock()
				hit[dies] += k.hits
				mu.Unlock()
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
	t.Logf("killed in mid-run: %v", hit)
}

// A killed is one case of TestKilledAtAnyInstant.
type killed struct {
	crasher
	feed  Feed
	dir   string
	clean whole
}

func (k *killed) run(ctx context.Context) error {
	o, err := k.survive(ctx, []string{k.dir, string(k.feed)},
		func(ctx context.Context) (*Outcome, error) {
			return Run(ctx, mortalConfig(k.dir, k.feed, true))
		})
	if err != nil {
		return err
	}
	return k.judge(o)
}

// judge compares the log and the outcome with those of a run that was not killed.
func (k *killed) judge(o *Outcome) error {
	log, err := os.ReadFile(filepath.Join(k.dir, LogName))
	if err != nil {
		return err
	}
	if o.Files != killFiles || o.Counts[record.StatusOK] != killFiles {
		return fmt.Errorf("outcome %+v", o)
	}
	ends := map[int]int{}
	for rec, err := range parser.Read(bytes.NewReader(log), LogName) {
		if err != nil {
			return err
		}
		if end, ok := rec.(record.FileEnd); ok && !end.Pipeline && end.Status == record.StatusOK {
			ends[end.Index]++
		}
	}
	if want := map[int]int{1: 1, 2: 1, 3: 1, 4: 1}; !cmp.Equal(ends, want) {
		return fmt.Errorf("how often files ended well: %v", ends)
	}
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), LogName))
	if err != nil {
		return err
	}
	if last := tl.LastAttempts(); len(last) != killFiles || len(tl.Runs) != 1 {
		return fmt.Errorf("%d files in %d runs", len(last), len(tl.Runs))
	}
	found := compared(check.Of(tl, check.DefaultPolicy()))
	want := k.clean.findings
	if k.dies == pipelineDies || len(tl.Exits) == 0 {
		// A process may have been killed between two files, and a finding says so. That finding is
		// missing if the log does not say how the process ended.
		processes := func(f check.Finding) bool { return f.Subject == "processes" }
		found, want = slices.DeleteFunc(found, processes),
			slices.DeleteFunc(slices.Clone(want), processes)
	}
	if diff := cmp.Diff(want, found, sameFinding); diff != "" {
		return fmt.Errorf("findings (-whole +killed):\n%s", diff)
	}
	return nil
}

func findingsOf(t *testing.T, log []byte) []check.Finding {
	t.Helper()
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), LogName))
	if err != nil {
		t.Fatal(err)
	}
	return compared(check.Of(tl, check.DefaultPolicy()))
}

// compared returns the findings of a report without what an interruption may change: words,
// positions, times, and processes that outlived a killed harness.
func compared(r *check.Report) []check.Finding {
	var all []check.Finding
	for _, f := range r.Findings {
		leftBehind := f.Subject == "processes left behind" && f.Verdict == check.Pass
		if f.Subject == "interruptions" || leftBehind || f.Check == check.Throughput {
			continue
		}
		f.Message, f.At, f.File = "", nil, 0
		all = append(all, f)
	}
	return all
}

// sameFinding compares findings by all that they say. What the judge keeps to find causes points to
// the files of its own log.
var sameFinding = cmp.Options{
	cmp.AllowUnexported(check.Finding{}),
	cmpopts.IgnoreFields(check.Finding{}, "causeInput"),
}
