package text

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"vramsoak/reports/sink"
)

// cutCell cuts a cell to a width in columns of a terminal, with an ellipsis for what is cut.
func cutCell(s string, width int) string {
	if twwidth.Width(s) <= width {
		return s
	}
	return strings.TrimRight(twwidth.Truncate(s, max(0, width-3)), " ") + "..."
}

// table writes rows, the first of them the header, with numbers in the columns to be aligned on the right. The column named
// flexible is wrapped at maxWidth, if that is not 0.
func (t *writer) table(rows [][]string, numbers []int, flexible, maxWidth int) error {
	lines := tw.Off
	if t.Terminal {
		lines = tw.On
	}
	var out bytes.Buffer
	row := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft, PerColumn: slices.Repeat([]tw.Align{tw.AlignLeft}, len(rows[0]))},
	}
	for _, i := range numbers {
		row.Alignment.PerColumn[i] = tw.AlignRight
	}
	header := row
	if maxWidth > 0 {
		row.Formatting.AutoWrap = tw.WrapNormal
		row.ColMaxWidths.PerColumn = tw.Mapper[int, int]{flexible: maxWidth + 2} // with its padding
	}
	table := tablewriter.NewTable(&out,
		tablewriter.WithConfig(tablewriter.Config{Header: header, Row: row}),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: lines, BetweenRows: tw.Off},
				Lines:      tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: lines},
			},
		})),
		tablewriter.WithEastAsian(tw.Off), // else the width of a line depends on the environment
	)
	table.Header(rows[0])
	for _, r := range rows[1:] {
		if err := table.Append(safeCells(r)); err != nil {
			return fmt.Errorf("lay out the table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("lay out the table: %w", err)
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, " \n")
		if !t.Terminal {
			line = strings.TrimPrefix(line, " ")
		}
		t.WriteString(t.ascii(line) + "\n")
	}
	return nil
}

// safeCells returns a row as it is printed.
func safeCells(row []string) []string {
	out := make([]string, len(row))
	for i, s := range row {
		out[i] = safeCell(s)
	}
	return out
}

// safeCell returns a cell as it is printed, line by line. A painted cell has no name from a log in it.
func safeCell(s string) string {
	if strings.ContainsRune(s, '\x1b') {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = sink.Name(line)
	}
	return strings.Join(lines, "\n")
}

// tableWidth is the width of the rows as a table: two blanks to a cell and a line between columns.
func tableWidth(rows [][]string) int {
	sum := -1
	for i := range rows[0] {
		sum += columnWidth(rows, i) + 3
	}
	return sum
}

// fittingWidth is the width of a column at which the table fits a terminal, but for tables that are wide without it; 0 where it fits
// already.
func (t *writer) fittingWidth(rows [][]string, column int) int {
	excess := tableWidth(rows) - t.Width
	if !t.Terminal || excess <= 0 {
		return 0
	}
	return max(12, columnWidth(rows, column)-excess)
}

func columnWidth(rows [][]string, column int) int {
	widest := 0
	for _, r := range rows {
		widest = max(widest, twwidth.Width(safeCell(r[column])))
	}
	return widest
}

// tableWithFoldedColumn writes a table whose last column takes the width that is left: its cells are broken between what split makes of them,
// which sep joins in a line, and go on indented.
func (t *writer) tableWithFoldedColumn(rows [][]string, numbers []int, split func(string) []string, sep, indent string) error {
	last := len(rows[0]) - 1
	room := max(t.lastColumnWidth(rows), 20)
	for _, r := range rows {
		var lines []string
		line := ""
		for _, word := range split(r[last]) {
			switch {
			case line == "":
				line = word
			case twwidth.Width(line+sep+strings.TrimRight(word, " ")) > room:
				lines = append(lines, strings.TrimRight(line, " "))
				line = indent + word
			default:
				line += sep + word
			}
		}
		r[last] = strings.Join(append(lines, line), "\n")
	}
	return t.table(rows, numbers, last, 0)
}

// lastColumnWidth is the width that a table leaves for its last column.
func (t *writer) lastColumnWidth(rows [][]string) int {
	last := len(rows[0]) - 1
	room := t.Width - tableWidth(rows) + columnWidth(rows, last)
	if !t.Terminal {
		room += last + 1 // there are no lines between columns
	}
	return room
}
