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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

const (
	killFiles   = 4
	killRetries = 9 // a file may be hit whenever it is worked on
)

// mortalConfig is the run that is killed and taken up again.
func mortalConfig(dir string, feed Feed, resume bool) Config {
	args := map[Feed]string{FeedProcess: pathMark, FeedList: listMark, FeedStdin: "-"}[feed]
	return Config{
		Command: []string{os.Args[0], args}, Feed: feed, Files: inputs(killFiles), Dir: dir, Version: "test",
		Env: []string{envProgram + "=steady", "GORACE=atexit_sleep_ms=0"}, Grace: 100 * time.Millisecond,
		SampleEvery: 20 * time.Millisecond, RetryFailed: killRetries, Resume: resume,
	}
}

// mortal is a harness of its own: DIR FEED, and "resume" where it goes on.
func mortal(args []string) {
	o, err := Run(context.Background(), mortalConfig(args[0], Feed(args[1]), len(args) > 2))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(o.Reason, o.Diagnostic)
}

// steady is a pipeline that does the same for each file, line by line, with time between them for something to happen. Its
// argument says where the files come from.
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
			c := parser.Checkpoint{Name: name}
			c.Set(parser.Allocated, parser.Exact(allocated))
			c.Set(parser.Reserved, parser.Exact(1<<30))
			c.Set(parser.Total, parser.Exact(8<<30))
			say(string(c.AppendLine(nil)))
		}
		say("[pipeline] file-start path=" + path)
		reading("Before Work", 1<<20)
		say("working on " + path)
		reading("Before Work Cleanup", 1<<29)
		reading("After Work Cleanup", 1<<20)
		reading("After Work", 1<<20)
		say("[pipeline] file-end path=" + path + " status=ok")
	}
}

// A victim is what is killed.
type victim string

const (
	harnessDies  victim = "harness"
	pipelineDies victim = "pipeline"
	// machineDies kills all, and of the log there is what was on the disk: it ends somewhere, in the bytes of no file.
	machineDies victim = "machine"
)

// whole is what a run that nothing happened to leaves.
type whole struct {
	size     int64 // of its log
	findings []check.Finding
}

// A run that is killed at any instant, and taken up again until it is done, does every file once and is judged as one that was
// not.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("KILL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("KILL_SEED=%d", seed)
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
	const cases, workers = 200, 6
	next := make(chan int)
	hit := map[victim]int{}
	var mu sync.Mutex
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for n := range next {
				feed, dies := feeds[n%len(feeds)], victims[n%len(victims)]
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				k := killed{random: random, feed: feed, dir: t.TempDir(), dies: dies, clean: clean[feed]}
				if err := k.run(t.Context()); err != nil {
					log, _ := os.ReadFile(filepath.Join(k.dir, LogName))
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

// killed is one case.
type killed struct {
	random *rand.Rand
	feed   Feed
	dir    string
	dies   victim
	clean  whole
	hits   int // how many kills met a run
}

func (k *killed) run(ctx context.Context) error {
	args := []string{k.dir, string(k.feed)}
	for range 1 + k.random.IntN(2) {
		if err := k.strike(args); err != nil {
			return err
		}
		args = append(args[:2], "resume")
	}
	// A pipeline that was killed before its first file stops the run, which is taken up again all the same.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for tries := 0; tries < 3; tries++ {
		o, err := Run(ctx, mortalConfig(k.dir, k.feed, true))
		switch {
		case errors.Is(err, errBusy) && ctx.Err() == nil: // what was forked just before the kill is not scheduled
			tries--
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

// strike runs a harness and kills when its log has reached a length drawn at random.
func (k *killed) strike(args []string) error {
	log := filepath.Join(k.dir, LogName)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envProgram+"=mortal", "GORACE=atexit_sleep_ms=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	at := k.random.Int64N(k.clean.size + k.clean.size/8)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := time.After(2 * time.Minute)
	for {
		if info, err := os.Stat(log); err == nil && info.Size() >= at {
			break
		}
		select {
		case err := <-ended: // before it came so far
			switch {
			case err != nil && strings.Contains(said.String(), errBusy.Error()):
				return nil // a machine so busy is no place for a second blow
			case err != nil:
				return fmt.Errorf("the harness: %w: %s", err, said.String())
			}
			return k.tear(log)
		case <-over:
			_ = cmd.Process.Kill()
			return errors.New("the run hangs")
		case <-time.After(time.Millisecond):
		}
	}
	if k.dies == pipelineDies {
		for _, pid := range meter.Tree(cmd.Process.Pid)[1:] {
			k.hits += killChild(cmd.Process.Pid, pid)
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
	if err := <-ended; err != nil {
		k.hits++
	}
	return k.tear(log)
}

// killChild kills a process if it is still of the harness's.
func killChild(harness, pid int) int {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = unix.Close(fd) }()
	if !slices.Contains(meter.Tree(harness), pid) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return 0
	}
	return 1
}

// tear leaves of the log what the end of the machine may leave: it ends somewhere, and behind are NULs, or what lay on the
// disk before.
func (k *killed) tear(log string) error {
	if k.dies != machineDies {
		return nil
	}
	text, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it did not come so far
	}
	if err != nil {
		return err
	}
	text = text[:k.random.IntN(len(text)+1)]
	switch k.random.IntN(3) {
	case 0:
		text = append(text, make([]byte, k.random.IntN(10_000))...)
	case 1:
		text = append(text, 0xff)
		for range k.random.IntN(300) {
			text = append(text, byte(k.random.Uint32()))
		}
	}
	return os.WriteFile(log, text, 0o644)
}

// judge compares the log with that of a run that nothing happened to.
func (k *killed) judge(o *Outcome) error {
	log, err := os.ReadFile(filepath.Join(k.dir, LogName))
	if err != nil {
		return err
	}
	if o.Files != killFiles || o.Counts[parser.StatusOK] != killFiles {
		return fmt.Errorf("outcome %+v", o)
	}
	ends := map[int]int{}
	for rec, err := range parser.Read(bytes.NewReader(log), LogName) {
		if err != nil {
			return err
		}
		if end, ok := rec.(parser.FileEnd); ok && !end.Pipeline && end.Status == parser.StatusOK {
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
		// That a process was killed between its files is said; of one whose end nobody saw nothing is.
		processes := func(f check.Finding) bool { return f.Subject == "processes" }
		found, want = slices.DeleteFunc(found, processes), slices.DeleteFunc(slices.Clone(want), processes)
	}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(check.Finding{})); diff != "" {
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

// compared are the findings without what an interruption may change: the words, the places and the time taken.
func compared(r *check.Report) []check.Finding {
	var all []check.Finding
	for _, f := range r.Findings {
		if f.Subject == "interruptions" || f.Check == check.Throughput {
			continue
		}
		f.Message, f.At, f.File = "", nil, 0
		all = append(all, f)
	}
	return all
}
