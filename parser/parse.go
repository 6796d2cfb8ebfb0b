package parser

import (
	"context"
	"io"
	"iter"
)

// Read yields the records of a log in its order. name stands in their positions. A line that looks like a record and
// cannot be read is a [SyntaxError] record; an I/O error is yielded once, with a nil record, and ends the reading.
//
// Lines may be of any length and hold any bytes: a '\r' ends a piece of a line as '\n' does (progress bars), and terminal
// escapes are passed over. Memory is constant. A file is read on several processors; what a pipe gives is read when nothing more
// has come for a moment. Files of other forms are told by how they
// begin: of a Jupyter notebook the outputs are read, each line at its place in the file; a device memory profile of JAX
// (pprof) is one reading a device.
func Read(r io.Reader, name string) iter.Seq2[Record, error] { return (*Set)(nil).Read(r, name) }

// recordsOf are the records of the batches.
func recordsOf(batches iter.Seq2[*batch, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var maps segmentJoiner
		for b, err := range batches {
			for i := range b.entries {
				if !maps.add(b.entries[i].record(b.line), yield) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		maps.end(yield)
	}
}

// readLog yields what is in a log, of whatever form.
func readLog(r io.Reader, name string, m *dialectSet) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if mayWait(r) {
			r = newPipe(ctx, r)
		}
		form, r := formOf(r)
		if form == nil {
			resolved(batches(newSource(r), name, m))(yield)
			return
		}
		form.read(patient{r}, name, m, func(rec Record, err error) bool {
			b := batch{}
			if c, ok := rec.(Checkpoint); ok {
				b.entries = []entry{{Checkpoint: c}}
			} else if rec != nil {
				b.entries = []entry{{other: rec}}
			}
			return yield(&b, err)
		})
	}
}

// ParseLine reads one line of a log, with or without its newline, and returns the records that it holds: mostly none or
// one, more where '\r' or a torn write put several on one line. A line that is a part of a [SegmentMap] has none.
func ParseLine(line []byte, pos Position) []Record { return (*Set)(nil).ParseLine(line, pos) }

func parseLine(line []byte, pos Position, m *dialectSet) []Record {
	s := newScanner(pos.Path, m)
	var out, rest batch
	s.scan(window{buf: line, to: len(line), docker: isDocker(line)}, 0, nil, &out)
	s.finish(out.tables, &rest)
	new(quotes).resolve(&out)
	if len(out.entries)+len(rest.entries) == 0 {
		return nil
	}
	records := make([]Record, 0, len(out.entries)+len(rest.entries))
	add := func(rec Record) {
		if p, is := rec.(segmentPart); !is {
			records = append(records, rec)
		} else if p.parts == 1 {
			records = append(records, join([]segmentPart{p}))
		}
	}
	for i := range out.entries {
		add(out.entries[i].record(pos.Line - 1))
	}
	for i := range rest.entries {
		add(rest.entries[i].record(pos.Line - 1 + out.lines))
	}
	return records
}
