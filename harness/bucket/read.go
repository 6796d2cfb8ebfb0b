package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Open returns a reader of a log. It reads one piece after the other and needs the memory of one.
// If the log still grows, the reader ends where the last piece ended when it was read.
func (s *Store) Open(ctx context.Context, log Log) io.ReadCloser { return s.OpenAt(ctx, log, 0) }

// OpenAt is Open from an offset in bytes.
func (s *Store) OpenAt(ctx context.Context, log Log, offset int64) io.ReadCloser {
	r := &logReader{ctx: ctx, store: s, log: log, skip: offset}
	for r.next < len(log.pieces) && r.skip >= log.pieces[r.next].size {
		if r.next == len(log.pieces)-1 {
			break // the last piece may have grown
		}
		r.skip -= log.pieces[r.next].size
		r.next++
	}
	return r
}

// A logReader reads the pieces of a log.
type logReader struct {
	ctx   context.Context
	store *Store
	log   Log
	next  int          // index of the next piece
	skip  int64        // bytes of it to leave out
	begun bool         // something was read
	text  bytes.Reader // what is left of the piece before
}

// headSize is how many bytes of a log's first piece are read at first. Often a caller needs only
// the first lines.
const headSize = 64 << 10

func (r *logReader) Read(p []byte) (int, error) {
	for r.text.Len() == 0 {
		if r.next == len(r.log.pieces) {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	return r.text.Read(p)
}

// fill reads the next piece, or the head of the first one.
func (r *logReader) fill() error {
	of := r.log.pieces[r.next]
	key := pieceKey(r.log.Key, r.log.Lease, of.number)
	if !r.begun && r.skip == 0 && of.size > headSize {
		text, err := r.store.get(r.ctx, key, pieceMax, headSize)
		if err != nil {
			return err
		}
		r.begun, r.skip = true, int64(len(text))
		r.text.Reset(text)
		return nil
	}
	text, err := r.store.readPiece(r.ctx, key, of.size)
	if err != nil {
		return err
	}
	r.begun = true
	r.text.Reset(text[min(r.skip, int64(len(text))):])
	r.skip = 0
	r.next++
	return nil
}

// Close ends the reading.
func (r *logReader) Close() error {
	r.next = len(r.log.pieces)
	r.text.Reset(nil)
	return nil
}

// readPiece returns a piece, which has at least a number of bytes: more if it has grown meanwhile.
func (s *Store) readPiece(ctx context.Context, key string, least int64) ([]byte, error) {
	text, err := s.get(ctx, key, pieceMax, -1)
	if err == nil && int64(len(text)) < least {
		err = s.fail("reading", key, fmt.Errorf("expected %d bytes, found %d", least, len(text)))
	}
	return text, err
}

// Get returns the content of a key, which has at most `most` bytes. If there is no such key, the
// error is an [os.ErrNotExist].
func (s *Store) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	text, err := s.get(ctx, key, most, -1)
	if notFound(err) {
		return nil, fmt.Errorf("%s: %w", s.address(key), os.ErrNotExist)
	}
	return text, err
}

// get returns the content of a key, or its first bytes if `first` is not negative. The whole
// content must have at most `most` bytes.
func (s *Store) get(ctx context.Context, key string, most, first int64) (text []byte, err error) {
	err = s.try(ctx, "reading", key, func(ctx context.Context) error {
		r, err := s.bucket.NewRangeReader(ctx, s.key(key), 0, first, nil)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // only read
		want := r.Size()
		if want > most {
			return fmt.Errorf("expected at most %d bytes, found %d", most, want)
		}
		if first >= 0 {
			want = min(want, first)
		}
		if text, err = io.ReadAll(io.LimitReader(r, want)); err != nil {
			return err
		}
		if int64(len(text)) != want {
			return fmt.Errorf("%w: expected %d bytes, found %d", errShort, want, len(text))
		}
		return nil
	})
	return text, err
}

// Fetch copies a shard into a folder, which then is like the folder of a shard on a disk: each log
// as one file, and the files with one of the given names. It returns the logs' paths.
func (s *Store) Fetch(ctx context.Context, shard Shard, dir string, files ...string) (
	logs []string, err error,
) {
	for _, log := range shard.Logs {
		path := filepath.Join(dir, filepath.FromSlash(log.Name()))
		if err := s.fetchLog(ctx, log, path); err != nil {
			return nil, err
		}
		logs = append(logs, path)
	}
	for _, name := range files {
		err := s.FetchFile(ctx, shard.Name+"/"+name, filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return logs, nil
}

// FetchFile copies the content of a key into a file, and makes the folder of the file. If there is
// no such key, the error is an [os.ErrNotExist].
func (s *Store) FetchFile(ctx context.Context, key, path string) error {
	text, err := s.Get(ctx, key, fileMax)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// fetchLog copies a log into a file, and makes the folder of the file.
func (s *Store) fetchLog(ctx context.Context, log Log, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, s.Open(ctx, log))
	return errors.Join(err, to.Close())
}

// fileMax is the largest file besides the logs that is read, in bytes. A verdict of 10,000 files
// has about 10 MiB.
const fileMax = 128 << 20
