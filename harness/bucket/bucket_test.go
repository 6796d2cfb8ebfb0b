package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
)

// inMemory returns a store in this process's memory. What only a server can show is tested in
// ci/s3.
func inMemory(t *testing.T) *Store {
	t.Helper()
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	s := newStore(b, place{bucket: "b", prefix: "runs/night/"}, nil)
	s.patience = 0
	return s
}

// TestAddress: an address is a bucket, a prefix and settings, and what lies below it keeps the
// settings.
func TestAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, prefix, name string }{
		{"s3://b", "", "s3://b"},
		{"s3://b/", "", "s3://b"},
		{"s3://b/runs", "runs/", "s3://b/runs"},
		{"s3://b//runs/../x/?region=eu&use_path_style=true", "x/", "s3://b/x"},
		{"s3://b/50%/#1", "50%/#1/", "s3://b/50%/#1"},
	} {
		at, err := parse(c.address)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
		} else if at.bucket != "b" || at.prefix != c.prefix || at.String() != c.name {
			t.Errorf("%s: %q, %q, %v", c.address, at.bucket, at.prefix, at)
		}
	}
	joined := Join("s3://b/runs/?region=eu", "night", "shard-0001")
	if joined != "s3://b/runs/night/shard-0001?region=eu" || Base(joined) != "shard-0001" {
		t.Errorf("%s, %s", joined, Base(joined))
	}
	for path, ok := range map[string]bool{
		"runs": true, "a/b://c": true, "s3://b/x": true, "gs://b/x": false, "S3://b": false,
		"s3://b?secret=hunter2": false,
	} {
		err := CheckRuns(path)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if IsAddress("runs/s3:") || !IsAddress("s3://b") {
		t.Error("s3://b alone is the address of a bucket")
	}
}

// TestAddressRefused: a wrong address is refused before any request, and the message has nothing
// that could be a secret.
func TestAddressRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"runs":                           "expected the address of a bucket",
		"s3://":                          "expected the name of a bucket",
		"s3:///x":                        "expected the name of a bucket",
		"s3://KEY:hunter2@b/x":           "expected an address without credentials",
		"s3://b/x?secret=hunter2":        `found "secret"`,
		"s3://b/x?region=a&region=b":     `one value for "region"`,
		"s3://b/x?region=":               `one value for "region"`,
		"s3://b?endpoint=localhost:9000": "endpoint: expected an address such as",
		"s3://b?endpoint=http://u:hunter2@h": "endpoint: expected an address without " +
			"credentials",
		"s3://b?use_path_style=hunter3": "use_path_style",
	} {
		s, err := Open(t.Context(), address)
		if err == nil {
			t.Errorf("%s: opened %v", address, s)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, expected %q", address, err, want)
		}
	}
}

// TestLeases: of 16 tasks that take a shard at once, each gets a lease of its own, and only the
// highest holds the shard.
func TestLeases(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	var mu sync.Mutex
	var all []Lease
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			lease, err := s.TakeLease(t.Context(), "shard-0003", fmt.Sprint("n", i))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, lease)
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b Lease) int { return a.Number - b.Number })
	for i, lease := range all {
		if lease.Number != i+1 {
			t.Errorf("lease %d: %+v", i+1, lease)
		}
		err := s.Holds(t.Context(), lease)
		if i < 15 && !errors.Is(err, ErrTakenOver) || i == 15 && err != nil {
			t.Errorf("lease %d: %v", lease.Number, err)
		}
		found, err := s.readLease(t.Context(), "shard-0003", lease.Number)
		if diff := cmp.Diff(lease, found); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if other, err := s.TakeLease(t.Context(), "shard-0004", "n1"); err != nil || other.Number != 1 {
		t.Errorf("another shard: %+v, %v", other, err)
	}
}

// TestIgnoredCondition: a store that ignores If-None-Match is refused before a task begins.
func TestIgnoredCondition(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // an empty list
			_, _ = io.WriteString(w, "<ListBucketResult></ListBucketResult>")
		}
	}))
	defer server.Close()
	s, err := Open(t.Context(), "s3://b/runs?use_path_style=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const want = "found one that ignores it"
	_, err = s.TakeLease(t.Context(), "shard-0001", "n1")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
}

// TestMoving: a connection on which something moves lives as long as it needs, and one on which
// nothing moves fails. Writing counts for a reader that waits.
func TestMoving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		c, began := &moving{near}, time.Now()
		var reading sync.WaitGroup
		reading.Go(func() {
			buf := make([]byte, 1)
			if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("reading: %v", err)
			}
			if spent := time.Since(began); spent < 100*time.Second {
				t.Errorf("the reader gave up after %v", spent)
			}
		})
		for range 10 {
			time.Sleep(10 * time.Second)
			var taking sync.WaitGroup
			taking.Go(func() { _, _ = far.Read(make([]byte, 1)) })
			if _, err := c.Write([]byte{1}); err != nil {
				t.Error(err)
			}
			taking.Wait()
		}
		if _, err := c.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("writing what nobody reads: %v", err)
		}
		reading.Wait()
	})
}

