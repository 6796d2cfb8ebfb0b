package source

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrQuiet is what a reader says between two pieces of a log when no more is there for now: what has come is to be read up
// to the end of its last line.
var ErrQuiet = errors.New("quiet")

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

func NewPipe(ctx context.Context, r io.Reader) *pipe {
	p := &pipe{ctx: ctx, chunks: make(chan chunkRead)}
	go func() {
		var bufs [2][Margin]byte // the one is read into while the other is read from
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
			return 0, ErrQuiet
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
