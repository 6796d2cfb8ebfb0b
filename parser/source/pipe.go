package source

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// errQuiet is what a reader returns when no more of a log has come for a while. What has come is
// then read, up to the end of its last line. Reading goes on behind it.
var errQuiet = errors.New("quiet")

const (
	// pollInterval is the time between two looks at a log that may grow.
	pollInterval = 100 * time.Millisecond
	// quietAfter is how long a reader waits for more of a log while more keeps coming, so that a block
	// of lines is seldom torn.
	quietAfter = 2 * pollInterval
)

// NewPipe returns a reader of what may block. It returns [errQuiet] when nothing has come for a
// while, and io.EOF when the context ends.
func NewPipe(ctx context.Context, r io.Reader) io.Reader {
	p := &pipe{ctx: ctx, chunks: make(chan chunkRead)}
	go func() {
		var bufs [2][Margin]byte // one is filled while the other is read
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

type pipe struct {
	ctx    context.Context
	chunks chan chunkRead
	rest   []byte
	err    error
	since  time.Time // when the first byte came of what is not told as quiet yet
}

type chunkRead struct {
	text []byte
	err  error
}

func (p *pipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 && p.err == nil {
		var quiet <-chan time.Time
		if !p.since.IsZero() {
			timer := time.NewTimer(min(pollInterval, max(0, quietAfter-time.Since(p.since))))
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

// MayWait reports whether a reader may have nothing for now, as a pipe or a terminal has: then it
// is read through [NewPipe].
func MayWait(r io.Reader) bool {
	switch r := r.(type) {
	case interface{ MayWait() bool }:
		return r.MayWait()
	case *os.File, *io.PipeReader:
		return true
	}
	return false
}

// A Patient reader reads on where another returns [errQuiet].
type Patient struct{ io.Reader }

// Read implements [io.Reader].
func (p Patient) Read(b []byte) (n int, err error) {
	for n, err = p.Reader.Read(b); errors.Is(err, errQuiet); n, err = p.Reader.Read(b) {
		if n > 0 {
			return n, nil
		}
	}
	return n, err
}
