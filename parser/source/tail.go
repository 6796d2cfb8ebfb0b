package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// A Tail reads a file while it grows. Reading ends when another file takes the path, when the
// file is truncated, or when the context ends.
type Tail struct {
	ctx    context.Context
	path   string
	file   *os.File
	info   fs.FileInfo
	offset int64
	since  time.Time // arrival of the first byte since the last errQuiet; zero if none arrived
	change string
}

// OpenTail opens a file that may grow. If the file does not exist and wait is set, OpenTail waits
// until the file appears. If the context ends first, OpenTail returns no Tail and no error.
func OpenTail(ctx context.Context, path string, wait bool) (*Tail, error) {
	for {
		file, err := os.Open(path)
		if err == nil {
			return newTail(ctx, path, file)
		}
		if !wait || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !pause(ctx) {
			return nil, nil
		}
	}
}

// Reader returns the reader of the file. If the path is a named pipe, the reader is one of
// [NewPipe], because reading the pipe itself may block.
func (t *Tail) Reader() io.Reader {
	if !t.info.Mode().IsRegular() {
		return NewPipe(t.ctx, t.file)
	}
	return t
}

// Change returns why reading ended: the file "was replaced" or "was truncated". It returns "" if
// the context ended.
func (t *Tail) Change() string { return t.change }

// Close closes the file.
func (t *Tail) Close() error { return t.file.Close() }

func newTail(ctx context.Context, path string, file *os.File) (*Tail, error) {
	info, err := file.Stat()
	magic := make([]byte, 4)
	if err == nil && info.Mode().IsRegular() {
		_, _ = file.ReadAt(magic, 0) // a file that is still too short is not compressed
	}
	switch {
	case err == nil && info.IsDir():
		err = fmt.Errorf("%s is a folder; expected a log, such as the soak.log of a run folder", path)
	case bytes.HasPrefix(magic, gzipMagic) || bytes.HasPrefix(magic, zstdMagic):
		err = fmt.Errorf("%s is compressed and cannot be followed; read it without --follow", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Tail{ctx: ctx, path: path, file: file, info: info}, nil
}

// Read implements [io.Reader].
func (t *Tail) Read(p []byte) (int, error) {
	for idle := false; ; idle = true {
		n, err := t.read(p)
		if n > 0 || err != nil {
			return n, err
		}
		if !t.since.IsZero() && (idle || time.Since(t.since) >= quietAfter) {
			t.since = time.Time{}
			return 0, errQuiet
		}
		if t.replaced() {
			// The program may have written more after the last read, before the file was replaced.
			if n, err = t.read(p); n == 0 && err == nil {
				err = io.EOF
			}
			return n, err
		}
		if !pause(t.ctx) {
			t.change = ""
			return 0, io.EOF
		}
	}
}

// read copies bytes that the file has beyond the last read to p. At the end of the file it
// returns 0 and no error.
func (t *Tail) read(p []byte) (int, error) {
	n, err := t.file.Read(p)
	if n > 0 {
		t.offset += int64(n)
		if t.since.IsZero() {
			t.since = time.Now()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// replaced reports whether another file has the path now, or whether the file is now shorter than
// the part that was read already.
func (t *Tail) replaced() bool {
	info, err := os.Stat(t.path)
	switch {
	case err != nil: // the file was moved away, and the path has no new file yet
		return false
	case !os.SameFile(info, t.info):
		t.change = "was replaced"
	case info.Mode().IsRegular() && info.Size() < t.offset:
		t.change = "was truncated"
	default:
		return false
	}
	return true
}

// pause waits for [pollInterval] before the file is checked again. It returns false if the
// context ended first.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
