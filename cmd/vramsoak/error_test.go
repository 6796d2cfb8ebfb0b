package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"vramsoak/harness"
	"vramsoak/harness/check"
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

// TestIncomplete: if standard output cannot be written, the verdict and the failed write go. Other
// errors stay whole, also one that wraps two others and says what to do.
func TestIncomplete(t *testing.T) {
	const full = syscall.ENOSPC
	notStarted := fmt.Errorf("%w: %w; check the command after --", harness.ErrNotStarted,
		syscall.ENOENT)
	verdict := errors.Join(verdictError(check.Fail), fmt.Errorf("writing the table: %w", full))
	const end = "writing to standard output: no space left on device; what was printed is not " +
		"complete"
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, end},
		{verdict, end},
		{notStarted, notStarted.Error() + "\n" + end},
		{errors.Join(verdict, notStarted), notStarted.Error() + "\n" + end},
		{errors.Join(errors.Join(verdict, notStarted), nil), notStarted.Error() + "\n" + end},
	} {
		if got := incomplete(c.err, full).Error(); got != c.want {
			t.Errorf("%v: got:\n%s\nwant:\n%s", c.err, got, c.want)
		}
	}
}
