package source

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// errQuiet is the error of a reader when the log has not grown for a moment. The caller should
// then process the bytes that have arrived, up to the end of the last line, and go on reading.
var errQuiet = errors.New("quiet")

const (
	// pollInterval is the time after which a reader checks again whether a log has grown.
	pollInterval = 100 * time.Millisecond
	// quietAfter is the longest time for which a reader that has got bytes reads on before it
	// returns [errQuiet]. With a shorter time, the parser would often see a block of lines before
	// its last lines arrive.
	quietAfter = 2 * pollInterval
)

// NewPipe returns a reader for a stream whose Read may block. After some bytes have arrived, the
// new reader returns [errQuiet] when nothing more arrives for a while. It returns io.EOF when the
// context ends.
func NewPipe(ctx context.Context, r io.Reader) io.Reader {
	p := &pipe{ctx: ctx, chunks: make(chan chunkRead)}
	go func() {
		var bufs [2][Margin]byte // one buffer is filled while the caller reads the other
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
	since  time.Time // arrival of the first byte since the last errQuiet; zero if none arrived
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

// MayWait reports whether reading r may block, because r is a pipe or a terminal. If it may
// block, r must be read through [NewPipe].
func MayWait(r io.Reader) bool {
	switch r := r.(type) {
	case interface{ MayWait() bool }:
		return r.MayWait()
	case *os.File, *io.PipeReader:
		return true
	}
	return false
}

// A Patient reader hides the [errQuiet] of the reader inside it, and reads on instead.
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
