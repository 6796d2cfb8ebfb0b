package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"vramsoak/harness"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// free ends what earlier runs left behind. It asks on a terminal, and ends nothing where it cannot.
func free(ctx context.Context, in *os.File, out io.Writer, opts doctorOptions) error {
	left, err := supervise.FindOrphans(opts.run)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		_, err := fmt.Fprintln(out, "nothing is left of an earlier run")
		return err
	}
	for _, l := range left {
		if _, err := sink.Fprintf(out, "pid %d, of run %s: %s, %s resident\n", l.PID, l.Run, l.Command, record.FormatBytes(l.RSS)); err != nil {
			return err
		}
	}
	if !opts.yes {
		if !term.IsTerminal(int(in.Fd())) {
			return errors.New("expected a terminal on standard input to ask on, or --yes; nothing was ended")
		}
		question := "End it?"
		if len(left) > 1 {
			question = fmt.Sprintf("End all %d?", len(left))
		}
		agreed, err := confirm(in, out, question)
		if err != nil {
			return err
		}
		if !agreed {
			_, err := fmt.Fprintln(out, "nothing was ended")
			return err
		}
	}
	return sweep(ctx, out, left)
}

// sweep ends processes and says of each what came of it.
func sweep(ctx context.Context, out io.Writer, left []supervise.Orphan) error {
	running := supervise.KillOrphans(ctx, left, harness.DefaultGrace)
	var pids []string
	for _, l := range left {
		what := "ended"
		if slices.ContainsFunc(running, func(r supervise.Orphan) bool { return r.PID == l.PID }) {
			what = "still runs:"
			pids = append(pids, fmt.Sprint(l.PID))
		}
		if _, err := sink.Fprintf(out, "%s pid %d\n", what, l.PID); err != nil {
			return err
		}
	}
	if len(pids) > 0 {
		return fmt.Errorf("pid %s did not end after SIGKILL: it is stuck in the kernel, mostly in a device driver; the machine may have to be "+
			"restarted", strings.Join(pids, ", "))
	}
	return nil
}

// answerMax is how many bytes of an answer are read.
const answerMax = 1 << 10

// confirm asks a question that is answered by y or yes, and by anything else with no.
func confirm(in io.Reader, out io.Writer, question string) (bool, error) {
	if _, err := sink.Fprintf(out, "%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(io.LimitReader(in, answerMax)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
