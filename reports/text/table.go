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
// are aligned on the right. If the table is too wide, the column `flexible` is wrapped. If that is
// not enough, each row is written as a list.
func (t *writer) table(rows [][]string, numbers []int, flexible int) error {
	rows = t.asciiCells(rows) // before the width is computed: "<=" is wider than "≤"
	maxWidth := 0
	if excess := t.tableWidth(rows) - t.Width; excess > 0 {
		maxWidth = columnWidth(rows, flexible) - excess
		if maxWidth < leastColumn {
			t.lists(rows)
			return nil
		}
	}
	return t.layOut(rows, numbers, flexible, maxWidth)
}

// leastColumn is the smallest width in columns of a column that is wrapped.
const leastColumn = 12

// lists writes each row of a table as a paragraph, for a width in which the table does not fit:
// the first cell, and then the others with their headers. A verdict and its check, and a number and
// its name, are read together.
//
//	✗ fail leak: Subject idle level, File 21, Measured 1.00 MiB/file, Limit ≤ 256 KiB/file
//	peak: Files 40, Least 6.50 GiB, Median 6.66 GiB, Most 6.80 GiB
//	Run 7: Suite nightly, Started 2026-11-07 02:00
func (t *writer) lists(rows [][]string) {
	header := rows[0]
	for _, row := range rows[1:] {
		row = safeCells(row)
		line, from := row[0], 1
		switch header[0] {
		case "Verdict":
			line, from = strings.TrimSpace(row[0]+" "+row[1]), 2
		case "Run", "File":
			line = header[0] + " " + row[0]
		}
		var rest []string
		for i := from; i < len(row); i++ {
			if row[i] != "" {
				rest = append(rest, strings.TrimSpace(header[i]+" "+strings.ReplaceAll(row[i], "\n", " ")))
			}
		}
		if len(rest) > 0 {
			line += ": " + strings.Join(rest, ", ")
		}
		t.wrap(line, "    ")
	}
}

// layOut writes a table. The column `flexible` is wrapped at maxWidth, unless maxWidth is 0.
func (t *writer) layOut(rows [][]string, numbers []int, flexible, maxWidth int) error {
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
		rows = slices.Clone(rows)
		for i, r := range rows {
			rows[i] = slices.Clone(r)
			rows[i][flexible] = strings.Join(Fold(r[flexible], maxWidth, ""), "\n")
		}
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
		t.WriteString(line + "\n")
	}
	return nil
}

// asciiCells returns the rows with each cell as ascii returns it.
func (t *writer) asciiCells(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = slices.Clone(row)
		for k := range out[i] {
			out[i][k] = t.ascii(out[i][k])
		}
	}
	return out
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

// gap returns how many columns lie between the texts of two cells: a blank on each side, and a line
// on a terminal.
func (t *writer) gap() int {
	if t.Terminal {
		return 3
	}
	return 2
}

// tableWidth returns the width of a table. On a terminal, a blank precedes and follows each row.
func (t *writer) tableWidth(rows [][]string) int {
	sum := -t.gap()
	for i := range rows[0] {
		sum += columnWidth(rows, i) + t.gap()
	}
	if t.Terminal {
		sum += 2
	}
	return sum
}

func columnWidth(rows [][]string, column int) int {
	widest := 0
	for _, r := range rows {
		for line := range strings.SplitSeq(safeCell(r[column]), "\n") {
			widest = max(widest, twwidth.Width(line))
		}
	}
	return widest
}

// tableWithFoldedColumn writes a table whose last column is as wide as the width allows. The
// function split returns the parts of a cell, between which a line may break. Parts in the same
// line are joined with sep. All lines of a cell after the first are indented.
func (t *writer) tableWithFoldedColumn(
	rows [][]string, numbers []int, split func(string) []string, sep, indent string,
) error {
	last := len(rows[0]) - 1
	room := t.lastColumnWidth(rows)
	if room < leastColumn {
		t.lists(rows)
		return nil
	}
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
	return t.table(rows, numbers, last)
}

// lastColumnWidth returns the width that is left for the last column of a table.
func (t *writer) lastColumnWidth(rows [][]string) int {
	return t.Width - t.tableWidth(rows) + columnWidth(rows, len(rows[0])-1)
}