// A task is a task of a shard with its log on the disk.
type task struct {
	t      *testing.T
	lease  Lease
	path   string
	mirror *Mirror
}

func begin(t *testing.T, s *Store, node string, had []byte) *task {
	t.Helper()
	lease, err := s.TakeLease(t.Context(), "shard-0003", node)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "soak.log")
	if had != nil {
		if err := os.WriteFile(path, had, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := s.NewMirror(lease, "soak.log", path)
	if err := m.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &task{t, lease, path, m}
}

// write appends to the log and announces it.
func (k *task) write(text []byte) {
	k.t.Helper()
	f, err := os.OpenFile(k.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		k.t.Fatal(err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		k.t.Fatal(err)
	}
	info, err := os.Stat(k.path)
	if err != nil {
		k.t.Fatal(err)
	}
	k.mirror.Sync(info.Size())
}

// random returns n random bytes as a log could not have them, so that no two pieces are equal.
func random(seed uint64, n int) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed)})
	text := make([]byte, n)
	_, _ = source.Read(text) // it never fails
	return text
}

// stored returns the log of the shard as a reader finds it.
func stored(t *testing.T, s *Store) (Log, []byte) {
	t.Helper()
	shard, err := s.Shard(t.Context(), "shard-0003")
	if err != nil {
		t.Fatal(err)
	}
	if len(shard.Logs) == 0 {
		return Log{}, nil
	}
	r := s.Open(t.Context(), shard.Logs[0])
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if int64(len(text)) < shard.Logs[0].Size { // it may have grown meanwhile
		t.Errorf("%d bytes of %d", len(text), shard.Logs[0].Size)
	}
	return shard.Logs[0], text
}

// TestMirror: what a task wrote is in the store when its mirror is closed, in pieces of at least 1
// MiB, and the next task goes on from there.
func TestMirror(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	text := random(1, 9<<20)
	first := begin(t, s, "n1", nil)
	at := 0
	for _, n := range []int{10, 1000, pieceMin - 1010, 1, pieceMin + 5, 3 * pieceMax / 2} {
		first.write(text[at : at+n])
		at += n
	}
	if err := first.mirror.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, found := stored(t, s)
	if !bytes.Equal(found, text[:at]) {
		t.Errorf("%d bytes, expected %d", len(found), at)
	}
	for i, p := range log.pieces {
		if p.size > pieceMax || p.size < pieceMin && i < len(log.pieces)-1 {
			t.Errorf("piece %d has %d bytes", p.number, p.size)
		}
	}
	second := begin(t, s, "n2", text[:at-5])
	if log, found := stored(t, s); log.Lease != 2 || !bytes.Equal(found, text[:at-5]) {
		t.Errorf("lease %d, %d bytes", log.Lease, len(found))
	}
	second.write(text[at-5 : at+7])
	if err := second.mirror.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, found = stored(t, s)
	if log.Lease != 2 || !bytes.Equal(found, text[:at+7]) {
		t.Errorf("lease %d, %d bytes", log.Lease, len(found))
	}
	if len(log.Older) != 1 || log.Older[0].Lease != 1 || log.Older[0].Size != int64(at) {
		t.Errorf("older logs: %+v", log.Older)
	}
}

// TestFirstPieceLast: until a task has stored all that it began with, the log of the lease before
// counts.
func TestFirstPieceLast(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	text := random(2, 3*pieceMax)
	first := begin(t, s, "n1", text)
	if err := first.mirror.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lease, err := s.TakeLease(t.Context(), "shard-0003", "n2")
	if err != nil {
		t.Fatal(err)
	}
	for n := 3; n > 0; n-- {
		log, found := stored(t, s)
		if log.Lease != 1 || !bytes.Equal(found, text) {
			t.Errorf("before piece %d: lease %d, %d bytes", n, log.Lease, len(found))
		}
		piece := text[(n-1)*pieceMax : n*pieceMax]
		key := s.key(pieceKey("shard-0003/soak.log", lease.Number, n))
		if err := s.bucket.WriteAll(t.Context(), key, piece, nil); err != nil {
			t.Fatal(err)
		}
	}
	if log, found := stored(t, s); log.Lease != 2 || !bytes.Equal(found, text) {
		t.Errorf("lease %d, %d bytes", log.Lease, len(found))
	}
}

