package parser

import (
	"io"
	"iter"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Build makes the timeline of a stream of records, of one log or of several after one another. If
// an I/O error ends the stream, it returns that error and the timeline up to there.
func Build(records iter.Seq2[record.Record, error]) (*timeline.Timeline, error) {
	b := &timeline.Builder{}
	for rec, err := range records {
		if err != nil {
			return b.Timeline(), err
		}
		b.Add(rec)
	}
	return b.Timeline(), nil
}

// A Builder reads one log after another into a timeline. The zero value is ready.
type Builder struct {
	timeline.Builder
	// Dialects are those that logs are read in; nil is all built-in ones.
	Dialects *Set
}

// Read adds a log.
func (b *Builder) Read(r io.Reader, name string) error {
	lines := 0
	for batch, err := range readLog(r, name, b.Dialects.dialects()) {
		for i := range batch.Entries {
			if e := &batch.Entries[i]; e.Other != nil {
				b.Add(e.Record(batch.Line))
			} else {
				e.Pos.Line += batch.Line
				b.AddCheckpoint(&e.Checkpoint)
			}
		}
		b.AddLines(batch.Lines)
		lines += batch.Lines
		if err != nil {
			return err
		}
	}
	b.EndCrashes(lines)
	return nil
}
