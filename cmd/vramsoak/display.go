package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"vramsoak/harness"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// A display shows the progress of a soak: on a terminal as a live view, on other outputs as a line
// now and then. Warnings that are written to a display appear above the view. A soak continues if
// its terminal is closed.
type display struct {
	out      *sink.Terminal
	terminal bool
	mu       sync.Mutex
	newest   harness.Progress
	shown    bool // newest is set
	drawn    time.Time
	lines    linePace
	moving   []movement
	// resized is when the terminal last got another size. Its size is then certain only a moment
	// later: it may have wrapped the rows before it says its new size.
	resized time.Time
	stop    func() // ends watchTerminal
}

// newDisplay returns a display, which the caller closes.
func newDisplay(out *sink.Terminal) *display {
	_, terminal := out.Width()
	d := &display{
		out: out, terminal: terminal, lines: linePace{last: time.Now()}, stop: func() {},
	}
	if terminal {
		d.watchTerminal()
	}
	return d
}

const (
	// redrawn is the shortest time between two drawings, because files may take less than that.
	redrawn = 250 * time.Millisecond
	// sizeSettled is the time without another size after which the size of a terminal is certain.
	sizeSettled = 250 * time.Millisecond
)

// watchTerminal draws the view again when the terminal has got another size, and removes it while
// the user has stopped vramsoak with Ctrl-Z.
func (d *display) watchTerminal() {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	if !ignoresSuspend() {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	d.stop = sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
	})
	go func() {
		var settled <-chan time.Time
		for {
			select {
			case s := <-signals:
				d.mu.Lock()
				if s == syscall.SIGTSTP {
					d.say("")
					suspend()
				}
				d.resized = time.Now()
				d.mu.Unlock()
				settled = time.After(sizeSettled)
			case <-settled:
				settled = nil
				d.redraw()
			case <-done:
				return
			}
		}
	}()
}

// redraw draws the last progress again.
func (d *display) redraw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.shown && d.isSettled(now) {
		d.draw(now)
	}
}

// isSettled reports whether the terminal has kept its size for a while.
func (d *display) isSettled(now time.Time) bool { return now.Sub(d.resized) >= sizeSettled }

func (d *display) show(p harness.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.newest, d.shown = p, true
	switch {
	case d.terminal:
		if now.Sub(d.drawn) >= redrawn && d.isSettled(now) {
			d.draw(now)
		}
	case d.lines.due(now, p):
		_, _ = fmt.Fprintln(d.out, sink.Line(progressInLog(p, d.moving, now)))
	}
}

// setMoving sets the ledgers that grow, and redraws the view.
func (d *display) setMoving(moving []movement) {
	d.mu.Lock()
	d.moving = moving
	d.mu.Unlock()
	if d.terminal {
		d.redraw()
	}
}

// draw draws the live view.
func (d *display) draw(now time.Time) {
	d.drawn = now
	columns, rows, _ := d.out.Size()
	_ = d.out.Show(liveView(d.newest, d.moving, screen{
		columns: columns, rows: rows, simple: d.out.IsSimple(), ascii: !speaksUTF8(),
		color: textOptions(d.out).Color,
	})...)
}

// Write writes whole lines above the view. On a terminal it folds them.
func (d *display) Write(b []byte) (int, error) {
	if !d.terminal {
		return d.out.Write(b)
	}
	return text.NewFolder(d.out, textOptions(d.out)).Write(b)
}

// say shows one line of progress. An empty line clears it.
func (d *display) say(line string) {
	if !d.terminal {
		return
	}
	if line == "" {
		_ = d.out.Show()
		return
	}
	columns, rows, _ := d.out.Size()
	_ = d.out.Show(screen{columns: columns, rows: rows, ascii: !speaksUTF8()}.cut(line))
}

// close removes the view. The display must not be used after that.
func (d *display) close() {
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = false
	d.say("")
}
