package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Judge judges the logs of a run as far as they go now, as the given look. If only the first Lines
// lines of the logs are given, the result is the same later.
func Judge(ctx context.Context, logs []string, policy check.Policy, dialects *parser.Set,
	look int,
) (Result, error) {
	r := Result{Look: look, Lines: map[string]int{}}
	j := check.New(policy)
	j.Trends, j.Look = true, look
	b := &parser.Builder{Dialects: dialects}
	b.Done = func(f *timeline.File) { j.Add(f) }
	for _, path := range logs {
		before := b.SoFar().Lines
		if err := read(ctx, b, path); err != nil {
			return r, fmt.Errorf(
				"judge the run while it goes on: %w; the verdict at its end does not need this", err)
		}
		r.Lines[path] = b.SoFar().Lines - before
	}
	tl := b.Timeline()
	for _, f := range tl.LastAttempts() {
		if f.Status != record.StatusUnknown {
			r.Files++
		}
	}
	if len(tl.Runs) > 0 && tl.Runs[0].Start.Shards > 0 { // every shard is looked at
		j.Share = 1 / float64(tl.Runs[0].Start.Shards)
	}
	r.Report = j.Report(tl)
	return r, nil
}

// read reads the whole lines of a log.
func read(ctx context.Context, b *parser.Builder, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size, err := wholeLines(file, info.Size())
	if err != nil {
		return err
	}
	return b.Read(&stoppable{ctx: ctx, Reader: io.NewSectionReader(file, 0, size)}, path)
}

// wholeLines returns the size of a file without the line at its end that has no newline yet.
func wholeLines(file io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 64<<10)
	for size > 0 {
		from := max(0, size-int64(len(block)))
		n, err := file.ReadAt(block[:size-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		size = from
	}
	return 0, nil
}

// A stoppable reader ends when its context ends.
type stoppable struct {
	ctx context.Context
	io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}
