// Package records writes the records of a log, one in each line: as a table, as JSON lines or as
// CSV.
package records

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// Formats are the formats of [Write].
var Formats = []string{"table", "jsonl", "csv"}

// Options say how to write records.
type Options struct {
	Format string
	// Names is set to write each log's name above its records in a table.
	Names bool
	// Live is set to write each record at once, for a log that grows.
	Live bool
}

// Write writes one line for each record as soon as the record arrives. The format "table" is for
// people. "jsonl" has every field, and "csv" a column for each quantity. Sizes in jsonl and csv are
// bytes. In jsonl, "<quantity>_resolution" is half of one unit of the last printed digit, in bytes;
// it is missing if the size is exact. If the records end with an error, Write writes the records
// before the error and returns it.
func Write(w io.Writer, records iter.Seq2[record.Record, error], opts Options) (Counts, error) {
	var counts Counts
	buf := bufio.NewWriter(w)
	var write func(flat) error
	switch opts.Format {
	case "table":
		last := ""
		write = func(r flat) error {
			if path := r.Head().Pos.Path; opts.Names && path != last {
				last = path
				if _, err := fmt.Fprintf(buf, "==> %s <==\n", sink.Line(path)); err != nil {
					return err
				}
			}
			return r.writeRow(buf)
		}
	case "jsonl":
		enc := sink.JSONLines(buf)
		write = func(r flat) error { return enc.Encode(r.fields()) }
	case "csv":
		c := csv.NewWriter(buf)
		if err := c.Write(csvHeader()); err != nil {
			return counts, err
		}
		write = func(r flat) error {
			err := c.Write(r.row())
			c.Flush()
			return err
		}
	default:
		return counts, fmt.Errorf("expected a format of %s, found %q", strings.Join(Formats, ", "),
			opts.Format)
	}
	for rec, err := range records {
		if err != nil {
			if flushErr := buf.Flush(); flushErr != nil {
				return counts, fmt.Errorf("write the records: %w", flushErr)
			}
			return counts, err
		}
		counts.add(rec)
		err = write(flatten(rec))
		if err == nil && opts.Live {
			err = buf.Flush()
		}
		if err != nil {
			return counts, fmt.Errorf("write the records: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return counts, fmt.Errorf("write the records: %w", err)
	}
	return counts, nil
}
