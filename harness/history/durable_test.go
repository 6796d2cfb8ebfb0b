package history_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/harness/history"
)

// child runs the test program as a separate process that does the job. The job "add" with the
// arguments NAME FIRST COUNT adds nights to the history NAME, and prints the number of each run
// that was acknowledged. The job "fill" with NAME BYTES adds heavy nights under a limit on file
// size until one fails, prints the error, and adds one more without the limit.
func child(job string, args []string) int {
	ctx := context.Background()
	name := args[0]
	s, err := history.Create(ctx, name)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	first, _ := strconv.Atoi(args[1]) // of the test
	switch job {
	case "add":
		count, _ := strconv.Atoi(args[2])
		for n := first; n < first+count; n++ {
			id, _, err := s.Add(ctx, night(n, 100))
			if err != nil {
				fmt.Println(err)
				return 1
			}
			fmt.Println(id)
		}
	case "fill":
		var whole unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &whole); err != nil {
			fmt.Println(err)
			return 1
		}
		// Lowering the limit is always allowed.
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(first), Max: whole.Max})
		fill(ctx, s)
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &whole)
		id, _, err := s.Add(ctx, heavyNight(1_000_000))
		fmt.Println(id, err)
	}
	return 0
}

// fill adds heavy nights until one fails, and prints the result of each.
func fill(ctx context.Context, s *history.Store) {
	for n := range 1000 {
		id, _, err := s.Add(ctx, heavyNight(n))
		fmt.Println(id, err)
		if err != nil {
			return
		}
	}
}

func startChild(t *testing.T, job string, args ...any) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = fmt.Sprint(a)
	}
	cmd := exec.Command(os.Args[0], words...)
	cmd.Env = append(os.Environ(), "VRAMSOAK_TEST_CHILD="+job)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// checkIntact fails the test if an acknowledged run is missing or the database is damaged. It
