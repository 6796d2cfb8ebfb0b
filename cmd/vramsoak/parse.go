package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
	"vramsoak/reports/records"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type parseOptions struct {
	read        readOptions
	dialectFile string
	format      string
	follow      bool
}

func newParseCommand() *cobra.Command {
	opts := parseOptions{read: readOptions{policyFlag: "--dialect-file"}}
	cmd := &cobra.Command{
		Use:   "parse LOG...",
		Short: "Print the records of a log",
		Long: `Parse prints what vramsoak reads in a log, one record a line: checkpoints, changes,
events, warnings, out-of-memory messages, crashes, the harness's own lines, and lines that look
like one of these and cannot be read. It judges nothing. At the end it prints on standard error
how many records there were in each dialect.

A dialect of your own is a regular expression of Go with named groups, in a YAML file with the key
dialects, such as vramsoak.yaml:

  dialects:
    - name: ours
      pattern: 'step \d+ (?P<checkpoint>after \w+): VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)'
      unit: MiB        # of numbers without a unit
      decimal: false   # true: kB, MB and GB are powers of 1000

Groups: ` + wrapNames(table.GroupNames(), len("Groups: ")) + `.

With --dialect-file parse shows which lines the patterns match, their groups and the records that
are read from them. For a dialect that matches nothing it says which part of the pattern is in no
line.

LOG is a file, which may be compressed with gzip or zstd, a run folder, or - for standard input. Of
a run folder, parse reads the log, or the logs of all workers one after another.

With --follow parse keeps reading as the log grows, also after the log is replaced or truncated,
until Ctrl-C (or SIGTERM).` + dialectHelp(),
		Example: `  vramsoak parse run.log
  vramsoak parse run.log --format csv > run.csv
  vramsoak parse run.log --format jsonl | jq 'select(.allocated) | .allocated'
  vramsoak parse --dialect-file my.yaml run.log
  vramsoak parse runs/2026-11-20T02-00-00Z
  vramsoak parse --follow run.log`,
		Args: wantsFiles(1, 0, "a log, a run folder, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := runfolder.Resolve(args)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if opts.format == "table" {
				out = text.NewFolder(out, textOptions(out))
			}
			switch {
			case opts.follow:
				return runFollow(cmd.Context(), out, cmd.ErrOrStderr(), args, opts)
			case opts.dialectFile != "" && !cmd.Flags().Changed("format"):
				return runTrial(out, args, opts)
			}
			return runParse(out, cmd.ErrOrStderr(), args, opts)
		},
	}
	f := cmd.Flags()
	choiceVar(f, &opts.format, "format", "table", records.Formats, alternatives(records.Formats))
	f.StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	inputVar(f, &opts.dialectFile, "dialect-file",
		"YAML `file` with dialects of your own; without --format, show what they match", "yaml", "yml")
	f.BoolVarP(&opts.follow, "follow", "f", false, "keep reading as the log grows")
	return cmd
}

// useDialectFile replaces the policy's dialects by the dialects in the file that the user named.
func (o *parseOptions) useDialectFile() error {
	if o.dialectFile == "" {
		return nil
	}
	o.read.policy = o.dialectFile
	_, err := dialectsOf(o.dialectFile, "")
	return err
}

func runParse(out, diagnostics io.Writer, logs []string, opts parseOptions) error {
	if err := opts.useDialectFile(); err != nil {
		return err
	}
	read := func(yield func(record.Record, error) bool) {
		for _, path := range logs {
			if !opts.read.readLog(path, yield) {
				return
			}
		}
	}
	counts, err := records.Write(out, read, records.Options{
		Format: opts.format, Names: len(logs) > 1, Live: slices.ContainsFunc(logs, comesSlowly),
	})
	if err != nil {
		return err
	}
	_, err = sink.Fprintf(diagnostics, "%s\n", counts)
	return err
}

// comesSlowly reports whether a log may still be written by another program, because it is not a
// regular file.
func comesSlowly(path string) bool {
	stat := func() (os.FileInfo, error) { return os.Stat(path) }
	if path == "-" {
		stat = os.Stdin.Stat
	}
	info, err := stat() // an error comes again when the log is read
	return err == nil && !info.Mode().IsRegular()
}

// runFollow prints the records of a growing log until it is interrupted.
func runFollow(ctx context.Context, out, diagnostics io.Writer, logs []string,
	opts parseOptions,
) error {
	if len(logs) != 1 {
		return fmt.Errorf("expected one log to follow, found %d; name one of them, such as %s",
			len(logs), logs[0])
	}
	if err := opts.useDialectFile(); err != nil {
		return err
	}
	path := logs[0]
	var head []byte
	if path != "-" {
		var err error
		if head, err = headOf(path); err != nil {
			return err
		}
	}
	d, err := opts.read.dialects(head, displayName(path))
	if err != nil {
		return err
	}
	interruptible.Store(true)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Notices go to another output than the records.
	notice := func(text string) { _, _ = sink.Fprintf(diagnostics, "%s\n", text) }
	counts, err := records.Write(out, d.set.Follow(ctx, path, displayName(path), notice),
		records.Options{Format: opts.format, Live: true})
	if err != nil {
		return err
	}
	_, err = sink.Fprintf(diagnostics, "%s\n", counts)
	return err
}

// runTrial shows what the dialects in a file read in the logs.
func runTrial(out io.Writer, logs []string, opts parseOptions) error {
	dialects, err := dialectsOf(opts.dialectFile, opts.read.dialect)
	if err != nil {
		return err
	}
	records, err := text.DialectTrial(out, func(yield func(table.Trial, error) bool) {
		for _, path := range logs {
			if !tryLog(path, dialects, yield) {
				return
			}
		}
	}, dialects)
	if err == nil && records == 0 {
		err = fmt.Errorf("%s: nothing is read in %s", opts.dialectFile, strings.Join(logs, ", "))
	}
	return err
}

func tryLog(path string, dialects []dialect.User, yield func(table.Trial, error) bool) bool {
	log, err := parser.Open(path)
	if err != nil {
		return yield(table.Trial{}, err)
	}
	defer func() { _ = log.Close() }() // only read
	for trial, err := range table.Try(log, displayName(path), dialects) {
		if !yield(trial, err) || err != nil {
			return false
		}
	}
	return true
}

// dialectsOf returns all dialects in a file, or only the dialect with the given name.
func dialectsOf(file, name string) ([]dialect.User, error) {
	src, err := strictyaml.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("dialects: %w", err)
	}
	policy, err := check.ParsePolicy(src, file)
	if err != nil {
		return nil, err
	}
	if len(policy.Dialects) == 0 {
		return nil, errors.New(file +
			` has no dialects; expected them under the key "dialects", see vramsoak parse --help`)
	}
	if name == "" {
		return policy.Dialects, nil
	}
	var names []string
	for _, d := range policy.Dialects {
		if d.Name == name {
			return []dialect.User{d}, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("expected a dialect of %s (%s), found %q%s", file,
		strings.Join(names, ", "), name, strictyaml.Meant(name, names))
}
