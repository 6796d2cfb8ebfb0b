package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gocloud.dev/blob"

	"vramsoak/fixtures/s3server"
)

// The tests of this file need an S3 server: make test-s3.

func openStore(t *testing.T, server *s3server.Server, through string) *Store {
	t.Helper()
	s, err := Open(t.Context(), server.Address("runs/night", through))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestServerOneWins: of 16 tasks that write the same key with If-None-Match at once, one wins. Of
// 16 that take a lease, each gets one of its own.
func TestServerOneWins(t *testing.T) {
	server := s3server.Start(t)
	s := openStore(t, server, "")
	for round := range 10 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		won, leases := []int{}, map[int]bool{}
		for i := range 16 {
			wg.Go(func() {
				err := s.bucket.WriteAll(t.Context(), s.key(fmt.Sprint("race-", round)),
					[]byte(fmt.Sprint(i)), &blob.WriterOptions{IfNotExist: true})
				lease, taking := s.TakeLease(t.Context(), fmt.Sprintf("shard-%04d", round), "n")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, i)
				} else if !exists(err) && !mayPass(err) {
					t.Errorf("round %d, writer %d: %v", round, i, err)
				}
				if taking != nil || leases[lease.Number] {
					t.Errorf("round %d, taker %d: lease %d, %v", round, i, lease.Number, taking)
				}
				leases[lease.Number] = true
			})
		}
		wg.Wait()
		text, err := s.Get(t.Context(), fmt.Sprint("race-", round), 10)
		if len(won) != 1 || err != nil || string(text) != fmt.Sprint(won[0]) {
			t.Errorf("round %d: %v won, found %q, %v", round, won, text, err)
		}
		if len(leases) != 16 || !leases[16] {
			t.Errorf("round %d: leases %v", round, leases)
		}
	}
}

// TestServerKilled: the server is killed and started again in the middle of uploads. What the
// mirror says is stored is there each time, and at the end everything is.
func TestServerKilled(t *testing.T) {
	server := s3server.Start(t)
	s := openStore(t, server, "")
	text := random(7, 24<<20)
	k := begin(t, s, "n1", nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for at := 0; at < len(text); {
			n := min(1+rand.IntN(400<<10), len(text)-at)
			k.write(text[at : at+n])
			at += n
			time.Sleep(rand.N(30 * time.Millisecond))
		}
	})
	kills := 0
	for writing := true; writing; kills++ {
		select {
		case <-stop:
			writing = false
		case <-time.After(rand.N(400 * time.Millisecond)):
		}
		server.Kill()
		acknowledged, _ := k.mirror.Stored()
		time.Sleep(rand.N(300 * time.Millisecond))
		server.Restart()
		_, found := stored(t, s)
		if int64(len(found)) < acknowledged || !bytes.Equal(found, text[:len(found)]) {
			t.Errorf("kill %d: %d bytes were acknowledged, found %d", kills+1, acknowledged, len(found))
		}
	}
	wg.Wait()
	if err := k.mirror.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, found := stored(t, s)
	if !bytes.Equal(found, text) {
		t.Errorf("%d bytes of %d", len(found), len(text))
	}
	t.Logf("killed %d times; %d MiB in %d pieces", kills, len(text)>>20, len(log.pieces))
}

