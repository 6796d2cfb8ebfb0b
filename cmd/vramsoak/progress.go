package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"vramsoak/harness"
	"vramsoak/parser"
)

// A display shows the progress of a soak on one line of a terminal. Anywhere else it shows nothing.
type display struct {
	out   *os.File // nil where it is no terminal
	shown bool
}

func newDisplay(out *os.File) *display {
	if !term.IsTerminal(int(out.Fd())) {
		out = nil
	}
	return &display{out: out}
}

func (d *display) show(p harness.Progress) {
	if d.out == nil {
		return
	}
	width, _, err := term.GetSize(int(d.out.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	// "\x1b[K" clears what a longer line before left. A terminal that is gone is no reason to end a soak.
	_, _ = fmt.Fprintf(d.out, "\r%s\x1b[K", fit(progressLine(p), width-1))
	d.shown = true
}

// close leaves the last state on a line of its own.
func (d *display) close() {
	if d.shown {
		_, _ = fmt.Fprintln(d.out)
	}
}

// progressLine is "23/60 files, 1 failed  allocated 130 MiB  reserved 158 MiB  left 0:21".
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
	for _, q := range []parser.Quantity{parser.Allocated, parser.Reserved, parser.Used} {
		if s, ok := p.Reading.Get(q); ok {
			fmt.Fprintf(&b, "  %s %s", q, s)
		}
	}
	switch {
	case p.Files > 0 && p.Done == p.Files:
		fmt.Fprintf(&b, "  took %s", clock(p.Elapsed))
	case p.HasLeft:
		fmt.Fprintf(&b, "  left %s", clock(p.Left))
	default:
		fmt.Fprintf(&b, "  %s", clock(p.Elapsed))
	}
	return b.String()
}

// clock is "0:21", "12:05" or "3:12:05".
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func fit(s string, width int) string { return s[:min(len(s), max(0, width))] }
