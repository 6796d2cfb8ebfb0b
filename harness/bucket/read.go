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
// A piece is delivered only when it was read as a whole and its checksum is right. If the log
// still grows, the reader ends where the last piece ended when it was read.
func (s *Store) Open(ctx context.Context, log Log) io.ReadCloser {
	return &logReader{ctx: ctx, store: s, log: log}
}

// A logReader reads the pieces of a log.
type logReader struct {
	ctx   context.Context
	store *Store
	log   Log
	next  int          // index of the next piece
	text  bytes.Reader // what is left of the piece before
}

func (r *logReader) Read(p []byte) (int, error) {
	for r.text.Len() == 0 {
		if r.next == len(r.log.pieces) {
			return 0, io.EOF
		}
		of := r.log.pieces[r.next]
		text, err := r.store.readPiece(r.ctx, pieceKey(r.log.Key, r.log.Lease, of.number), of.size)
		if err != nil {
			return 0, err
		}
		r.text.Reset(text)
		r.next++
	}
	return r.text.Read(p)
}

// Close ends the reading.
func (r *logReader) Close() error {
	r.next = len(r.log.pieces)
	r.text.Reset(nil)
	return nil
}

// readPiece returns a piece, which has at least a number of bytes: more if it has grown meanwhile.
func (s *Store) readPiece(ctx context.Context, key string, least int64) ([]byte, error) {
	text, err := s.get(ctx, key, pieceMax)
	if err == nil && int64(len(text)) < least {
		err = s.fail("reading", key, fmt.Errorf("expected %d bytes, found %d", least, len(text)))
	}
	return text, err
}

// Get returns the content of a key, which has at most `most` bytes. If there is no such key, the
// error is an [os.ErrNotExist].
func (s *Store) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	text, err := s.get(ctx, key, most)
	if notFound(err) {
		return nil, fmt.Errorf("%s: %w", s.address(key), os.ErrNotExist)
	}
	return text, err
}

func (s *Store) get(ctx context.Context, key string, most int64) (text []byte, err error) {
	err = s.try(ctx, "reading", key, func(ctx context.Context) error {
		r, err := s.bucket.NewReader(ctx, s.key(key), nil)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // only read
		if r.Size() > most {
			return fmt.Errorf("expected at most %d bytes, found %d", most, r.Size())
		}
		if text, err = io.ReadAll(io.LimitReader(r, most+1)); err != nil {
			return err
		}
		if int64(len(text)) != r.Size() {
			return fmt.Errorf("%w: expected %d bytes, found %d", errShort, r.Size(), len(text))
		}
		return nil
	})
	return text, err
}

// Fetch copies a shard into a folder, which then is like the folder of a shard on a disk: each log
// as one file, and the files with one of the given names. It returns the logs' paths. The folder
// must exist.
func (s *Store) Fetch(ctx context.Context, shard Shard, dir string, files ...string) (
	logs []string, err error,
) {
	for _, log := range shard.Logs {
		path := filepath.Join(dir, filepath.FromSlash(log.Name()))
		if err := s.FetchLog(ctx, log, path); err != nil {
			return nil, err
		}
		logs = append(logs, path)
	}
	for _, name := range files {
		text, err := s.Get(ctx, shard.Name+"/"+name, fileMax)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// FetchLog copies a log into a file, and makes the folder of the file.
func (s *Store) FetchLog(ctx context.Context, log Log, path string) error {
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
