package main

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"vramsoak/reports/sink"
)

// A messageHandler writes the harness's messages for a person at a terminal:
//
//	21:56:11Z warning: the process took too long and is ended (pid: 1234; limit: 3s)
type messageHandler struct {
	out   io.Writer
	least slog.Level
	attrs []slog.Attr
}

// newLogger returns the logger of a run. On a terminal its messages are written for a person, on
// other outputs as key=value pairs, for programs.
func newLogger(d *display, least slog.Level) *slog.Logger {
	if d.terminal {
		return slog.New(messageHandler{out: d, least: least})
	}
	return slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{Level: least}))
}

// Enabled implements [slog.Handler].
func (h messageHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.least
}

// WithAttrs implements [slog.Handler].
func (h messageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clip(h.attrs), attrs...)
	return h
}

// WithGroup implements [slog.Handler]. The harness has no groups.
func (h messageHandler) WithGroup(string) slog.Handler { return h }

// Handle implements [slog.Handler].
func (h messageHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.UTC().Format("15:04:05Z "))
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString("error: ")
	case r.Level >= slog.LevelWarn:
		b.WriteString("warning: ")
	}
	b.WriteString(r.Message)
	var facts []string
	add := func(a slog.Attr) bool {
		name := strings.ReplaceAll(a.Key, "_", " ")
		facts = append(facts, name+": "+a.Value.String())
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	if len(facts) > 0 {
		b.WriteString(" (" + strings.Join(facts, "; ") + ")")
	}
	_, err := sink.Fprintf(h.out, "%s\n", sink.Line(b.String()))
	return err
}
