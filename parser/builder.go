package parser

import (
	"io"
	"iter"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Build makes one timeline of the records, which may come from several logs, one after another.
// If an I/O error ends the records, Build returns the error and the timeline of the records
// before the error.
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

// A Builder reads one log after another into one timeline. The zero value is ready to use.
type Builder struct {
	timeline.Builder
	// Dialects are the dialects that the logs are read in. Nil stands for all built-in dialects.
	Dialects *Set
}

// Read reads a log to its end and adds its records to the timeline.
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
