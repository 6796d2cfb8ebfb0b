package text

import (
	"cmp"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/parser/record"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

func largestFirst(parts []validation.Part) []validation.Part {
	return slices.SortedStableFunc(slices.Values(parts), func(a, b validation.Part) int {
		return cmp.Compare(b.Bytes, a.Bytes)
	})
}

// stageNeeds writes a row for each stage, with the parts of its highest requirement.
func (t *writer) stageNeeds(v *validation.Report) error {
	if !slices.ContainsFunc(v.Stages, known) {
		return nil
	}
	rows := [][]string{{"Stage", "File", "Needs", "Share", "Made up of"}}
	for _, s := range v.Stages {
		name := sink.Line(s.Stage)
		if !known(s) {
			rows = append(rows, []string{name, "", "", "", "not reached"})
			continue
		}
		if s.Measured {
			name += " (measured)"
		}
		file := "init"
		if s.File > 0 {
			file = wording.Count(s.File)
		}
		rows = append(rows, []string{
			name, file, record.FormatBytes(s.Need), wording.Share(s.Share),
			partsText(s),
		})
	}
	t.WriteByte('\n')
	room := t.lastColumnWidth(rows)
	return t.tableWithFoldedColumn(rows, []int{1, 2, 3}, func(s string) []string {
		return partsIn(s, room)
	}, "", "")
}

// partsIn splits a list of parts so that a line can break between two parts. A part that is wider
// than `room` is split too.
func partsIn(s string, room int) []string {
	var out []string
	for part := range strings.SplitAfterSeq(s, " + ") {
		if twwidth.Width(strings.TrimRight(part, " ")) <= room {
			out = append(out, part)
			continue
		}
		for _, word := range words(part) {
			out = append(out, word+" ")
		}
	}
	return out
}

// known reports whether a stage has a requirement to show.
func known(s validation.StageNeed) bool { return s.Reached || len(s.Parts) > 0 }

// smallPart is the ratio to the requirement below which a part is not named.
const smallPart = 0.01

// partsText lists the parts, the largest first: "weights of asr 2.88 GiB + tensors 2.00 GiB + 3
// others 12.0 MiB".
func partsText(s validation.StageNeed) string {
	parts := largestFirst(s.Parts)
	small := slices.IndexFunc(parts, func(p validation.Part) bool {
		return float64(p.Bytes) < smallPart*float64(s.Need)
	})
	if small >= 0 && len(parts)-small > 1 {
		others := validation.Part{What: wording.Count(len(parts)-small) + " others"}
		for _, p := range parts[small:] {
			others.Bytes += p.Bytes
		}
		parts = append(parts[:small:small], others)
	}
	var text []string
	if s.Reached && s.Allocated == 0 {
		text = append(text, "nothing of its own")
	}
	for _, p := range parts {
		text = append(text, sink.Line(p.What)+" "+record.FormatBytes(p.Bytes))
	}
	return strings.Join(text, " + ")
}
