package parser

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// Follow reads a log while it grows, like tail -f, until the context ends. It yields a record about
// 0.3 s after its line was written. If the last line has no newline yet, Follow waits for the rest
// of the line. The path "-" is standard input, which may also end by itself.
//
// If another file takes the path, or the file is truncated, Follow reads the old file to its end
// and calls notice, which may be nil. Then it reads the new file from its beginning and counts
// lines from 1 again. If the file is removed, Follow waits for a new file with this path.
func (set *Set) Follow(
	ctx context.Context,
	path, name string,
	notice func(string),
) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends the pipe's goroutine if the caller stops early
		defer cancel()
		if path == "-" {
			for rec, err := range set.readLines(source.NewPipe(ctx, os.Stdin), name) {
				if !yield(rec, err) {
					return
				}
			}
			return
		}
		for first := true; ; first = false {
			t, err := source.OpenTail(ctx, path, !first)
			if err != nil || t == nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			for rec, err := range set.readLines(t.Reader(), name) {
				if !yield(rec, err) || err != nil {
					_ = t.Close() // it was only read
					return
				}
			}
			_ = t.Close() // it was only read
			if t.Change() == "" {
				return
			}
			if notice != nil {
				notice(fmt.Sprintf("%s %s; reading it from its beginning", name, t.Change()))
			}
		}
	}
}

// readLines reads a stream whose format cannot be detected in advance, because no data has arrived
// yet.
func (set *Set) readLines(r io.Reader, name string) iter.Seq2[record.Record, error] {
	return recordsOf(soaklog.ResolveQuotes(scan.Batches(source.New(r), name, set.dialects())))
}
