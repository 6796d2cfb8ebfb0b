package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// TextOptions say where the text is shown. The zero value is for a pipe or a file: plain ASCII of our own (names stay as
// the log has them), one line per finding.
type TextOptions struct {
	Terminal bool
	Width    int  // columns of the terminal; 0 is 80
	Color    bool // ANSI colours; only on a terminal
}

// Text writes the verdict, the findings and the memory pattern of a file.
func Text(w io.Writer, tl *timeline.Timeline, rep *check.Report, opts TextOptions) error {
	t := newTextWriter(opts)
	findings := wording.Sorted(rep)
	t.wrap(t.paint(rep.Verdict, strings.ToUpper(string(rep.Verdict)))+": "+wording.Headline(rep), "")
	if err := t.findings(findings); err != nil {
		return err
	}
	t.skipped(wording.WithVerdict(findings, check.Skipped))
	t.notes(rep.Notes)
	t.pattern(pattern.Of(tl, rep))
	return t.flush(w)
}

// A textWriter is a report that is being written.
type textWriter struct {
	strings.Builder
	TextOptions
	fold bool // prose and tables are folded without a terminal, too
}

func newTextWriter(opts TextOptions) *textWriter {
	switch {
	case !opts.Terminal:
		opts.Width = 100
	case opts.Width <= 0:
		opts.Width = 80
	}
	opts.Color = opts.Color && opts.Terminal
	return &textWriter{TextOptions: opts}
}

