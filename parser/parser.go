package parser

import (
	"context"
	"io"
	"iter"

	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/filetype"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/segments"
	"vramsoak/parser/source"
)

// Open opens a log: a file, a pipe, or "-" for standard input. See [source.Open].
func Open(path string) (*source.Log, error) {
	go allDialects() // prepares the built-in dialects while the log is opened
	return source.Open(path)
}

// Read yields the records of a log in the order of their lines. The parameter name becomes the
// path in the records' positions. If a line looks like a record and cannot be read, Read yields a
// [record.SyntaxError] and goes on. If reading fails, Read yields the I/O error with a nil
// record, and ends.
//
// Lines may have any length and may contain any bytes. Progress bars end their lines with '\r',
// so '\r' ends a line like '\n'. Read skips terminal escapes such as colours. The memory that it
// needs does not depend on the log's size. Several workers read a file at the same time. If r is
// a pipe and nothing arrives for a moment, Read yields the records that have arrived so far. Read
// also reads the outputs in Jupyter notebooks and JAX's device memory profiles; see package
// filetype.
func Read(
	r io.Reader,
	name string,
) iter.Seq2[record.Record, error] {
	return (*Set)(nil).Read(r, name)
}

// recordsOf yields the records of the batches. It joins the parts of a segment map into one record.
func recordsOf(batches iter.Seq2[*scan.Batch, error]) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		var maps segments.Joiner
		for b, err := range batches {
			for i := range b.Entries {
				if !maps.Add(b.Entries[i].Record(b.Line), yield) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		maps.End(yield)
	}
}

// readLog yields the records of a log, a notebook or a profile, in batches.
func readLog(r io.Reader, name string, m *scan.Dialects) iter.Seq2[*scan.Batch, error] {
	return func(yield func(*scan.Batch, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if source.MayWait(r) {
			r = source.NewPipe(ctx, r)
		}
		head, r := source.Head(r)
		other := filetype.Of(head)
		if other == nil {
			soaklog.ResolveQuotes(scan.Batches(source.New(r), name, m))(yield)
			return
		}
		other.Read(source.Patient{Reader: r}, name, m, func(rec record.Record, err error) bool {
			b := scan.Batch{}
			if c, ok := rec.(record.Checkpoint); ok {
				b.Entries = []scan.Entry{{Checkpoint: c}}
			} else if rec != nil {
				b.Entries = []scan.Entry{{Other: rec}}
			}
			return yield(&b, err)
		})
	}
}

// ParseLine returns the records of one line of a log, given with or without its newline. Most
// lines have at most one record. A line has several records if '\r' separates them, or if two
// processes wrote into the same line. A [record.SegmentMap] may be spread over several lines;
// ParseLine returns no record for one of these lines alone.
func (set *Set) ParseLine(line []byte, pos record.Position) []record.Record {
	s := scan.NewScanner(pos.Path, set.dialects())
	var out, rest scan.Batch
	win := source.OneLine(line)
	s.Scan(win, nil, &out)
	s.Finish(out.State, &rest)
	new(soaklog.Quotes).Resolve(&out)
	if len(out.Entries)+len(rest.Entries) == 0 {
		return nil
	}
	records := make([]record.Record, 0, len(out.Entries)+len(rest.Entries))
	add := func(rec record.Record) {
		if p, is := rec.(segments.Part); !is {
			records = append(records, rec)
		} else if p.Parts == 1 {
			records = append(records, segments.Join([]segments.Part{p}))
		}
	}
	for i := range out.Entries {
		add(out.Entries[i].Record(pos.Line - 1))
	}
	for i := range rest.Entries {
		add(rest.Entries[i].Record(pos.Line - 1 + out.Lines))
	}
	return records
}
