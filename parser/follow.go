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

// Follow is [Set.Read] of a log that grows, until the context ends. Records come within about 0.3
// s; a last line without a newline waits for its end. "-" is standard input, which may also end by
// itself.
//
// If another file takes the name, or the file is truncated, Follow reads what was left of it, calls
// notice (which may be nil), and reads the new one from its beginning; lines count from 1 again. It
// waits for a file that was removed.
func (set *Set) Follow(
	ctx context.Context,
	path, name string,
	notice func(string),
) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends what waits when the caller goes
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

// readLines reads a stream whose form cannot be told in advance because no data has arrived yet.
func (set *Set) readLines(r io.Reader, name string) iter.Seq2[record.Record, error] {
	return recordsOf(soaklog.ResolveQuotes(scan.Batches(source.New(r), name, set.dialects())))
}
