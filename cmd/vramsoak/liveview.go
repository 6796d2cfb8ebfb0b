package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vramsoak/harness"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// A movement is a ledger that grew when the log was looked at last.
type movement struct {
	subject string // "idle level"
	rate    string // "4.00 MiB/file"
	certain bool   // the growth fails the check
}

func (m movement) String() string { return m.subject + " +" + m.rate }

// A screen says what the terminal can show.
type screen struct {
	columns, rows int  // 0 if unknown
	simple        bool // no escape sequences, one row
	ascii         bool // the locale has no UTF-8
	color         bool
}

// speaksUTF8 reports whether the user's locale has UTF-8. The first variable that is set counts
// (POSIX.1-2024, section 8.2).
func speaksUTF8() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	locale = strings.ToLower(locale)
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// The least size of a terminal for the live view. On a smaller one the progress is one line.
const (
	viewColumns = 40
	viewRows    = 8
)

// liveView returns the progress of a soak as rows that are narrower than the screen:
//
//	23/60 files, 1 failed  ██████████████░░░░░░░░░░░░░░░░░░░░  38 %  left 0:21
//	level 130 MiB  ▁▁▂▂▃▃▄▄▅▅▆▆▇▇██  peak 5.10 GiB, 21 % of 24.0 GiB
//	growing: idle level +4.00 MiB/file
//	now 0024.wav  last 0023.wav failed  2 restarts
func liveView(p harness.Progress, moving []movement, s screen) []string {
	if s.simple || s.columns > 0 && s.columns < viewColumns || s.rows > 0 && s.rows < viewRows {
		return []string{s.cut(progressLine(p))}
	}
	rows := []string{s.head(p)}
	if len(p.Workers) > 0 {
		rows = append(rows, s.workers(p)...)
	} else if row := s.level(p); row != "" {
		rows = append(rows, row)
	}
	if len(moving) > 0 {
		rows = append(rows, s.growing(moving))
	}
	if row := s.files(p); row != "" {
		rows = append(rows, row)
	}
	return rows
}

// head returns the row with the number of files, a bar, and the time left.
func (s screen) head(p harness.Progress) string {
	done, rest := cell{text: filesDone(p)}, cell{text: timeText(p)}
	if p.Failed > 0 {
		done.style = styleRed
	}
	part, known := 0.0, true
	switch {
	case p.Files > 0:
		part = float64(p.Done) / float64(p.Files)
	case p.HasLeft && p.Elapsed+p.Left > 0: // a soak by time
		part = float64(p.Elapsed) / float64(p.Elapsed+p.Left)
	default:
		known = false
	}
	if !known {
		return s.row([]cell{done, rest}, 0)
	}
	percent := cell{text: fmt.Sprintf("%3.0f %%", math.Floor(100*part))}
	cells := []cell{done, percent, rest}
	if room := min(mostBar, s.room(cells)); room >= leastBar {
		cells = slices.Insert(cells, 1, cell{text: s.bar(part, room), style: styleGreen})
	}
	return s.row(cells, 0)
}

// level returns the row with the memory of a soak without workers, or "" if it is not known.
func (s screen) level(p harness.Progress) string {
	level, peak := levelText(p), peakText(p, s.columns > 0 && s.columns < 64)
	if level == "" && peak == "" {
		return ""
	}
	cells := []cell{{text: level}, {text: peak}}
	cells = slices.DeleteFunc(cells, func(c cell) bool { return c.text == "" })
	if room := min(mostBar, s.room(cells)); room >= leastBar && len(p.Levels) > 1 {
		cells = slices.Insert(cells, 1, cell{text: s.spark(p.Levels, room)})
	}
	return s.row(cells, 0)
}

// workers returns a row for each worker, as far as the screen has room for them.
func (s screen) workers(p harness.Progress) (rows []string) {
	shown := p.Workers
	const others = 5 // rows of the view, and the line of the cursor
	if most := s.rows - others; s.rows > 0 && len(shown) > most {
		shown = shown[:most-1]
	}
	for _, w := range shown {
		cells := []cell{{text: fmt.Sprintf("GPU %d", w.GPU)}}
		if n := len(w.Levels); n > 0 {
			cells = append(cells, cell{text: fmt.Sprintf("%8s", record.FormatBytes(w.Levels[n-1]))})
		}
		if w.Total > 0 {
			cells = append(cells, cell{text: "peak " + fmt.Sprintf("%5s", share(w.Peak, w.Total))})
		}
		name := cell{text: s.name(cmp.Or(w.Current, w.Last)) + workingText(w, longFile)}
		const leastName = 12
		if room := min(mostBar/2, s.room(cells)-leastName); room >= leastBar && len(w.Levels) > 1 {
			cells = slices.Insert(cells, 2, cell{text: s.spark(w.Levels, room)})
		}
		if room := s.room(cells); room > 3 && name.text != "" {
			name.text = sink.Cut(name.text, room, s.ascii)
			cells = append(cells, name)
		}
		rows = append(rows, s.row(cells, 0))
	}
	if more := len(p.Workers) - len(shown); more > 0 {
		rows = append(rows, s.cut(fmt.Sprintf("and %d more GPUs", more)))
	}
	return rows
}