// TestTakenOver: a task that goes on after another one took its shard learns it at the next file
// end, and changes nothing that counts.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	first := begin(t, s, "n1", nil)
	first.write([]byte("one\n"))
	waitFor(t, func() bool { n, _ := first.mirror.Stored(); return n == 4 })
	second := begin(t, s, "n2", []byte("one\n"))
	second.write([]byte("two\n"))
	if err := second.mirror.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "verdict.json")
	put := func(k *task, text string) error {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return s.PutFile(t.Context(), k.lease, "verdict.json", path)
	}
	if err := put(second, "2"); err != nil {
		t.Fatal(err)
	}
	first.write([]byte("zombie\n"))
	waitFor(t, func() bool { return errors.Is(first.mirror.Owned(), ErrTakenOver) })
	if err := first.mirror.Close(t.Context()); !errors.Is(err, ErrTakenOver) {
		t.Errorf("closing: %v", err)
	}
	if err := put(first, "1"); !errors.Is(err, ErrTakenOver) {
		t.Errorf("writing the verdict: %v", err)
	}
	if _, found := stored(t, s); string(found) != "one\ntwo\n" {
		t.Errorf("log %q", found)
	}
	if text, err := s.Get(t.Context(), "shard-0003/verdict.json", 10); string(text) != "2" {
		t.Errorf("verdict %q, %v", text, err)
	}
}

// TestVerified: a piece that changed or vanished behind the mirror's back is found at its end.
func TestVerified(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(ctx context.Context, s *Store, key string) error{
		"changed": func(ctx context.Context, s *Store, key string) error {
			return s.bucket.WriteAll(ctx, key, make([]byte, pieceMin), nil)
		},
		"cut": func(ctx context.Context, s *Store, key string) error {
			return s.bucket.WriteAll(ctx, key, random(3, pieceMin-1), nil)
		},
		"gone": func(ctx context.Context, s *Store, key string) error {
			return s.bucket.Delete(ctx, key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			k := begin(t, s, "n1", nil)
			k.write(random(3, pieceMin))
			waitFor(t, func() bool { n, _ := k.mirror.Stored(); return n == pieceMin })
			k.write([]byte("tail"))
			key := s.key(pieceKey("shard-0003/soak.log", 1, 1))
			if err := damage(t.Context(), s, key); err != nil {
				t.Fatal(err)
			}
			if err := k.mirror.Close(t.Context()); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestOtherKeys: keys that vramsoak does not write are no shards and no logs, as in a folder. A
// copy of what is in the bucket stays in the folder that it is for.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	for _, key := range []string{
		"shard-0001/lease-000001", "shard-0001/soak.log/000001/000001",
		"shard-0001/../../out/soak.log/000001/000001", "shard-0001/gpu-x/soak.log/000001/000001",
		"shard-0001/gpu-0/gpu-1/soak.log/000001/000001",
		"shard-0001.old/soak.log/000001/000001", "shard-1/soak.log/000001/000001",
	} {
		if err := s.bucket.WriteAll(t.Context(), s.key(key), []byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Shards(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != "shard-0001" {
		t.Fatalf("%+v, %v", got, err)
	}
	dir := t.TempDir()
	logs, err := s.Fetch(t.Context(), got[0], filepath.Join(dir, "run", "shard-0001"))
	want := []string{filepath.Join(dir, "run", "shard-0001", "soak.log")}
	if diff := cmp.Diff(want, logs); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("the copy is outside of its folder")
	}
}

// TestShards: all shards of a run are listed with their logs, the logs of several GPUs, and what
// does not belong to a shard is left out.
func TestShards(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	for _, key := range []string{
		"run.json", "shard-0001/lease-000001", "shard-0001/soak.log/000001/000001",
		"shard-0001/run.json", "shard-0002/lease-000001", "shard-0002/lease-000003",
		"shard-0002/gpu-0/soak.log/000003/000001", "shard-0002/gpu-1/soak.log/000001/000001",
		"shard-0002/gpu-1/soak.log/000003/000002", "shard-0003/lease-000001",
	} {
		if err := s.bucket.WriteAll(t.Context(), s.key(key), []byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Shards(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, shard := range got {
		line := fmt.Sprint(shard.Name, " ", shard.Lease, " ", shard.Files)
		for _, log := range shard.Logs {
			line += fmt.Sprint(" ", log.Name(), " ", log.Lease)
		}
		lines = append(lines, line)
	}
	want := []string{
		"shard-0001 1 [run.json] soak.log 1", "shard-0002 3 [] gpu-0/soak.log 3 gpu-1/soak.log 1",
		"shard-0003 1 []",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dir := t.TempDir()
	logs, err := s.Fetch(t.Context(), got[1], dir, "run.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 2 || logs[1] != filepath.Join(dir, "gpu-1", "soak.log") {
		t.Errorf("logs %v", logs)
	}
	if text, err := os.ReadFile(logs[1]); string(text) != "shard-0002/gpu-1/soak.log/000001/000001" {
		t.Errorf("%q, %v", text, err)
	}
	if err := s.bucket.WriteAll(t.Context(), s.key("shard-0001/soak.log/000001/000003"), nil,
		&blob.WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Shards(t.Context()); err == nil || !strings.Contains(err.Error(), "piece 2") {
		t.Errorf("a log without its second piece: %v", err)
	}
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for !what() {
		select {
		case <-t.Context().Done():
			t.Fatal("it did not happen")
		case <-time.After(time.Millisecond):
		}
	}
}