// TestServerBehindProxy: behind a proxy that is slow, answers with errors, loses answers, breaks
// connections and cuts answers off, everything is stored and read as it was written.
func TestServerBehindProxy(t *testing.T) {
	server := s3server.Start(t)
	numbers := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	counts := map[s3server.Fault]int{}
	choose := s3server.Random(numbers.IntN, 2)
	through := server.Proxy(func(r *http.Request) s3server.Fault {
		f := choose(r)
		mu.Lock()
		defer mu.Unlock()
		counts[f]++
		return f
	})
	s := openStore(t, server, through)
	text := random(8, 4<<20)
	done, last := 0, 0
	for n := 1; done < len(text); n++ {
		shard, err := s.Shard(t.Context(), "shard-0003")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "soak.log")
		for _, log := range shard.Logs {
			if err := s.fetchLog(t.Context(), log, path); err != nil {
				t.Fatal(err)
			}
		}
		had, err := os.ReadFile(path)
		if n > 1 && err != nil || !bytes.Equal(had, text[:done]) {
			t.Fatalf("task %d begins with %d bytes, expected %d: %v", n, len(had), done, err)
		}
		k := begin(t, s, "n", had)
		if k.lease.Number <= last { // a number is left out if the answer to its write was lost
			t.Errorf("task %d has lease %d after %d", n, k.lease.Number, last)
		}
		last = k.lease.Number
		for range 5 {
			more := min(rand.IntN(600<<10), len(text)-done)
			k.write(text[done : done+more])
			done += more
		}
		if err := k.mirror.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		verdict := filepath.Join(t.TempDir(), "verdict.json")
		if err := os.WriteFile(verdict, []byte(fmt.Sprint(n)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.PutFile(t.Context(), k.lease, "verdict.json", verdict); err != nil {
			t.Fatal(err)
		}
		if found, err := s.Get(t.Context(), "shard-0003/verdict.json", 10); err != nil ||
			string(found) != fmt.Sprint(n) {
			t.Errorf("verdict %q, %v", found, err)
		}
	}
	if _, found := stored(t, openStore(t, server, "")); !bytes.Equal(found, text) {
		t.Errorf("%d bytes of %d", len(found), len(text))
	}
	t.Logf("requests by fault: %v", counts)
	for f := s3server.None; f <= s3server.Slow; f++ {
		if counts[f] == 0 {
			t.Errorf("fault %d did not happen", f)
		}
	}
}

// TestServerAway: while the store is away, the writer of the log never waits, the user is told
// once, and everything is stored when the store is back. If it stays away, closing says what is
// missing.
func TestServerAway(t *testing.T) {
	server := s3server.Start(t)
	s := openStore(t, server, "")
	var said lockedBuffer
	s.Logger = slog.New(slog.NewTextHandler(&said, nil))
	k := begin(t, s, "n1", []byte("begin\n"))
	server.Kill()
	text := []byte("begin\n")
	for i := range 500 {
		line := fmt.Appendf(nil, "line %d\n", i)
		k.write(line)
		text = append(text, line...)
	}
	waitFor(t, func() bool { return said.contains("not stored for now") })
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := k.mirror.await(short, int64(len(text)))
	want := fmt.Sprintf("6 of the log's %d bytes", len(text))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("closing without a store: %v", err)
	}
	server.Restart()
	if err := k.mirror.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, found := stored(t, s); !bytes.Equal(found, text) {
		t.Errorf("%d bytes of %d", len(found), len(text))
	}
	waitFor(t, func() bool { return said.contains("answers again") })
	if n := strings.Count(said.String(), "not stored for now"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}

// TestServerZombie: a task that was stopped between its look at a file and its write does not
// replace what its successor has written in the meantime.
func TestServerZombie(t *testing.T) {
	server := s3server.Start(t)
	direct := openStore(t, server, "")
	dir := t.TempDir()
	write := func(s *Store, lease Lease, text string) error {
		path := filepath.Join(dir, text)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return s.PutFile(t.Context(), lease, "verdict.json", path)
	}
	for _, before := range []string{"", "early"} {
		t.Run("before="+before, func(t *testing.T) {
			shard := "shard-0001" + before
			old, err := direct.TakeLease(t.Context(), shard, "n1")
			if err != nil {
				t.Fatal(err)
			}
			if before != "" {
				if err := write(direct, old, before); err != nil {
					t.Fatal(err)
				}
			}
			var once sync.Once
			through := server.Proxy(func(r *http.Request) s3server.Fault {
				if r.Method == http.MethodPut {
					once.Do(func() {
						successor, err := direct.TakeLease(t.Context(), shard, "n2")
						if err == nil {
							err = write(direct, successor, "successor")
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				return s3server.None
			})
			zombie := openStore(t, server, through)
			if err := write(zombie, old, "zombie"); !errors.Is(err, ErrTakenOver) {
				t.Errorf("the zombie's write: %v", err)
			}
			text, err := direct.Get(t.Context(), shard+"/verdict.json", 100)
			if err != nil || string(text) != "successor" {
				t.Errorf("found %q, %v", text, err)
			}
		})
	}
}

// TestServerHalfWritten: a key that the server refuses to write with If-None-Match, although it has
// no object, stops no task. If it is the key of a lease, a task whose shard was taken over learns
// it at its end.
func TestServerHalfWritten(t *testing.T) {
	server := s3server.Start(t)
	s := openStore(t, server, "")
	half := func(key string) {
		t.Helper()
		if err := s.bucket.WriteAll(t.Context(), s.key(key), []byte("half"), nil); err != nil {
			t.Fatal(err)
		}
		server.HalfWritten(s.key(key))
	}
	half("run.json")
	text, err := s.PutOnce(t.Context(), "run.json", []byte("mine"))
	if err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	text, err = s.PutOnce(t.Context(), "run.json", []byte("other"))
	if err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	k := begin(t, s, "n1", []byte("begin\n"))
	half("shard-0003/verdict.json")
	if err := s.PutFile(t.Context(), k.lease, "verdict.json", k.path); err != nil {
		t.Error(err)
	}
	half("shard-0003/lease-000002")
	other := begin(t, s, "n2", []byte("begin\n"))
	if other.lease.Number != 3 {
		t.Errorf("lease %d", other.lease.Number)
	}
	k.write([]byte("zombie\n"))
	if err := k.mirror.Close(t.Context()); !errors.Is(err, ErrTakenOver) ||
		!errors.Is(k.mirror.Owned(), ErrTakenOver) {
		t.Errorf("closing: %v, %v", err, k.mirror.Owned())
	}
	if _, found := stored(t, s); string(found) != "begin\n" {
		t.Errorf("found %q", found)
	}
	if err := other.mirror.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServerErrors: what cannot pass by itself is an error at once, says what to do, and shows no
// credentials.
func TestServerErrors(t *testing.T) {
	server := s3server.Start(t)
	good := server.Address("runs", "")
	for _, c := range []struct{ name, address, key, secret, want string }{
		{
			"bucket", strings.Replace(good, s3server.Bucket, "other", 1), s3server.AccessKey,
			s3server.SecretKey, "make the bucket first",
		},
		{"secret", good, s3server.AccessKey, "wrongSecretOfThisTest", "SignatureDoesNotMatch"},
		{"key", good, "AKIAOTHERKEYOFTEST", s3server.SecretKey, "ccess key ID"},
		{"none", good, "", "", "credentials come from AWS's own chain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", c.key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			s, err := Open(t.Context(), c.address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			_, err = s.TakeLease(t.Context(), "shard-0001", "n1")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, expected %q", err, c.want)
			}
			for _, secret := range []string{c.key, c.secret} {
				if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
					t.Errorf("the message shows a credential: %v", err)
				}
			}
			t.Log(err)
		})
	}
}

// A lockedBuffer collects what goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *lockedBuffer) contains(text string) bool { return strings.Contains(b.String(), text) }
