package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vramsoak/parser/record"
)

func take(t *testing.T, dir, node string) *Lease {
	t.Helper()
	lease, err := Take(dir, node, time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// TestTake: of many tasks at the same time, each gets a lease of its own, without gaps, and only
// the last one still owns the shard.
func TestTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const tasks = 32
	leases := make([]*Lease, tasks)
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() {
			var err error
			if leases[i], err = Take(dir, fmt.Sprint("n", i), time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := map[int]bool{}
	for _, l := range leases {
		if l == nil {
			t.Fatal("a task got no lease")
		}
		seen[l.Number] = true
		switch err := l.Check(); {
		case l.Number == tasks && err != nil:
			t.Errorf("the last lease: %v", err)
		case l.Number < tasks && !errors.Is(err, ErrTakenOver):
			t.Errorf("lease %d: %v", l.Number, err)
		}
	}
	for n := 1; n <= tasks; n++ {
		if !seen[n] {
			t.Errorf("no task has lease %d", n)
		}
	}
}

// TestCheckNamesTheOwner: the task that lost its shard says to whom.
func TestCheckNamesTheOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := take(t, dir, "n1")
	if err := old.Check(); err != nil {
		t.Fatal(err)
	}
	take(t, dir, "n2")
	const want = "another task has taken over this shard: lease 2 was taken on node n2 at 02:00:00; " +
		"what this task (lease 1) writes no longer counts, so it ends"
	if err := old.Check(); err == nil || err.Error() != want {
		t.Errorf("%v, expected %s", err, want)
	}
	if err := os.WriteFile(filepath.Join(dir, LeaseName(2)), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := old.Check(); !errors.Is(err, ErrTakenOver) { // the other task has not written it yet
		t.Error(err)
	}
}

// start and resume return lines that begin or continue the log of a shard.
func start(lease int) string {
	return string(record.RunStart{Feed: "list", Share: record.Share{
		Shard: 1, Shards: 2, Owner: record.Owner{Lease: lease, Node: "n"},
	}}.AppendLine(nil)) + "\n"
}

func resume(lease int) string {
	return string(record.Resume{Reason: "killed", Owner: record.Owner{Lease: lease, Node: "n"}}.
		AppendLine(nil)) + "\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAdopt: the next task gets a copy of the log. What the task before still writes, into the file
// that it has open, does not get into the log that counts.
func TestAdopt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "soak.log")
	first := take(t, dir, "n1")
	if found, err := first.Adopt(log); found || err != nil {
		t.Fatalf("a new shard: %v, %v", found, err)
	}
	write(t, log, start(1)+"a\n")
	zombie, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zombie.Close() }()
	second := take(t, dir, "n2")
	if found, err := second.Adopt(log); !found || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	if _, err := zombie.WriteString("late\n"); err != nil {
		t.Fatal(err)
	}
	write(t, log, read(t, log)+resume(2)+"b\n")
	counts, earlier, err := Logs(log)
	if err != nil || counts != log || len(earlier) != 1 || earlier[0].Lease != 1 {
		t.Fatalf("%s, %v, %v", counts, earlier, err)
	}
	if got, want := read(t, log), start(1)+"a\n"+resume(2)+"b\n"; got != want {
		t.Errorf("the log is %q, expected %q", got, want)
	}
	if got := read(t, earlier[0].Path); !strings.HasSuffix(got, "a\nlate\n") {
		t.Errorf("the log of lease 1 is %q", got)
	}
	// A third task takes over from the second.
	third := take(t, dir, "n3")
	if found, err := third.Adopt(log); !found || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	if _, earlier, err = Logs(log); err != nil || len(earlier) != 2 {
		t.Errorf("%v, %v", earlier, err)
	}
}

// TestAdoptInterrupted: a task that was killed or stopped anywhere while it took over leaves a log
// that counts, and the next task goes on with it.
func TestAdoptInterrupted(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]map[string]string{
		"copied": {"soak.log": start(1) + "a\n", "soak.log.lease-000002": start(1)},
		"old log renamed": {
			"soak.lease-000001.log": start(1) + "a\n", "soak.log.lease-000002": start(1) + "a\n",
		},
		// Lease 2 stopped before it renamed, and went on after lease 3 had taken over.
		"renamed too late": {
			"soak.log": start(1) + "old\n", "soak.lease-000001.log": start(1) + resume(3) + "a\n",
		},
		"taken over twice": {
			"soak.lease-000001.log": start(1) + "a\n", "soak.lease-000001-2.log": start(1) + "a\n",
		},
	} {
		dir := t.TempDir()
		log := filepath.Join(dir, "soak.log")
		for file, text := range after {
			write(t, filepath.Join(dir, file), text)
		}
		for range 3 {
			take(t, dir, "n1")
		}
		next := take(t, dir, "n2")
		found, err := next.Adopt(log)
		if !found || err != nil {
			t.Errorf("%s: %v, %v", name, found, err)
			continue
		}
		if got := read(t, log); !strings.HasSuffix(got, "a\n") {
			t.Errorf("%s: the log is %q", name, got)
		}
		write(t, log, read(t, log)+resume(4))
		if counts, _, err := Logs(log); err != nil || counts != log {
			t.Errorf("%s: %s counts, %v", name, counts, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "soak.log.lease-*")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// TestAdoptTooLate: a task that was stopped while it took over leaves the log of the task that has
// taken over from it in the meantime where it is. The other task writes there.
func TestAdoptTooLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "soak.log")
	take(t, dir, "n1")
	write(t, log, start(1)+"a\n")
	late, owner := take(t, dir, "n2"), take(t, dir, "n3")
	if found, err := owner.Adopt(log); !found || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	write(t, log, read(t, log)+resume(3))
	before, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Adopt(log); !errors.Is(err, ErrTakenOver) {
		t.Error(err)
	}
	after, err := os.Stat(log)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the log of the owner was moved: %v", err)
	}
	if left, _ := filepath.Glob(log + ".*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	from := filepath.Join(dir, "from")
	write(t, from, "old")
	if err := late.put(from, log); !errors.Is(err, ErrTakenOver) {
		t.Error(err)
	}
	if got, want := read(t, log), start(1)+"a\n"+resume(3); got != want {
		t.Errorf("the log is %q, expected %q", got, want)
	}
}

// TestAdoptBesideAnEarlierTask: an earlier task that goes on late may create the log, while the
// owner puts its own there.
func TestAdoptBesideAnEarlierTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, log := filepath.Join(dir, "from"), filepath.Join(dir, "soak.log")
	take(t, dir, "n1")
	owner := take(t, dir, "n2")
	write(t, from, start(1)+"a\n")
	write(t, log, "")
	if err := owner.put(from, log); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, log), start(1)+"a\n"; got != want {
		t.Errorf("the log is %q, expected %q", got, want)
	}
}

