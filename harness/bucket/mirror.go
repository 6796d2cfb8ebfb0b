package bucket

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
)

// Sizes of the pieces of a log, in bytes. Only the last piece may be smaller than pieceMin.
const (
	pieceMin = 1 << 20
	pieceMax = 4 << 20
)

// A Mirror stores a log that grows on the local disk as a series of pieces. One goroutine uploads,
// so that whoever writes the log never waits for the store. It needs the memory of one piece.
type Mirror struct {
	store *Store
	lease Lease
	key   string // of the log: "shard-0003/soak.log"
	path  string // of the log on the disk

	target atomic.Int64  // bytes of the log that are to be stored
	wake   chan struct{} // has a value when target has grown
	stop   context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended

	// What follows belongs to the goroutine, and to Begin, Close before and after it runs.

	sealed int64 // bytes in the pieces that are never written again
	tail   int64 // bytes of the last piece that are stored
	piece  int   // number of the last piece, from 1

	mu     sync.Mutex
	stored int64
	err    error // the last failure, nil if the last request succeeded
}

// NewMirror returns a mirror for the log at a path. The parameter name is the log's name in the
// shard: "soak.log", or "gpu-0/soak.log".
func (s *Store) NewMirror(lease Lease, name, path string) *Mirror {
	return &Mirror{
		store: s, lease: lease, key: lease.Shard + "/" + name, path: path, piece: 1,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Begin stores what the log holds already, and then starts to upload what [Mirror.Sync] announces.
// What it holds is a copy of the log of an earlier lease. Its first piece is stored last, so that
// the log of the earlier lease counts until the whole copy is there. A task with several logs
// calls Begin for all of them before it begins to work.
func (m *Mirror) Begin(ctx context.Context) error {
	info, err := os.Stat(m.path)
	switch size := int64(0); {
	case errors.Is(err, os.ErrNotExist): // the run has not begun
	case err != nil:
		return err
	default:
		if size = info.Size(); size > 0 {
			if err := m.storeCopy(ctx, size); err != nil {
				return err
			}
		}
	}
	// The uploads go on when the caller's context ends: the end of the log is stored then, too.
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.target.Store(m.stored)
	go m.upload(ctx)
	return nil
}

// storeCopy stores the first bytes of the log, and the first piece last of all.
func (m *Mirror) storeCopy(ctx context.Context, size int64) error {
	put := func(piece int, from, length int64) error {
		return m.store.try(ctx, "writing", m.pieceKey(piece), func(ctx context.Context) error {
			return m.put(ctx, piece, from, length)
		})
	}
	first := pieceLength(size)
	last, at, length := 1, int64(0), first
	for at+length < size {
		last, at = last+1, at+length
		length = pieceLength(size - at)
		if err := put(last, at, length); err != nil {
			return err
		}
	}
	if err := put(1, 0, first); err != nil {
		return err
	}
	m.piece = last
	m.settle(size, length)
	return nil
}

// pieceLength returns how many of the bytes that are left the next piece has.
func pieceLength(left int64) int64 { return min(left, pieceMax) }

// settle notes that the log is stored up to an offset, the last piece with length bytes.
func (m *Mirror) settle(end, length int64) {
	m.sealed, m.tail = end-length, length
	if length >= pieceMin {
		m.sealed, m.tail = end, 0
		m.piece++
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored, m.err = end, nil
}

// Sync announces that the log is on the disk up to a size, in bytes. It returns at once.
func (m *Mirror) Sync(size int64) {
	for old := m.target.Load(); old < size; old = m.target.Load() {
		if m.target.CompareAndSwap(old, size) {
			break
		}
	}
	select {
	case m.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Stored returns how many bytes of the log are in the store, and why no more are: nil if the last
// request succeeded.
func (m *Mirror) Stored() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored, m.err
}

// Owned returns an error that wraps [ErrTakenOver] if another task has taken the shard over, as far
// as the uploads have found out. Nothing is stored then any more.
func (m *Mirror) Owned() error {
	if _, err := m.Stored(); errors.Is(err, ErrTakenOver) {
		return err
	}
	return nil
}

// upload stores the log up to the target, whenever that grows, until the context ends.
func (m *Mirror) upload(ctx context.Context) {
	defer close(m.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		}
		said := false
		for failed := 0; m.sealed+m.tail < m.target.Load() && ctx.Err() == nil; {
			err := m.step(ctx)
			switch {
			case errors.Is(err, ErrTakenOver):
				m.failed(err)
				return
			case err == nil:
				if failed = 0; said {
					said = false
					m.store.note("the store answers again", m.key)
				}
			case ctx.Err() == nil:
				m.failed(err)
				if failed++; failed >= saidAfter && !said {
					said = true
					m.store.say("the log is not stored for now; the run goes on, and the log is "+
						"stored when the store answers again", err)
				}
				sleep(ctx, wait(failed))
			}
		}
	}
}

// saidAfter is the number of failures in a row after which the user is told.
const saidAfter = 2

// step stores the next piece of the log, or more of the last one, if the shard is still the task's.
func (m *Mirror) step(ctx context.Context) error {
	if err := m.store.Holds(ctx, m.lease); err != nil {
		return err
	}
	length := pieceLength(m.target.Load() - m.sealed)
	if err := m.put(ctx, m.piece, m.sealed, length); err != nil {
		return m.store.fail("writing", m.pieceKey(m.piece), err)
	}
	m.settle(m.sealed+length, length)
	return nil
}

func (m *Mirror) failed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *Mirror) pieceKey(piece int) string { return pieceKey(m.key, m.lease.Number, piece) }

// put writes a piece of the log.
func (m *Mirror) put(ctx context.Context, piece int, from, length int64) error {
	text, err := m.read(from, length)
	if err != nil {
		return err
	}
	return m.store.bucket.WriteAll(ctx, m.store.key(m.pieceKey(piece)), text,
		&blob.WriterOptions{ContentType: "text/plain; charset=utf-8"})
}

// read returns a part of the log on the disk.
func (m *Mirror) read(from, length int64) ([]byte, error) {
	f, err := os.Open(m.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	text := make([]byte, length)
	if _, err := f.ReadAt(text, from); err != nil {
		return nil, fmt.Errorf("%s: expected at least %d bytes: %w", m.path, from+length, err)
	}
	return text, nil
}

// Close stores the rest of the log and compares what is stored with the log on the disk. When the
// context ends before that is done, it returns an error that says how much is stored. If another
// task took the shard over, the error wraps [ErrTakenOver].
func (m *Mirror) Close(ctx context.Context) error {
	if m.stop == nil {
		return nil // it has not begun
	}
	defer m.stop()
	info, err := os.Stat(m.path)
	if err != nil {
		return err
	}
	m.Sync(info.Size())
	if err := m.await(ctx, info.Size()); err != nil {
		return err
	}
	m.stop()
	<-m.done
	if m.stored == 0 {
		return nil
	}
	return m.verify(ctx)
}

// await waits until the log is stored up to a size.
func (m *Mirror) await(ctx context.Context, size int64) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		stored, err := m.Stored()
		switch {
		case errors.Is(err, ErrTakenOver):
			return err
		case stored >= size:
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("%s: %d of the log's %d bytes are stored; %s has them all: %w",
				m.store.address(m.key), stored, size, m.path, err)
		case <-tick.C:
		}
	}
}

// verify compares the pieces in the store with the log on the disk, by size and content. It returns
// an error unless the lease is the highest. It finds that in a list, because a number is missing if
// a server was killed while the lease was written.
func (m *Mirror) verify(ctx context.Context) error {
	highest, err := m.store.highestLease(ctx, m.lease.Shard)
	if err != nil {
		return err
	}
	if highest > m.lease.Number {
		err := m.store.tookOver(ctx, m.lease, highest)
		m.failed(err)
		return err
	}
	pieces, err := m.store.pieces(ctx, m.key, m.lease.Number)
	if err != nil {
		return err
	}
	at := int64(0)
	for i, p := range pieces {
		if p.number != i+1 || at+p.size > m.stored {
			break
		}
		text, err := m.read(at, p.size)
		if err != nil {
			return err
		}
		// The sum that a store gives is not the MD5 of the content if the store encrypts it.
		if sum := md5.Sum(text); !bytes.Equal(sum[:], p.md5) {
			found, err := m.store.readPiece(ctx, m.pieceKey(p.number), p.size)
			if err != nil {
				return err
			}
			if !bytes.Equal(found, text) {
				return fmt.Errorf("%s: expected the %d bytes from %d of %s, found others",
					m.store.address(m.pieceKey(p.number)), p.size, at, m.path)
			}
		}
		at += p.size
	}
	if at != m.stored {
		return fmt.Errorf("%s: expected the %d bytes of %s in the pieces of lease %d, found %d",
			m.store.address(m.key), m.stored, m.path, m.lease.Number, at)
	}
	return nil
}
