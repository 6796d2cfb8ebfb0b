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

// cutCell cuts a cell to a number of terminal columns. Three dots replace what is cut.
func cutCell(s string, width int) string {
	if twwidth.Width(s) <= width {
		return s
	}
	return strings.TrimRight(twwidth.Truncate(s, max(0, width-3)), " ") + "..."
}

// table writes the rows; the first row is the header. The parameter numbers holds the columns that
// are aligned on the right. The column `flexible` is wrapped at maxWidth, unless maxWidth is 0.
func (t *writer) table(rows [][]string, numbers []int, flexible, maxWidth int) error {
	lines := tw.Off
	if t.Terminal {
		lines = tw.On
	}
	var out bytes.Buffer
	row := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment: tw.CellAlignment{
			Global:    tw.AlignLeft,
			PerColumn: slices.Repeat([]tw.Align{tw.AlignLeft}, len(rows[0])),
		},
	}
	for _, i := range numbers {
		row.Alignment.PerColumn[i] = tw.AlignRight
	}
	header := row
	if maxWidth > 0 {
		row.Formatting.AutoWrap = tw.WrapNormal
		// The width includes the padding.
		row.ColMaxWidths.PerColumn = tw.Mapper[int, int]{flexible: maxWidth + 2}
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
		tablewriter.WithEastAsian(tw.Off), // otherwise the environment changes the width of a line
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

// safeCells returns a row with each cell as safeCell returns it.
func safeCells(row []string) []string {
	out := make([]string, len(row))
	for i, s := range row {
		out[i] = safeCell(s)
	}
	return out
}

// safeCell makes each line of a cell safe to print. A coloured cell stays unchanged, because it has
// no text from a log.
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

// tableWidth returns the width of a table. Each cell has two blanks, and a line separates two
// columns.
func tableWidth(rows [][]string) int {
	sum := -1
	for i := range rows[0] {
		sum += columnWidth(rows, i) + 3
	}
	return sum
}

// fittingWidth returns how wide a column may be so that the table fits on the terminal, but at
// least
// 12. It returns 0 if the table fits already.
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

// tableWithFoldedColumn writes a table whose last column is as wide as the terminal allows. The
// function split returns the parts of a cell, between which a line may break. Parts in the same
// line are joined with sep. All lines of a cell after the first are indented.
func (t *writer) tableWithFoldedColumn(
	rows [][]string, numbers []int, split func(string) []string, sep, indent string,
) error {
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

// lastColumnWidth returns the width that is left for the last column of a table.
func (t *writer) lastColumnWidth(rows [][]string) int {
	last := len(rows[0]) - 1
	room := t.Width - tableWidth(rows) + columnWidth(rows, last)
	if !t.Terminal {
		room += last + 1 // there are no lines between columns
	}
	return room
}
