package text

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/record"
	"vramsoak/reports/records"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// around is how many bytes of a line are shown before and after the groups of a pattern.
const around = 40

// DialectTrial shows a person who writes a pattern what their dialects read in a log. It writes
// each line that matches, with the pattern's groups marked and the records below. Then it counts
// the lines of each dialect, or, if no line matches, says what may be the reason. It returns the
// number of records, without those for lines that cannot be read.
func DialectTrial(
	w io.Writer, trials iter.Seq2[table.Trial, error], dialects []dialect.User,
) (records int, err error) {
	tallies, matched := map[string]*tally{}, false
	for _, d := range dialects {
		tallies[d.Name] = &tally{}
	}
	for trial, err := range trials {
		if err != nil {
			return records, err
		}
		tallies[trial.Dialect].add(&trial)
		if !trial.Matched() {
			continue
		}
		matched = true
		for _, rec := range trial.Records {
			if _, bad := rec.(record.SyntaxError); !bad {
				records++
			}
		}
		if _, err := io.WriteString(w, matchedLine(&trial)); err != nil {
			return records, fmt.Errorf("write the trial: %w", err)
		}
	}
	var b strings.Builder
	if matched {
		b.WriteByte('\n')
	}
	for _, d := range dialects {
		fmt.Fprintf(&b, "%s: %s\n", sink.Line(d.Name), tallies[d.Name].summary(d))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return records, fmt.Errorf("write the trial: %w", err)
	}
	return records, nil
}

// matchedLine returns the report on a line that matches: the line, and its records below.
func matchedLine(t *table.Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%7d  %-14s  %s\n", t.Pos.Line, sink.Line(t.Dialect), markGroups(t))
	if len(t.Records) == 0 {
		fmt.Fprintf(&b, "%25snothing is read: no group of a reading takes part\n", "")
	}
	for _, rec := range t.Records {
		fmt.Fprintf(&b, "%25s%s", "", strings.TrimRight(records.Describe(rec), " "))
		if at := rec.Head().FormatTime(); at != "" && records.IsReading(rec) {
			b.WriteString("  at " + at)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A tally counts what a dialect matched.
type tally struct {
	lines, readings, files, bad int
	near                        int // lines with a literal of the pattern that do not match
	nearAt                      record.Position
	nearText                    string
}

func (t *tally) add(trial *table.Trial) {
	if !trial.Matched() {
		if t.near++; t.near == 1 {
			t.nearAt, t.nearText = trial.Pos,
				wording.Shorten(sink.Line(strings.TrimSpace(trial.Text)), 80)
		}
		return
	}
	t.lines++
	for _, rec := range trial.Records {
		switch rec.(type) {
		case record.Checkpoint, record.Change:
			t.readings++
		case record.FileStart:
			t.files++
		case record.SyntaxError:
			t.bad++
		}
	}
}

func (t *tally) summary(d dialect.User) string {
	if t.lines == 0 {
		return "no line matches; " + t.hint(d)
	}
	s := wording.Plural(t.lines, "line") + ", " + wording.Plural(t.readings, "reading")
	if t.files > 0 {
		s += ", " + wording.Plural(t.files, "file")
	}
	if t.bad > 0 {
		s += ", " + wording.Count(t.bad) + " unreadable"
	}
	if t.near > 0 {
		s += "; " + t.nearMiss(d)
	}
	return s + "; " + howFound(d)
}

// hint returns what may be the reason that no line matches the dialect's pattern.
func (t *tally) hint(d dialect.User) string {
	switch {
	case t.near > 0:
		return t.nearMiss(d)
	case len(d.Literals()) == 0:
		return howFound(d)
	}
	return "no line has " + literals(d) + ", which the pattern requires"
}

func (t *tally) nearMiss(d dialect.User) string {
	return fmt.Sprintf("%s with %s the pattern does not match, the first %s: %q",
		wording.Plural(t.near, "line"), literals(d), t.nearAt, t.nearText)
}

// howFound returns how the scanner finds a dialect's lines in a log.
func howFound(d dialect.User) string {
	if len(d.Literals()) == 0 {
		return "each line is tried, which is slow: the pattern requires no literal of 4 bytes or " +
			"more in a line"
	}
	return "found by " + literals(d)
}

func literals(d dialect.User) string {
	quoted := make([]string, 0, 8)
	for _, s := range d.Literals() {
		quoted = append(quoted, fmt.Sprintf("%q", s))
	}
	return strings.Join(quoted, " or ")
}

// markGroups returns the line with its groups marked: "VRAM <used=1234> of <total=24564>".
func markGroups(t *table.Trial) string {
	if len(t.Groups) == 0 {
		return wording.Shorten(sink.Line(t.Text), 2*around)
	}
	from, to := t.Groups[0].Start, 0
	for _, g := range t.Groups {
		to = max(to, g.End)
	}
	var b strings.Builder
	before, behind := sink.Line(t.Text[:from]), sink.Line(t.Text[to:])
	if cut := len(before) - around; cut > 0 {
		before = "..." + strings.ToValidUTF8(before[cut:], "")
	}
	b.WriteString(before)
	at := from
	var open []int // the ends of the groups that are open
	emit := func(end int) {
		b.WriteString(sink.Line(t.Text[at:end]))
		at = end
	}
	closeUntil := func(limit int) {
		for len(open) > 0 && open[len(open)-1] <= limit {
			emit(open[len(open)-1])
			b.WriteByte('>')
			open = open[:len(open)-1]
		}
	}
	for _, g := range t.Groups {
		closeUntil(g.Start)
		emit(max(at, g.Start))
		b.WriteString("<" + g.Name + "=")
		open = append(open, g.End)
	}
	closeUntil(to)
	b.WriteString(wording.Shorten(behind, around))
	return b.String()
}