// returns the history.
func checkIntact(t *testing.T, name string, acknowledged []int64) *history.History {
	t.Helper()
	s, err := history.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	h, err := s.Load(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	stored := map[int64]bool{}
	for _, r := range h.Runs {
		stored[r.ID] = true
		if _, _, err := s.Get(t.Context(), r.ID); err != nil {
			t.Error(err)
		}
	}
	for _, id := range acknowledged {
		if !stored[id] {
			t.Errorf("run %d was acknowledged and is not there", id)
		}
	}
	if len(h.Runs) > 0 && len(h.Series[0].Values) != len(h.Runs) {
		t.Errorf("%d runs have %d values: a run was stored in part", len(h.Runs), len(h.Series[0].Values))
	}
	if !history.IsPostgres(name) {
		var result string
		if err := sqlDB(t, name).QueryRowContext(t.Context(),
			"PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
			t.Errorf("integrity_check: %s, %v", result, err)
		}
	}
	return h
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		const processes, routines, runs = 4, 4, 8
		var mu sync.Mutex
		var acknowledged []int64
		var work sync.WaitGroup
		for p := range processes {
			cmd, out := startChild(t, "add", name, p*1000, runs) // they race to create the schema
			work.Go(func() {
				for out.Scan() {
					id, err := strconv.ParseInt(out.Text(), 10, 64)
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
					if err != nil {
						t.Errorf("process %d: %s", p, out.Text())
					}
				}
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
		s := create(t, name)
		for r := range routines {
			work.Go(func() {
				for n := range runs {
					id, _, err := s.Add(t.Context(), night(100_000*(r+1)+n, 100))
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		if want := (processes + routines) * runs; len(acknowledged) != want {
			t.Errorf("%d runs were acknowledged, want %d", len(acknowledged), want)
		}
		if h := checkIntact(t, name, acknowledged); len(h.Runs) != len(acknowledged) {
			t.Errorf("%d runs are there, %d were acknowledged", len(h.Runs), len(acknowledged))
		}
	})
}

func TestKilledWriter(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		create(t, name)
		const rounds = 8
		random := rand.New(rand.NewPCG(1, 1))
		var acknowledged []int64
		for round := range rounds {
			cmd, out := startChild(t, "add", name, 10_000*round, 10_000)
			kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			before := len(acknowledged)
			for out.Scan() {
				id, err := strconv.ParseInt(out.Text(), 10, 64)
				if err != nil {
					t.Fatal(out.Text())
				}
				if acknowledged = append(acknowledged, id); len(acknowledged) == before+1 {
					kill.Reset(time.Duration(random.IntN(100_000)) * time.Microsecond)
				}
			}
			err := cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok ||
				status.Signal() != syscall.SIGKILL {
				t.Fatalf("the writer ended by itself: %v", err)
			}
			checkIntact(t, name, acknowledged)
		}
		t.Logf("%d writers killed, %d runs acknowledged", rounds, len(acknowledged))
	})
}

// TestKilledServer: after a crash, a recovered server has every run that it acknowledged before.
func TestKilledServer(t *testing.T) {
	name := newPostgres(t)
	var acknowledged []int64
	for round := range 3 {
		cmd, out := startChild(t, "add", name, 10_000*round, 10_000)
		for out.Scan() {
			id, err := strconv.ParseInt(out.Text(), 10, 64)
			if err != nil { // the server is gone
				break
			}
			if acknowledged = append(acknowledged, id); len(acknowledged)%50 == 0 {
				if err := running(t).crash(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the writer did not notice")
		}
		checkIntact(t, name, acknowledged)
	}
}

// TestFileSizeLimit makes writing fail by a limit on the size of files, which every system
// supports.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	name := backends["sqlite"](t)
	cmd, out := startChild(t, "fill", name, 2<<20)
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []int64
	failure := ""
	for _, line := range lines {
		number, err, _ := strings.Cut(line, " ")
		id, _ := strconv.ParseInt(number, 10, 64) // of Add
		if err == "<nil>" {
			acknowledged = append(acknowledged, id)
		} else {
			failure = err
		}
	}
	if len(acknowledged) < 3 || !strings.Contains(failure, "the run was not stored: ") ||
		!strings.Contains(failure, "disk is full") {
		t.Errorf("after %d runs: %s", len(acknowledged), failure)
	}
	if !strings.HasSuffix(lines[len(lines)-1], " <nil>") {
		t.Errorf("with room again: %s", lines[len(lines)-1])
	}
	checkIntact(t, name, acknowledged)
}

// ballast fills the file system of dir except for 1 MiB, which is room for some heavy nights.
func ballast(t *testing.T, dir string) {
	t.Helper()
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	if more := int64(disk.Bavail)*disk.Bsize - 1<<20; more > 0 {
		if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, more), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk makes writing fail by filling a small file system. It holds the whole history or, in
// the other case, the tables of the server's database.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	mount := func(t *testing.T, size string, flags uintptr, dir string) {
		if err := unix.Mount("tmpfs", dir, "tmpfs", flags, size); err != nil {
			t.Skipf("not run: this user may not mount a small file system: %v", err)
		}
	}
	for backend, prepare := range map[string]func(t *testing.T, dir string) string{
		"sqlite": func(t *testing.T, dir string) string {
			mount(t, "size=2m", 0, dir)
			return filepath.Join(dir, "history.db")
		},
		"postgres": func(t *testing.T, dir string) string {
			info, err := os.Stat(running(t).dir) // its owner is the server's user
			if err != nil {
				t.Fatal(err)
			}
			mount(t, fmt.Sprintf("size=16m,uid=%d", info.Sys().(*syscall.Stat_t).Uid), 0, dir)
			return newPostgresIn(t, dir)
		},
	} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for the server
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // if it was mounted
			name := prepare(t, dir)
			s := create(t, name)
			ballast(t, dir)
			var acknowledged []int64
			var err error
			for n := 0; err == nil && n < 1000; n++ {
				id, added, failed := s.Add(t.Context(), heavyNight(n))
				if err = failed; added {
					acknowledged = append(acknowledged, id)
				}
			}
			if err == nil || len(acknowledged) < 3 || !strings.Contains(err.Error(), "disk is full") {
				t.Errorf("after %d runs: %v", len(acknowledged), err)
			}
			t.Logf("%d runs were stored, then: %v", len(acknowledged), err)
			mount(t, "size=64m", unix.MS_REMOUNT, dir)
			acknowledged = append(acknowledged, add(t, s, heavyNight(1_000_000)))
			checkIntact(t, name, acknowledged)
		})
	}
}