func TestLogsOfNothing(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "gone")} {
		if _, _, err := Logs(filepath.Join(dir, "soak.log")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestTakeOverAtOnce: several tasks begin a shard, or take it over, at the same time. The one with
// the highest lease owns it, and no other task writes into its log.
func TestTakeOverAtOnce(t *testing.T) {
	t.Parallel()
	const tasks = 4
	for i := range 100 {
		dir := t.TempDir()
		log := filepath.Join(dir, "soak.log")
		if i%2 == 1 {
			take(t, dir, "n0")
			write(t, log, start(1))
		}
		errs := make([]error, 3*tasks)
		var all sync.WaitGroup
		for k := range tasks {
			all.Go(func() {
				lease, err := Take(dir, "n", time.Now())
				if err == nil {
					errs[lease.Number] = work(lease, log)
				} else {
					t.Error(err)
				}
			})
			if i%4 > 1 && k == tasks/2 {
				time.Sleep(time.Millisecond)
			}
		}
		all.Wait()
		for number, err := range errs {
			if err != nil && !errors.Is(err, ErrTakenOver) {
				t.Errorf("lease %d: %v", number, err)
			}
		}
		highest, err := lastLease(dir)
		if err != nil {
			t.Fatal(err)
		}
		if errs[highest] != nil {
			t.Errorf("the owner, lease %d: %v", highest, errs[highest])
		}
		counts, _, err := Logs(log)
		if err != nil || counts != log {
			t.Fatalf("%s counts: %v", counts, err)
		}
		text := read(t, log)
		if !strings.HasSuffix(text, start(highest)) && !strings.HasSuffix(text, resume(highest)) {
			t.Errorf("the log that counts is\n%s\nexpected the line of lease %d at its end", text, highest)
		}
		if t.Failed() {
			return
		}
	}
}

// work does what a task does that has taken a lease: it opens its log, looks whether it still owns
// the shard, and writes its first line.
func work(lease *Lease, log string) error {
	found, err := lease.Adopt(log)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := lease.Check(); err != nil {
		return errors.Join(err, f.Close())
	}
	line := start(lease.Number)
	if found {
		line = resume(lease.Number)
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
