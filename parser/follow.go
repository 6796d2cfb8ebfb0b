package parser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
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

// errQuiet is what a reader says between two pieces of a log when no more is there for now: what has come is to be read up
// to the end of its last line.
var errQuiet = errors.New("quiet")

// Follow is [Set.Read] of a log that grows, until the context ends. Records come within some 0.3 s; a last line without a
// newline waits for its end. "-" is standard input, which may also end by itself.
//
// When the file is replaced by another of its name, or truncated, what remained of it is read, and then the new one from
// its beginning, whose lines count from 1 again; notice, unless it is nil, is told so. A file that is gone is waited for.
func (set *Set) Follow(ctx context.Context, path, name string, notice func(string)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends what waits when the caller goes
		defer cancel()
		if path == "-" {
			for rec, err := range set.readLines(newPipe(ctx, os.Stdin), name) {
				if !yield(rec, err) {
					return
				}
			}
			return
		}
		for first := true; ; first = false {
			t, err := openTail(ctx, path, first)
			if err != nil || t == nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			r := io.Reader(t)
			if !t.info.Mode().IsRegular() {
				r = newPipe(ctx, t.file)
			}
			for rec, err := range set.readLines(r, name) {
				if !yield(rec, err) || err != nil {
					_ = t.file.Close() // only read
					return
				}
			}
			_ = t.file.Close() // only read
			if t.change == "" {
				return
			}
			if notice != nil {
				notice(fmt.Sprintf("%s %s; reading it from its beginning", name, t.change))
			}
		}
	}
}

// readLines is Read of what is not looked at beforehand to tell its form: it is not there yet.
func (set *Set) readLines(r io.Reader, name string) iter.Seq2[Record, error] {
	return recordsOf(batches(newSource(r), name, set.needles()))
}

// A tail reads a file as it grows. It ends where the file of that name is another one, or was truncated, or the context
// ended.
type tail struct {
	ctx    context.Context
	path   string
	file   *os.File
	info   fs.FileInfo
	offset int64
	since  time.Time // of the first byte that the reader may be holding back, zero where there is none
	change string    // why the file ended
}

// openTail opens a file; the first time it must be there. It is nil where the context ended before.
func openTail(ctx context.Context, path string, first bool) (*tail, error) {
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
	return &tail{ctx: ctx, path: path, file: file, info: info}, nil
}

func (t *tail) Read(p []byte) (int, error) {
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
			// What was written before it was replaced may have come after the last look.
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

// read reads what is there: nothing at the file's end.
func (t *tail) read(p []byte) (int, error) {
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

// replaced says whether the name is another file's, or the file is shorter than what was read of it.
func (t *tail) replaced() bool {
	info, err := os.Stat(t.path)
	switch {
	case err != nil: // moved away, and not made anew yet
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

// A pipe reads what blocks, and says so when nothing has come for a while.
type pipe struct {
	ctx    context.Context
	chunks chan chunkRead
	rest   []byte
	err    error
	since  time.Time
}

type chunkRead struct {
	text []byte
	err  error
}

func newPipe(ctx context.Context, r io.Reader) *pipe {
	p := &pipe{ctx: ctx, chunks: make(chan chunkRead)}
	go func() {
		var bufs [2][margin]byte // the one is read into while the other is read from
		for i := 0; ; i = 1 - i {
			buf := bufs[i][:]
			n, err := r.Read(buf)
			select {
			case p.chunks <- chunkRead{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *pipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 && p.err == nil {
		var quiet <-chan time.Time
		if !p.since.IsZero() {
			timer := time.NewTimer(min(followEvery, max(0, quietAfter-time.Since(p.since))))
			defer timer.Stop()
			quiet = timer.C
		}
		select {
		case c := <-p.chunks:
			p.rest, p.err = c.text, c.err
			if p.since.IsZero() {
				p.since = time.Now()
			}
		case <-quiet:
			p.since = time.Time{}
			return 0, errQuiet
		case <-p.ctx.Done():
			return 0, io.EOF
		}
	}
	if len(p.rest) == 0 {
		return 0, p.err
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// lastLineEnd is the end of the last line of buf[from:], or from: a '\r' may be followed by '\n' yet.
func lastLineEnd(buf []byte, from int) int {
	for i := len(buf); i > from; i-- {
		if b := buf[i-1]; b == '\n' || b == '\r' && i < len(buf) {
			return i
		}
	}
	return from
}
