package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"vramsoak/harness"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// A display shows progress on the last line of a terminal. On other outputs it shows no progress.
// Warnings that are written to a display appear above the progress line. A soak continues if
// its terminal is closed.
type display struct {
	out      *sink.Terminal
	terminal bool
	mu       sync.Mutex
	line     string // the progress line that is shown
}

func newDisplay(out *sink.Terminal) *display {
	_, terminal := out.Width()
	return &display{out: out, terminal: terminal}
}

func (d *display) show(p harness.Progress) {
	if d.terminal {
		d.say(progressLine(p))
	}
}

// Write writes whole lines above the progress line.
func (d *display) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line != "" {
		_ = d.out.Overwrite("")
	}
	n, err := d.out.Write(b)
	if d.line != "" {
		_ = d.out.Overwrite(d.line)
	}
	return n, err
}

// say shows a progress line. An empty line clears it.
func (d *display) say(line string) {
	if !d.terminal {
		return
	}
	width, _ := d.out.Width()
	if width <= 0 {
		width = 80
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line = fit(sink.Line(line), width-1)
	_ = d.out.Overwrite(d.line)
}

// close leaves the last progress line on the screen and ends it.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line != "" {
		_, _ = fmt.Fprintln(d.out)
		d.line = ""
	}
}

// progressLine returns the progress of a soak with one worker or several:
//
//	23/60 files, 1 failed  allocated 130 MiB  reserved 158 MiB  left 0:21  0024.wav
//	23/60 files  left 0:21  | GPU 0  allocated 130 MiB  0024.wav  | GPU 1  allocated 131 MiB  0025.wav
func progressLine(p harness.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", p.Done)
	if p.Files > 0 {
		fmt.Fprintf(&b, "/%d", p.Files)
	}
	b.WriteString(" files")
	if p.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", p.Failed)
	}
	reading(&b, p.Reading, record.Allocated, record.Reserved, record.Used)
	switch {
	case p.Files > 0 && p.Done == p.Files:
		fmt.Fprintf(&b, "  took %s", clock(p.Elapsed))
	case p.HasLeft:
		fmt.Fprintf(&b, "  left %s", clock(p.Left))
	default:
		fmt.Fprintf(&b, "  %s", clock(p.Elapsed))
	}
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

// fit cuts a line to at most `width` characters.
func fit(s string, width int) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), max(0, width))])
}
