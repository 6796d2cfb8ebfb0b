package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/bucket"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser/record"
)

// A bucketShard keeps the shard of a task in a bucket. The task itself works in a scratch folder on
// the local disk, which is like a run folder.
type bucketShard struct {
	// ctx ends the requests before the first process starts. Later uploads go on when it ends.
	ctx     context.Context
	store   *bucket.Store
	address string       // of the run
	scratch string       // folder
	dir     string       // folder of the shard in it
	found   bucket.Shard // what the bucket had at first
	lease   bucket.Lease
	keep    bool // the scratch folder has lines that the bucket does not have

	mu      sync.Mutex
	mirrors map[string]*bucket.Mirror // by the path of the log
}

const (
	// storeMax is how long a task waits at its end until the store has taken the rest.
	storeMax = 10 * time.Minute
	// saidAfter is how long it waits before it says so.
	saidAfter = 3 * time.Second
)

// useBucket makes the task keep its shard in a bucket, if --runs is the address of one. It copies
// what the bucket has of the shard, without its logs.
func (t *shardTask) useBucket(ctx context.Context, o soakOptions, logger *slog.Logger) error {
	if !bucket.IsAddress(o.runs) {
		return nil
	}
	b := &bucketShard{
		ctx: ctx, address: bucket.Join(o.runs, o.run), mirrors: map[string]*bucket.Mirror{},
	}
	var err error
	if b.store, err = bucket.Open(ctx, b.address); err != nil {
		return fmt.Errorf("--runs: %w", err)
	}
	b.store.Logger = logger
	t.bucket = b
	if b.scratch, err = os.MkdirTemp("", "vramsoak-shard-"); err != nil {
		return fmt.Errorf("--runs: making a folder to work in: %w", err)
	}
	t.run = filepath.Join(b.scratch, o.run)
	t.dir = filepath.Join(t.run, shard.Folder(t.share.Shard))
	b.dir = t.dir
	showAs(t.run, b.address)
	if err := b.fetch(t.run); err != nil {
		return fmt.Errorf("--runs: %w", err)
	}
	return nil
}

// fetch copies what the bucket has of the run and of the shard.
func (b *bucketShard) fetch(run string) error {
	found, err := b.store.Shard(b.ctx, filepath.Base(b.dir))
	if err != nil {
		return err
	}
	b.found = found
	_, err = b.store.Fetch(b.ctx, found, b.dir, runfolder.InfoName, runfolder.BatchName)
	if err != nil {
		return err
	}
	err = b.store.FetchFile(b.ctx, runfolder.InfoName, filepath.Join(run, runfolder.InfoName))
	if errors.Is(err, fs.ErrNotExist) { // this task is the first
		return nil
	}
	return err
}

// share stores the run.json of the run if this task is the first, and otherwise returns an error
// unless the tasks before had the same run.
func (b *bucketShard) share(run string, want runfolder.Sharded) error {
	path := filepath.Join(run, runfolder.InfoName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	found, err := b.store.PutOnce(b.ctx, runfolder.InfoName, text)
	if err == nil && !bytes.Equal(found, text) {
		err = os.WriteFile(path, found, 0o644)
	}
	if err != nil {
		return err
	}
	_, err = want.Join(run)
	return err
}

// takeOver takes a lease. It copies the logs again if they have changed since they were copied, and
// reports whether there are any.
func (b *bucketShard) takeOver(cfg *harness.Config, node string) (resume bool, err error) {
	if b.lease, err = b.store.TakeLease(b.ctx, filepath.Base(b.dir), node); err != nil {
		return false, err
	}
	cfg.Share.Owner = record.Owner{Lease: b.lease.Number, Node: node}
	cfg.Owned, cfg.OnDisk = b.owned, b.onDisk
	now, err := b.store.Shard(b.ctx, b.lease.Shard)
	if err != nil {
		return false, err
	}
	same := func(x, y bucket.Log) bool {
		return x.Key == y.Key && x.Lease == y.Lease && x.Size == y.Size
	}
	if !slices.EqualFunc(b.found.Logs, now.Logs, same) {
		if _, err = b.store.Fetch(b.ctx, now, b.dir); err != nil {
			return false, err
		}
	}
	return len(now.Logs) > 0, nil
}

// owned returns an error if another task has taken over the shard.
func (b *bucketShard) owned() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mirrors {
		if err := m.Owned(); err != nil {
			return err
		}
	}
	return nil
}

// onDisk announces that a log is on the disk up to a size. The first call for a log, which comes
// before the first process starts, waits until the store has what the log holds.
func (b *bucketShard) onDisk(log string, size int64) error {
	b.mu.Lock()
	m := b.mirrors[log]
	if m != nil {
		b.mu.Unlock()
		m.Sync(size)
		return nil
	}
	name, err := filepath.Rel(b.dir, log)
	if err == nil {
		m = b.store.NewMirror(b.lease, filepath.ToSlash(name), log)
		b.mirrors[log] = m
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return m.Begin(b.ctx)
}

// begin makes the requests before the first process starts end with ctx.
func (b *bucketShard) begin(ctx context.Context) {
	if b != nil {
		b.ctx = ctx
	}
}

// finish stores the rest of the logs and verifies the stored logs. Storing stops after storeMax, or
// when the user interrupts a second time. Both also hold for the files that the caller stores
// later; the caller calls release after that.
func (b *bucketShard) finish(ctx context.Context, kill <-chan struct{}) (
	release func(), err error,
) {
	if b == nil {
		return func() {}, nil
	}
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeMax)
	stored := make(chan struct{})
	go func() {
		select {
		case <-kill:
			cancel()
		case <-stored:
		}
	}()
	release = func() {
		close(stored)
		cancel()
	}
	if b.owned() != nil {
		return release, nil // the run ended with this error
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	saying := time.AfterFunc(saidAfter, func() {
		stderr.Printf("waiting up to %v until the store has the rest of the log; interrupt twice to "+
			"end without it\n", storeMax)
	})
	defer saying.Stop()
	var errs []error
	for _, m := range b.mirrors {
		errs = append(errs, m.Close(b.ctx))
	}
	if err = errors.Join(errs...); err != nil && !errors.Is(err, bucket.ErrTakenOver) {
		b.keep = true
		err = fmt.Errorf("the log could not be stored: %w", err)
	}
	return release, err
}

// putFiles stores the files of the shard besides its logs. run.json comes last, because it says how
// the task ended.
func (b *bucketShard) putFiles() error {
	if b.keep {
		return nil // the log is not stored, and that is the error
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	put := func(name string) error {
		return b.store.PutFile(b.ctx, b.lease, name, filepath.Join(b.dir, name))
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || name == harness.LogName || name == runfolder.InfoName {
			continue
		}
		if err := put(name); err != nil {
			return err
		}
	}
	return put(runfolder.InfoName)
}

// close removes the scratch folder, unless it has lines that the bucket does not have.
func (b *bucketShard) close() {
	if b == nil {
		return
	}
	_ = b.store.Close() // nothing is under way any more
	if !b.keep && b.scratch != "" {
		_ = os.RemoveAll(b.scratch) // it is of no use to anybody
	}
}
