package text

import (
	"fmt"
	"io"
	"strconv"

	"vramsoak/parser/record"
	"vramsoak/pipeline/profile"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Profile writes the profile of a pipeline as a table, with its notes below.
func Profile(w io.Writer, p *profile.Profile, opts Options) error {
	t := newWriter(opts)
	t.wrap(fmt.Sprintf("%s: %s that ended ok", sink.Line(p.Log), wording.Plural(p.Files, "file")),
		"  ")
	t.WriteByte('\n')
	rows := [][]string{{
		"Stage", "Files", "Base", "Per audio second", "Spread", "Kept", "Reserved",
		"Time",
	}}
	for _, s := range p.Stages {
		slope, reserved, seconds := "-", "-", "-"
		if s.PerSecond > 0 {
			slope = "+ " + record.FormatBytes(int64(s.PerSecond))
		}
		if s.Reserved > 0 {
			reserved = fmt.Sprintf("x %.2f", s.Reserved)
		}
		if s.Seconds > 0 {
			seconds = strconv.FormatFloat(s.Seconds, 'g', 2, 64) + " s/s"
		}
		rows = append(rows, []string{
			sink.Line(s.Name), strconv.Itoa(s.Files), record.FormatBytes(s.Base), slope,
			record.FormatBytes(s.Spread),
			keeps(s), reserved, seconds,
		})
	}
	if err := t.table(rows, []int{1, 2, 3, 4, 5, 6, 7}, 0); err != nil {
		return err
	}
	notes := p.Notes()
	if len(notes) > 0 {
		t.WriteByte('\n')
	}
	for _, note := range notes {
		t.wrap(sink.Line(note), "  ")
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// keeps returns the memory that a stage keeps, as the text of a cell.
func keeps(s profile.Stage) string {
	slope := record.FormatBytes(int64(s.KeptPerSecond)) + "/s"
	switch {
	case s.KeptPerSecond == 0:
		return record.FormatBytes(s.Kept)
	case s.Kept == 0:
		return slope
	}
	return record.FormatBytes(s.Kept) + " + " + slope
}
