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

const (
	// followEvery is the time between two looks at a log that is followed.
	followEvery = 100 * time.Millisecond
	// quietAfter is how long what has come may wait for more, where more keeps coming: a block of lines is not torn without
	// need.
	quietAfter = 2 * followEvery
)

// A tail reads a file as it grows. It ends where the file of that name is another one, or was truncated, or the context
// ended.
type tail struct {
	ctx    context.Context
	path   string
	File   *os.File
	Info   fs.FileInfo
	offset int64
	since  time.Time // of the first byte that the reader may be holding back, zero where there is none
	Change string    // why the file ended
}

// OpenTail opens a file; the first time it must be there. It is nil where the context ended before.
func OpenTail(ctx context.Context, path string, first bool) (*tail, error) {
	for {
		file, err := os.Open(path)
		if err == nil {
			return newTail(ctx, path, file)
		}
		if first || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !pause(ctx) {
			return nil, nil
		}
	}
}

func newTail(ctx context.Context, path string, file *os.File) (*tail, error) {
	info, err := file.Stat()
	magic := make([]byte, 4)
	if err == nil && info.Mode().IsRegular() {
		_, _ = file.ReadAt(magic, 0) // what is not there yet is no magic
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
	return &tail{ctx: ctx, path: path, File: file, Info: info}, nil
}

func (t *tail) Read(p []byte) (int, error) {
	for idle := false; ; idle = true {
		n, err := t.read(p)
		if n > 0 || err != nil {
			return n, err
		}
		if !t.since.IsZero() && (idle || time.Since(t.since) >= quietAfter) {
			t.since = time.Time{}
			return 0, ErrQuiet
		}
		if t.replaced() {
			// What was written before it was replaced may have come after the last look.
			if n, err = t.read(p); n == 0 && err == nil {
				err = io.EOF
			}
			return n, err
		}
		if !pause(t.ctx) {
			t.Change = ""
			return 0, io.EOF
		}
	}
}

// read reads what is there: nothing at the file's end.
func (t *tail) read(p []byte) (int, error) {
	n, err := t.File.Read(p)
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

// replaced says whether the name is another file's, or the file is shorter than what was read of it.
func (t *tail) replaced() bool {
	info, err := os.Stat(t.path)
	switch {
	case err != nil: // moved away, and not made anew yet
		return false
	case !os.SameFile(info, t.Info):
		t.Change = "was replaced"
	case info.Mode().IsRegular() && info.Size() < t.offset:
		t.Change = "was truncated"
	default:
		return false
	}
	return true
}

// pause waits for the next look. It is false where the context ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