// growing returns the row with the ledgers that grow.
func (s screen) growing(moving []movement) string {
	style := styleYellow
	if moving[0].certain {
		style = styleRed
	}
	cells := []cell{{text: "growing:", style: style}}
	for _, m := range moving {
		cells = append(cells, cell{text: m.String(), style: style})
	}
	return s.row(cells, 1)
}

// files returns the row that names the file in work and the last file that ended. It returns ""
// before the first file.
func (s screen) files(p harness.Progress) string {
	var cells []cell
	if p.Current != "" {
		cells = append(cells, cell{text: "now " + s.name(p.Current) + workingText(p, longFile)})
	}
	if p.Last != "" {
		last := cell{text: "last " + s.name(p.Last)}
		if p.LastStatus != record.StatusOK {
			last.text += " " + string(p.LastStatus)
			last.style = styleRed
		}
		cells = append(cells, last)
	}
	if p.Restarts > 0 {
		cells = append(cells, cell{text: plural(p.Restarts, "restart"), style: styleYellow})
	}
	if len(cells) == 0 {
		return ""
	}
	return s.row(cells, 0)
}

// longFile is the time on one file from which the live view says how long it takes. Below that, the
// number would only flicker.
const longFile = 10 * time.Second

// workingText returns how long the file in work has taken so far: " 1:05". It returns "" if that is
// less than a limit.
func workingText(p harness.Progress, least time.Duration) string {
	if p.Current == "" || p.Working < least {
		return ""
	}
	return " " + clock(p.Working)
}

// name returns the name of a file as the screen can show it.
func (s screen) name(path string) string {
	if path == "" {
		return ""
	}
	return s.plain(sink.Line(filepath.Base(path)))
}

// plain replaces the letters that the locale lacks.
func (s screen) plain(text string) string {
	if !s.ascii {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, text)
}

// A cell is a part of a row.
type cell struct{ text, style string }

// These are the styles of package sink.
const (
	styleRed    = "\x1b[31m"
	styleGreen  = "\x1b[32m"
	styleYellow = "\x1b[33m"
	styleOff    = "\x1b[0m"
	gap         = "  " // between cells
)

// The lengths of bars and sparklines, in columns.
const (
	leastBar = 8
	mostBar  = 40
)

// width returns the number of columns of a row. The last column stays empty, because some terminals
// wrap a row that fills it.
func (s screen) width() int { return cmp.Or(s.columns, 80) - 1 }

// room returns how many columns are left beside these cells for one more.
func (s screen) room(cells []cell) int {
	room := s.width()
	for _, c := range cells {
		room -= sink.Columns(c.text) + len(gap)
	}
	return room
}

// row returns the cells as a row. Cells that do not fit are left out, and the cell with the index
// needed is cut instead.
func (s screen) row(cells []cell, needed int) string {
	taken := min(sink.Columns(cells[needed].text), s.width())
	var b strings.Builder
	used := 0
	for i, c := range cells {
		width, between := sink.Columns(c.text), 0
		if used > 0 {
			between = len(gap)
		}
		rest := s.width() - used - between
		if i < needed {
			rest -= taken + len(gap)
		}
		switch {
		case i == needed && rest > 0 && width > rest:
			c.text = sink.Cut(c.text, rest, s.ascii)
			width = sink.Columns(c.text)
		case width > rest:
			continue
		}
		b.WriteString(strings.Repeat(" ", between))
		if s.color && c.style != "" {
			c.text = c.style + c.text + styleOff
		}
		b.WriteString(c.text)
		used += between + width
	}
	return b.String()
}

// cut returns a text as one row.
func (s screen) cut(text string) string {
	return sink.Cut(s.plain(sink.Line(text)), s.width(), s.ascii)
}

// bar returns a bar of `columns` columns. The parameter part, from 0 to 1, is how much of it is
// full.
func (s screen) bar(part float64, columns int) string {
	full, empty := "█", "░"
	if s.ascii {
		full, empty = "#", "-"
	}
	n := min(columns, int(part*float64(columns)))
	return strings.Repeat(full, n) + strings.Repeat(empty, columns-n)
}

var (
	sparks      = []rune("▁▂▃▄▅▆▇█")
	sparksASCII = []rune("_.-:=+*#")
)

// leastRange is the least range of a sparkline, as a part of its largest value, so that noise does
// not look like growth.
const leastRange = 0.02

// spark returns a line of small bars, one for each value, or for the mean of several if there are
// more values than columns. It begins at the smallest value.
func (s screen) spark(values []int64, columns int) string {
	letters := sparks
	if s.ascii {
		letters = sparksASCII
	}
	columns = min(columns, len(values))
	means := make([]float64, columns)
	for i := range means {
		from, to := i*len(values)/columns, (i+1)*len(values)/columns
		for _, v := range values[from:to] {
			means[i] += float64(v) / float64(to-from)
		}
	}
	least, most := slices.Min(means), slices.Max(means)
	height := max(most-least, leastRange*most)
	line := make([]rune, columns)
	for i, v := range means {
		line[i] = letters[0]
		if height > 0 {
			line[i] = letters[min(len(letters)-1, int((v-least)/height*float64(len(letters))))]
		}
	}
	return string(line)
}
