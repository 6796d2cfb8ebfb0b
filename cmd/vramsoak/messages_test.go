package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestMessages: on a terminal a message of the harness is a sentence with its facts in parentheses.
// Its level and its time come first.
func TestMessages(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 2, 14, 7, 0, time.FixedZone("", 3600))
	for _, c := range []struct {
		level slog.Level
		text  string
		attrs []slog.Attr
		want  string
	}{
		{slog.LevelWarn, "the process took too long and is ended", []slog.Attr{
			slog.Int("pid", 1234), slog.Duration("limit", 3*time.Second),
		}, "01:14:07Z warning: the process took too long and is ended (gpu: 1; pid: 1234; limit: 3s)\n"},
		{slog.LevelError, "the run is ended", []slog.Attr{
			slog.Any("error", errors.New("no\nspace \x1b[2J")),
		}, `01:14:07Z error: the run is ended (gpu: 1; error: no\nspace \x1b[2J)` + "\n"},
		{slog.LevelInfo, "there is no driver", nil, "01:14:07Z there is no driver (gpu: 1)\n"},
	} {
		var out strings.Builder
		h := messageHandler{out: &out, least: slog.LevelInfo}.WithAttrs([]slog.Attr{slog.Int("gpu", 1)})
		r := slog.NewRecord(at, c.level, c.text, 0)
		r.AddAttrs(c.attrs...)
		if err := h.Handle(t.Context(), r); err != nil || out.String() != c.want {
			t.Errorf("found %q, %v, want %q", out.String(), err, c.want)
		}
	}
	if (messageHandler{least: slog.LevelError}).Enabled(t.Context(), slog.LevelWarn) {
		t.Error("a warning is enabled")
	}
}