// flush writes what the writer gathered.
func (t *textWriter) flush(w io.Writer) error {
	write := func(s string) error { _, err := io.WriteString(w, s); return err }
	if t.Color {
		write = func(s string) error { return sink.WriteStyled(w, s) }
	}
	if err := write(t.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// findingNumbers are the columns File and Measured.
var findingNumbers = []int{3, 4}

// findings writes the table of what was judged. On a terminal too narrow for the messages, those of what did not pass
// follow the table.
func (t *textWriter) findings(all []check.Finding) error {
	shown := wording.WithVerdict(all, check.Fail, check.Undecided, check.Pass)
	if len(shown) == 0 {
		return nil
	}
	rows := [][]string{{"Verdict", "Check", "Subject", "File", "Measured", "Limit"}}
	for _, f := range shown {
		file := ""
		if f.File > 0 {
			file = wording.Count(f.File)
		}
		rows = append(rows, []string{t.mark(f), sink.Line(f.Check), sink.Line(f.Subject), file, wording.Measured(f), wording.Limit(f)})
	}
	const subjectColumn = 2
	if !t.Terminal {
		rows[0] = append(rows[0], "At", "Message")
		for i, f := range shown {
			rows[i+1] = append(rows[i+1], wording.Location(f), sink.Line(f.Message))
		}
		t.WriteByte('\n')
		return t.table(rows, findingNumbers, subjectColumn, 0)
	}
	widest := tableWidth(rows)
	const messageWidth = 40 // a sentence in fewer columns is a tower of words
	if t.Width-widest >= messageWidth+3 {
		rows[0] = append(rows[0], "Message")
		for i, f := range shown {
			rows[i+1] = append(rows[i+1], withLocation(f))
		}
		t.WriteByte('\n')
		return t.table(rows, findingNumbers, len(rows[0])-1, t.Width-widest-3)
	}
	t.WriteByte('\n')
	if err := t.table(rows, findingNumbers, subjectColumn, t.squeezed(rows, subjectColumn)); err != nil {
		return err
	}
	for _, f := range wording.WithVerdict(shown, check.Fail, check.Undecided) {
		t.WriteByte('\n')
		t.wrap(t.paint(f.Verdict, t.word(f))+" "+sink.Line(f.Check+", "+f.Subject)+": "+withLocation(f), "  ")
	}
	return nil
}

// withLocation is a finding's message, where it did not pass with the line of the log that shows it.
func withLocation(f check.Finding) string {
	if f.At == nil || f.Verdict == check.Pass {
		return sink.Line(f.Message)
	}
	return sink.Line(f.Message) + " [" + wording.Location(f) + "]"
}

// table writes rows, the first of them the header, with numbers in the columns to be aligned on the right. The column named
// flexible is wrapped at maxWidth, if that is not 0.
func (t *textWriter) table(rows [][]string, numbers []int, flexible, maxWidth int) error {
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
		if err := table.Append(cells(r)); err != nil {
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

// cells returns a row as it is printed.
func cells(row []string) []string {
	out := make([]string, len(row))
	for i, s := range row {
		out[i] = inCell(s)
	}
	return out
}

// inCell returns a cell as it is printed, line by line. A painted cell has no name from a log in it.
func inCell(s string) string {
	if strings.ContainsRune(s, '\x1b') {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = sink.Name(line)
	}
	return strings.Join(lines, "\n")
}

// skipped writes what was not judged, one line a check.
func (t *textWriter) skipped(findings []check.Finding) {
	if len(findings) == 0 {
		return
	}
	t.WriteByte('\n')
	for _, f := range findings {
		subject := ""
		if f.Subject != "" {
			subject = ", " + f.Subject
		}
		t.wrap(t.paint(check.Skipped, "skipped")+" "+sink.Line(f.Check+subject)+": "+sink.Line(f.Message), "  ")
	}
}

// notes writes what is to be known beside the findings.
func (t *textWriter) notes(notes []string) {
	if len(notes) > 0 {
		t.WriteByte('\n')
	}
	for _, note := range notes {
		t.wrap("note: "+sink.Line(note), "  ")
	}
}

// patternRows is how many checkpoints a pattern shows. A log with more of them numbers its checkpoints.
const patternRows = 60

// pattern writes a line per checkpoint: its level, a bar, and what a cleanup freed.
func (t *textWriter) pattern(p pattern.Pattern) {
	if len(p.Steps) == 0 {
		return
	}
	t.WriteByte('\n')
	t.wrap(p.Title(), "  ")
	name, after := 0, 0
	for _, s := range p.Steps {
		name = max(name, twwidth.Width(s.Name))
		after = max(after, twwidth.Width(s.Freed+t.verdictMark(s)))
	}
	const level = len("1023.99 MiB") - 2
	name = min(name, 40)
	cells := min(40, max(8, t.Width-2-name-2-level-2-2-after))
	full, empty := "█", "━"
	if !t.Terminal {
		full, empty = "#", "-"
	}
	for i, s := range p.Steps {
		if i == patternRows {
			t.WriteString("  and " + wording.Count(len(p.Steps)-i) + " more\n")
			break
		}
		n := p.Filled(s.Level, cells)
		bar := strings.Repeat(full, n) + strings.Repeat(empty, cells-n)
		line := fmt.Sprintf("  %s  %*s  %s  %s%s", wording.Pad(cutCell(s.Name, name), name),
			level, record.FormatBytes(s.Level), bar, s.Freed, t.paint(s.Verdict, t.verdictMark(s)))
		t.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// verdictMark ends the line of a cleanup that was judged.
func (t *textWriter) verdictMark(s pattern.Step) string {
	if s.Verdict == "" {
		return ""
	}
	if !t.Terminal {
		return ", " + string(s.Verdict)
	}
	return " " + t.symbol(s.Verdict)
}

// mark is a verdict as a cell of the table.
func (t *textWriter) mark(f check.Finding) string {
	return t.paint(f.Verdict, t.word(f))
}

// word is a verdict with its sign on a terminal, and by itself elsewhere.
func (t *textWriter) word(f check.Finding) string {
	if f.Verdict != check.Fail || f.Gates {
		return t.symbolWord(f.Verdict)
	}
	if !t.Terminal {
		return wording.Verdict(f)
	}
	return "! " + wording.Verdict(f)
}

func (t *textWriter) symbolWord(v check.Verdict) string {
	if !t.Terminal {
		return string(v)
	}
	return t.symbol(v) + " " + string(v)
}

func (t *textWriter) symbol(v check.Verdict) string {
	switch v {
	case check.Pass:
		return "✓"
	case check.Fail:
		return "✗"
	case check.Undecided:
		return "?"
	default:
		return "-"
	}
}

// paint colours text by verdict.
func (t *textWriter) paint(v check.Verdict, s string) string {
	code := map[check.Verdict]string{check.Pass: "32", check.Fail: "31", check.Undecided: "33", check.Skipped: "2"}[v]
	if !t.Color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// ascii replaces the signs that are ours where the output is no terminal.
func (t *textWriter) ascii(s string) string {
	if t.Terminal {
		return s
	}
	return strings.NewReplacer("≥", ">=", "≤", "<=").Replace(s)
}

// breaks are the ends of lines and the tabs that a name may have. Prose has none of its own.
var breaks = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// wrap writes one line of prose, on a terminal folded to its width, with what follows the first line indented.
func (t *textWriter) wrap(s, indent string) {
	s = breaks.Replace(s)
	if !t.Terminal && !t.fold {
		t.WriteString(s + "\n")
		return
	}
	width := 0
	for i, word := range words(s) {
		n := twwidth.Width(word)
		switch {
		case i == 0:
		case width+1+n > t.Width:
			t.WriteString("\n" + indent)
			width = len(indent)
		default:
			t.WriteByte(' ')
			width++
		}
		t.WriteString(word)
		width += n
	}
	t.WriteByte('\n')
}

// words splits text where a line may be broken: not between a number and its unit.
func words(s string) []string {
	var out []string
	for word := range strings.FieldsSeq(s) {
		switch strings.TrimRight(word, ".,;:)") {
		case "%", "B", "KiB", "MiB", "GiB", "TiB", "MiB/file":
			if len(out) > 0 {
				out[len(out)-1] += " " + word
				continue
			}
		}
		out = append(out, word)
	}
	return out
}

// tableWidth is the width of the rows as a table: two blanks to a cell and a line between columns.
func tableWidth(rows [][]string) int {
	sum := -1
	for i := range rows[0] {
		sum += columnWidth(rows, i) + 3
	}
	return sum
}

// squeezed is the width of a column at which the table fits a terminal, but for tables that are wide without it; 0 where it fits
// already.
func (t *textWriter) squeezed(rows [][]string, column int) int {
	excess := tableWidth(rows) - t.Width
	if !t.Terminal || excess <= 0 {
		return 0
	}
	return max(12, columnWidth(rows, column)-excess)
}

func columnWidth(rows [][]string, column int) int {
	widest := 0
	for _, r := range rows {
		widest = max(widest, twwidth.Width(inCell(r[column])))
	}
	return widest
}
