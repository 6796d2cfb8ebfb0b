package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// A linePace decides when progress is worth a line in a log: after a minute, or when a tenth of the
// batch is done, but not more often than every ten seconds.
type linePace struct {
	last   time.Time // of the last line, or the start
	tenths int       // of the batch, in the last line
}

const (
	lineEvery = time.Minute
	lineLeast = 10 * time.Second
)

// due reports whether the progress at the time now is worth a line. If so, it notes the line.
func (l *linePace) due(now time.Time, p harness.Progress) bool {
	tenths := 0
	if p.Files > 0 {
		tenths = 10 * p.Done / p.Files
	}
	since := now.Sub(l.last)
	if since < lineLeast || since < lineEvery && tenths <= l.tenths {
		return false
	}
	l.last, l.tenths = now, tenths
	return true
}

// The most columns of a line in a log, and of the name of a file in it.
const (
	lineColumns = 100
	nameColumns = 24
)

// progressInLog returns the progress of a soak as a line of a log:
//
//	02:14:07Z 23/60 files  level 188 MiB  peak 5.00 GiB (21 %)  trend +4.00 MiB/file  left 0:21
//
// If a file takes longer than the time between two lines, the line names it: "now 0024.wav 12:05".
// If not everything fits, the line leaves out the restarts first, then the level, the high-water
// mark and the name.
func progressInLog(p harness.Progress, moving []movement, now time.Time) string {
	level, peak, trend, restarts, file := levelText(p), peakText(p, true), "", "", ""
	if len(moving) > 0 {
		trend = "trend " + moving[0].String()
		if rate, idle := strings.CutPrefix(moving[0].String(), check.IdleLevel+" "); idle {
			trend = "trend " + rate // the level's
		}
	}
	if p.Restarts > 0 {
		restarts = plural(p.Restarts, "restart")
	}
	if took := workingText(p, lineEvery); took != "" {
		file = "now " + sink.Cut(sink.Line(filepath.Base(p.Current)), nameColumns, true) + took
	}
	line := func() string {
		parts := []string{now.UTC().Format("15:04:05Z") + " " + filesDone(p)}
		for _, part := range []string{level, peak, trend, restarts, file, timeText(p)} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, gap)
	}
	for _, part := range []*string{&restarts, &level, &peak, &file} {
		if sink.Columns(line()) > lineColumns {
			*part = ""
		}
	}
	return sink.Cut(line(), lineColumns, true)
}

// filesDone returns how many files are done: "23/60 files, 1 failed".
func filesDone(p harness.Progress) string {
	text := plural(p.Done, "file")
	if p.Files > 0 {
		text = fmt.Sprintf("%d/%s", p.Done, plural(p.Files, "file"))
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text
}

// levelText returns the level at the end of the last file, of the worker with the highest: "level
// 130 MiB". It returns "" if no level is known.
func levelText(p harness.Progress) string {
	level, of := int64(-1), ""
	if n := len(p.Levels); n > 0 {
		level = p.Levels[n-1]
	}
	for _, w := range p.Workers {
		if n := len(w.Levels); n > 0 && w.Levels[n-1] > level {
			level, of = w.Levels[n-1], fmt.Sprintf(" (GPU %d)", w.GPU)
		}
	}
	if level < 0 {
		return ""
	}
	return "level " + record.FormatBytes(level) + of
}

// peakText returns the high-water mark: "peak 5.10 GiB (21 %)" or, if short is not set, "peak 5.10
// GiB, 21 % of 24.0 GiB". It returns "" if it is not known.
func peakText(p harness.Progress, short bool) string {
	switch {
	case p.Peak == 0:
		return ""
	case p.Total == 0:
		return "peak " + record.FormatBytes(p.Peak)
	case short:
		return fmt.Sprintf("peak %s (%s)", record.FormatBytes(p.Peak), share(p.Peak, p.Total))
	}
	return fmt.Sprintf("peak %s, %s of %s", record.FormatBytes(p.Peak), share(p.Peak, p.Total),
		record.FormatBytes(p.Total))
}

func share(part, of int64) string { return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(of)) }

// timeText returns how much time is left, was taken or has passed.
func timeText(p harness.Progress) string {
	switch {
	case p.Files > 0 && p.Done == p.Files:
		return "took " + clock(p.Elapsed)
	case p.HasLeft:
		return "left " + clock(p.Left)
	}
	return clock(p.Elapsed)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// progressLine returns the progress of a soak with one worker or several in one line:
//
//	23/60 files, 1 failed  allocated 130 MiB  reserved 158 MiB  left 0:21  0024.wav
//	23/60 files  left 0:21  | GPU 0  allocated 130 MiB  0024.wav  | GPU 1  allocated 131 MiB  0025.wav
func progressLine(p harness.Progress) string {
	var b strings.Builder
	b.WriteString(filesDone(p))
	reading(&b, p.Reading, record.Allocated, record.Reserved, record.Used)
	b.WriteString("  " + timeText(p))
	if p.Current != "" {
		b.WriteString("  " + filepath.Base(p.Current))
	}
	for _, w := range p.Workers {
		fmt.Fprintf(&b, "  | GPU %d", w.GPU)
		reading(&b, w.Reading, record.Allocated)
		if w.Current != "" {
			b.WriteString("  " + filepath.Base(w.Current))
		}
	}
	return b.String()
}

// reading appends each of the given quantities that the reading has.
func reading(b *strings.Builder, r record.Reading, quantities ...record.Quantity) {
	for _, q := range quantities {
		if s, ok := r.Get(q); ok {
			fmt.Fprintf(b, "  %s %s", q, s)
		}
	}
}

// clock returns a time as "0:21", "12:05" or "3:12:05".
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
