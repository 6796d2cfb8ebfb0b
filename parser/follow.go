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

// Follow is [Set.Read] of a log that grows, until the context ends. Records come within some 0.3 s; a last line without a
// newline waits for its end. "-" is standard input, which may also end by itself.
//
// When the file is replaced by another of its name, or truncated, what remained of it is read, and then the new one from
// its beginning, whose lines count from 1 again; notice, unless it is nil, is told so. A file that is gone is waited for.
func (set *Set) Follow(ctx context.Context, path, name string, notice func(string)) iter.Seq2[record.Record, error] {
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
			t, err := source.OpenTail(ctx, path, first)
			if err != nil || t == nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			r := io.Reader(t)
			if !t.Info.Mode().IsRegular() {
				r = source.NewPipe(ctx, t.File)
			}
			for rec, err := range set.readLines(r, name) {
				if !yield(rec, err) || err != nil {
					_ = t.File.Close() // only read
					return
				}
			}
			_ = t.File.Close() // only read
			if t.Change == "" {
				return
			}
			if notice != nil {
				notice(fmt.Sprintf("%s %s; reading it from its beginning", name, t.Change))
			}
		}
	}
}

// readLines is Read of what is not looked at beforehand to tell its form: it is not there yet.
func (set *Set) readLines(r io.Reader, name string) iter.Seq2[record.Record, error] {
	return recordsOf(soaklog.Resolved(scan.Batches(source.New(r), name, set.dialects())))
}
