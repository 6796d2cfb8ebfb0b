package main

import (
	"strings"
	"testing"

	"vramsoak/reports/text"
)

// TestWriteError: a terminal gets folded lines, but those to copy stay whole. A pipe gets each line
// as it is.
func TestWriteError(t *testing.T) {
	const message = "run.log has no checkpoints; save these lines as my-log.yaml:\n" +
		"    pattern: 'VRAM (?P<used>[0-9.]+) of (?P<total>[0-9.]+)'\n" +
		"--format: expected text or json, found \"jsn\""
	for _, c := range []struct {
		opts text.Options
		want string
	}{
		{text.Options{Width: 40, Terminal: true}, `vramsoak: run.log has no checkpoints;
    save these lines as my-log.yaml:
    pattern: 'VRAM (?P<used>[0-9.]+) of (?P<total>[0-9.]+)'
--format: expected text or json, found
    "jsn"
`},
		{text.Options{Width: 40}, "vramsoak: " + message + "\n"},
	} {
		var b strings.Builder
		if err := writeError(&b, message, c.opts); err != nil || b.String() != c.want {
			t.Errorf("%v: got:\n%s, %v", c.opts, b.String(), err)
		}
	}
}
