package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vramsoak/fixtures/s3server"
	"vramsoak/harness/bucket"
)

// The tests whose names begin with TestServer need an S3 server: make test-s3.

// copyRun copies the run in the bucket into a new folder, and returns the folder.
func (s *scheduler) copyRun() string {
	s.t.Helper()
	store, err := bucket.Open(s.t.Context(), bucket.Join(s.runs, "r"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // it was only read
	shards, err := store.Shards(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	for _, of := range shards {
		if _, err := store.Fetch(s.t.Context(), of, filepath.Join(dir, of.Name)); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

// TestServerShardsKilled is TestShardsKilledAtAnyInstant in a bucket, whose server is killed and
// restarted too, while all tasks write there. KILL_SEED and KILL_CASES set the seed and the number
// of kills.
func TestServerShardsKilled(t *testing.T) {
	server := s3server.Start(t)
	t.Setenv("TMPDIR", t.TempDir())
	seed, kills := uint64(time.Now().UnixNano()), 30
	if s := os.Getenv("KILL_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	if s := os.Getenv("KILL_CASES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	t.Logf("KILL_SEED=%d", seed)
	want := newScheduler(t, seed).play(0)
	for n := 0; kills > 0; n++ {
		s := newScheduler(t, seed+uint64(n))
		s.store, s.runs = server, server.Address(fmt.Sprint("run-", n), "")
		s.pace = 25 * time.Millisecond // so that most tasks are at work when they are disturbed
		got := s.play(min(kills, killsPerRun))
		kills -= killsPerRun
		if got != want {
			t.Errorf("run %d: %+v, expected %+v, as without kills", n, got, want)
		}
		t.Logf("run %d: %+v\n%s", n, got, strings.Join(s.story, "\n"))
	}
}

// soakInBucket runs the task of a shard of 12 files and returns its standard error and exit code.
func soakInBucket(t *testing.T, dir, runs, part string, more ...string) (text string, code int) {
	t.Helper()
	args := slices.Concat([]string{
		"soak", "--files", "audio", "--feed", "stdin", "--shard", part, "--runs", runs, "--run", "r",
		"--settle-limit", "0", "--", "pipeline", "--protocol",
	}, more)
	cmd := exec.Command("vramsoak", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COLUMNS=2000")
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return out.String(), code
}

func audioFolder(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "audio"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		path := filepath.Join(dir, "audio", fmt.Sprintf("%04d.wav", i+1))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServerSoak: the task of a shard stores all that a run folder has, behind a proxy that is
// slow, breaks connections and cuts answers off. The same command does nothing then. The commands
// that read runs read this one, and leave no copy behind.
func TestServerSoak(t *testing.T) {
	server := s3server.Start(t)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	dir := audioFolder(t, 12)
	n := 0
	var mu sync.Mutex
	through := server.Proxy(func(*http.Request) s3server.Fault {
		mu.Lock()
		defer mu.Unlock()
		n++
		if n%3 > 0 {
			return s3server.None
		}
		return s3server.Fault(n / 3 % int(s3server.Slow+1))
	})
	runs := server.Address("runs", through)
	for _, part := range []string{"1/2", "2/2"} {
		if text, code := soakInBucket(t, dir, runs, part); code != exitPass {
			t.Fatalf("exit code %d:\n%s", code, text)
		}
	}
	text, code := soakInBucket(t, dir, runs, "2/2")
	if code != exitPass || !strings.Contains(text, "shard 2 of 2 is complete") ||
		strings.Contains(text, "took ") {
		t.Errorf("again: exit code %d:\n%s", code, text)
	}
	direct := server.Address("runs/r", "")
	store, err := bucket.Open(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // it was only read
	shards, err := store.Shards(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"batch.jsonl", "junit.xml", "report.html", "run.json", "summary.md", "verdict.json",
	} {
		for _, of := range shards {
			if !slices.Contains(of.Files, name) {
				t.Errorf("%s has no %s: %v", of.Name, name, of.Files)
			}
		}
	}
	if len(shards) != 2 || len(shards[1].Logs) != 1 || shards[1].Lease != 1 {
		t.Errorf("shards %+v", shards)
	}
	for _, args := range [][]string{
		{"check", direct},
		{"parse", bucket.Join(direct, "shard-0002")},
		{"plot", bucket.Join(direct, "shard-0001"), "-o", filepath.Join(dir, "m.png")},
		{"report", bucket.Join(direct, "shard-0001"), "-o", filepath.Join(dir, "r.html")},
	} {
		cmd := exec.Command("vramsoak", args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if bytes.Contains(out, []byte(scratch)) {
			t.Errorf("%v names the copy:\n%s", args, out)
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, secret := range []string{s3server.AccessKey, s3server.SecretKey} {
		if strings.Contains(text, secret) {
			t.Error("the output shows a credential")
		}
	}
}

// TestServerGone: if the store goes away for good, the task works on to its end, says so once,
// exits with 2, and names the folder that has the log. If the store is not there at the beginning,
// no process starts.
func TestServerGone(t *testing.T) {
	server := s3server.Start(t)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	dir := audioFolder(t, 12)
	runs := server.Address("runs", "")
	for name, change := range map[string]string{
		"bucket": strings.Replace(runs, s3server.Bucket, "no-such-bucket", 1),
		"key":    runs + "&secret_key=" + s3server.SecretKey,
	} {
		text, code := soakInBucket(t, dir, change, "1/1")
		if code != exitTrouble || strings.Contains(text, "took ") ||
			strings.Contains(text, s3server.SecretKey) {
			t.Errorf("%s: exit code %d:\n%s", name, code, text)
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	cmd := exec.Command("vramsoak", "soak", "--files", "audio", "--feed", "stdin", "--shard", "1/1",
		"--runs", runs, "--run", "r", "--settle-limit", "0", "--", "pipeline", "--protocol",
		"--pace", "50ms")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COLUMNS=2000")
	var out lockedText
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	store, err := bucket.Open(t.Context(), bucket.Join(runs, "r"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // it was only read
	for stored := false; !stored; {
		of, err := store.Shard(t.Context(), "shard-0001")
		if err != nil {
			t.Fatal(err)
		}
		stored = len(of.Logs) > 0
	}
	server.Kill()
	out.await(t, "until the store has the rest of the log")
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // two signals at once count as one
	}
	err = cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitTrouble {
		t.Errorf("%v:\n%s", err, &out)
	}
	logs, err := filepath.Glob(filepath.Join(scratch, "*/r/shard-0001/soak.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("the folder with the log: %v, %v\n%s", logs, err, &out)
	}
	log, err := os.ReadFile(logs[0])
	if err != nil || !bytes.Contains(log, []byte(" files=12 seconds=")) {
		t.Errorf("%v: the log does not end:\n%s", err, log)
	}
	for _, want := range []string{logs[0] + " has them all", "the log could not be stored"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("expected %q once:\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "the log is not stored for now"); n != 1 {
		t.Errorf("said %d times:\n%s", n, &out)
	}
}

// A lockedText collects what a process writes.
type lockedText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// await waits until a text was written.
func (l *lockedText) await(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(l.String(), text) {
		select {
		case <-t.Context().Done():
			t.Fatalf("expected %q:\n%s", text, l)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
