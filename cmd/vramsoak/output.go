package main

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"syscall"

	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/cilog"
	"vramsoak/reports/markdown"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// colors is the value of --color: when the output has colours.
var colors string

// colorModes are the values of --color.
var colorModes = []string{"auto", "always", "never"}

// useColor reports whether to write colours. --color decides. If it is auto, these variables
// decide, in this order: NO_COLOR (no-color.org), FORCE_COLOR (force-color.org), CLICOLOR_FORCE
// (bixense.com/clicolors). Otherwise a terminal has colours, unless TERM is dumb.
func useColor(mode string, terminal bool, getenv func(string) string) bool {
	forced := func(name string) bool { v := getenv(name); return v != "" && v != "0" }
	switch {
	case mode != "auto":
		return mode == "always"
	case getenv("NO_COLOR") != "":
		return false
	case forced("FORCE_COLOR"), forced("CLICOLOR_FORCE"):
		return true
	}
	return terminal && getenv("TERM") != "dumb"
}

// textOptions returns the options that fit the output w. A terminal has its own width. The width of
// a pipe is that of the variable COLUMNS, if it is set.
func textOptions(w io.Writer) text.Options {
	opts := text.Options{}
	if t, ok := w.(*sink.Terminal); ok {
		opts.Width, opts.Terminal = t.Width()
	}
	if !opts.Terminal {
		opts.Width, _ = strconv.Atoi(os.Getenv("COLUMNS")) // 0 without a number
	}
	opts.Color = useColor(colors, opts.Terminal, os.Getenv)
	return opts
}

// reportToCI writes what the CI system of the job understands, if there is one: annotations, the
// details in a group of lines, and the summary of the step.
func reportToCI(out io.Writer, opts printOptions, tl *timeline.Timeline, rep *check.Report) error {
	if err := annotate(out, opts.format, rep); err != nil {
		return err
	}
	if opts.format == "text" && !opts.verbose {
		err := cilog.Detect(os.Getenv).Group(out, "All checks", func(w io.Writer) error {
			return text.Details(w, tl, rep, textOptions(w))
		})
		if err != nil {
			return err
		}
	}
	return appendSummary(func(w io.Writer) error { return markdown.Report(w, tl, rep) })
}

// annotate writes the annotations of a report, if the CI system of the job understands them. They
// go to stderr if the report on stdout is in a format for programs.
func annotate(out io.Writer, format string, rep *check.Report) error {
	if format != "text" {
		out = stderr
	}
	return cilog.Detect(os.Getenv).Annotate(out, rep, os.Getenv("GITHUB_WORKSPACE"))
}

// appendSummary appends to the summary of the job's step, if the job runs on GitHub Actions, which
// sets GITHUB_STEP_SUMMARY. A summary that cannot be written is only a warning.
func appendSummary(write func(io.Writer) error) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	// Without O_NONBLOCK, opening a pipe that nobody reads would wait forever.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o644)
	if err == nil {
		_, err = io.WriteString(f, "\n")
		err = cmp.Or(err, write(f), f.Close())
	}
	if err != nil {
		stderr.Printf("vramsoak: the step summary %s was not written: %v\n", path, withoutPath(err))
	}
	return nil
}
