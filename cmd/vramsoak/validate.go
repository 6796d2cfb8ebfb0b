package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/parser"
	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/html"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type validateOptions struct {
	gpu     string
	files   int
	profile string
	policy  string
	format  string
	output  string // an HTML page
	table   bool
	set     []string
	live    liveOptions
}

// validateStatus describes the exit codes of validate, which are the same as for all commands that
// judge.
const validateStatus = `
EXIT STATUS
  0  it fits
  1  it is tight, does not fit, or a check fails
  2  trouble: wrong usage, a file that is refused
  3  undecided: the measurements do not suffice; the report says what would decide it
`

func newValidateCommand() *cobra.Command {
	opts := validateOptions{}
	cmd := &cobra.Command{
		Use: "validate CONFIG [--live --batch DIR -- COMMAND...]",
		Short: "Predict whether a batch survives on a card, and find the smallest change with " +
			"which it does",
		Long: `Validate reads a pipeline file (or a scenario), refuses mistakes in it with line
and column, simulates the batch on the virtual GPU, and answers: FITS, TIGHT (it runs, but needs
more than 85 % of the card) or DOES NOT FIT. No GPU is needed. The simulated run is judged as
vramsoak check judges a log, by the same policy.

If the batch does not fit, it says what fails first, and looks for the smallest change that makes
the batch fit: a setting of the allocator, when the cache is cleared, gradient accumulation and
checkpointing, batch sizes, restarts, number formats, frozen layers, values of parameters, smaller
models, what the code keeps. It looks for one change, or else for two. Each
change that is shown was simulated over all files.

docs/reference/cards-and-models.md lists the cards and models that are known by name; for others,
the file gives the size. A file that does not say how many files there are is validated with 50.

Footprints are estimated from the models' architectures. With --profile they are those that
vramsoak profile learned from a run. --live first runs the real command over two files, and says how
far the prediction is from the real footprints.`,
		Example: `  vramsoak validate pipeline.yaml --gpu 16GiB --files 500
  vramsoak validate pipeline.yaml --gpu "RTX 5080" --profile profile.yaml

  # Which card for which model?
  vramsoak validate pipeline.yaml --table

  # Another value of a parameter that the file names
  vramsoak validate training.yaml --gpu 16GiB --set n_mels=64

  # On the GPU of this machine, with what is free on it now, after two files of the real command
  vramsoak validate pipeline.yaml --gpu auto --live --batch audio/ -- python transcribe.py --list {list}`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, opts.live.command = args[:dash], args[dash:]
			}
			return wantsFiles(1, 1, "a pipeline file or a scenario")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.files > runfolder.MaxFiles {
				return fmt.Errorf("--files: expected at most %d, found %d; each file is simulated",
					runfolder.MaxFiles, opts.files)
			}
			if cmd.Flags().Changed("gpu") && opts.gpu == "" {
				return errors.New("--gpu: expected a card, found none; give one such as 16GiB, " +
					"\"RTX 5080\" or auto, or leave --gpu out to use the card in the file")
			}
			if err := opts.live.check(); err != nil {
				return err
			}
			if opts.table && (opts.gpu != "" || opts.profile != "" || opts.live.on) {
				return errors.New("--table: expected none of --gpu, --profile and --live beside " +
					"it; the table is for many cards and models, and each of these is for one")
			}
			return runValidate(cmd.Context(), cmd.OutOrStdout(), args[0], opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.gpu, "gpu", "", "the `card`: a size such as 16GiB, a name such as \"RTX "+
		"5080\", or auto; the default is the card in the file")
	wholeVar(f, &opts.files, "files", 0, 1, "number of files in the batch; the default is the file's "+
		"count, or 50 if it has none or with --table")
	f.StringArrayVar(&opts.set, "set", nil, setUsage)
	inputVar(f, &opts.profile, "profile", "`file` with footprints that vramsoak profile "+
		"learned from a run", "yaml", "yml")
	policyVar(f, &opts.policy, "policy `file` (YAML); the default is vramsoak.yaml "+
		"if that exists")
	f.BoolVar(&opts.table, "table", false, "print which rows of the file's table, or which models "+
		"of the family, fit on cards from 8 to 80 GB")
	choiceVar(f, &opts.format, "format", "text", textOrJSON, "text or json")
	outputVar(f, &opts.output, "", "also write an HTML page with what each stage needs to this "+
		"`file`; - is standard output", "html")
	opts.live.flags(f)
	return cmd
}

func runValidate(ctx context.Context, out io.Writer, path string, opts validateOptions) error {
	batch, err := readValidated(path, opts)
	if err != nil {
		return err
	}
	if opts.table && opts.output != "" {
		return errors.New("--table, --output: expected one of them; the page is of one card")
	}
	if opts.table {
		return writeTable(out, batch, opts.format)
	}
	r, err := validate(ctx, batch, opts)
	if err != nil {
		return err
	}
	for _, err := range r.Refused {
		stderr.Printf("vramsoak: %v\n", err)
	}
	if opts.output != "" {
		err := writeOutput(opts.output, func(w io.Writer) error {
			return html.WriteNeeds(w, r, version())
		})
		if err != nil {
			return err
		}
	}
	if opts.format == "json" {
		err = sink.WriteJSON(out, struct {
			*check.Report
			Validation *validation.Report `json:"validation"`
		}{r.Checks, r})
	} else {
		err = text.Validation(out, r, textOptions(out))
	}
	if err != nil {
		return err
	}
	if err := annotate(out, opts.format, r.Checks); err != nil {
		return err
	}
	return verdict(r.Checks)
}

// validate returns the report on whether the batch fits. If the options ask for it, it also uses
// the profile of an earlier run, and runs the real command over two files.
func validate(ctx context.Context, batch *validation.Batch,
	opts validateOptions,
) (*validation.Report, error) {
	var known validation.Evidence
	var err error
	if opts.profile != "" {
		if known.Profile, err = readProfile(opts.profile); err != nil {
			return nil, err
		}
	}
	if opts.live.on {
		if known.Live, err = opts.live.run(ctx, batch.Policy, batch.Env); err != nil {
			return nil, err
		}
	}
	if opts.profile == "" && !opts.live.on {
		known.Picture = pictureCommand(batch.Path, opts)
	}
	show := newDisplay(stderr)
	defer show.close()
	known.Progress = show.say
	return batch.Validate(known)
}

func readProfile(path string) (*profile.Profile, error) {
	src, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	return profile.Read(src, path)
}

func writeTable(out io.Writer, batch *validation.Batch, format string) error {
	t, err := batch.Table()
	if err != nil {
		return err
	}
	if format == "json" {
		return sink.WriteJSON(out, t)
	}
	return text.Cards(out, t, textOptions(out))
}

// defaultFiles is how many files are simulated if neither the scenario nor --files gives a number.
const defaultFiles = 50

// readValidated reads the scenario, prints the linter's warnings, and applies the flags.
func readValidated(path string, opts validateOptions) (*validation.Batch, error) {
	src, err := scenarioFile(path)
	if err != nil {
		return nil, err
	}
	read, err := scenario.Read(src, path)
	if err != nil {
		return nil, err
	}
	policy, _, err := policyFor(opts.policy, nil)
	if err != nil {
		return nil, err
	}
	policy.Waive = nil // a batch that does not fit does not fit, waiver or not
	b := &validation.Batch{
		Scenario: read, Source: src, Files: read.Files.Count, Card: opts.gpu,
		Policy: policy,
	}
	if err := setParameters(opts.set, b.Set); err != nil {
		return nil, err
	}
	switch {
	case opts.files > 0:
		b.Files = opts.files
	case opts.table:
		b.Files = defaultFiles
	case !read.SaysFiles():
		b.Files = defaultFiles
		stderr.Printf("vramsoak: %s: warning: expected files: {count: ..., seconds: ...}, found "+
			"no count; it is validated with %d files of %s\n",
			path, b.Files, lengthsOf(read.Files))
	}
	warnOfEnvironment(read, stderr)
	if b.Name == "" {
		b.Name = filepath.Base(path)
	}
	gpu := read.GPU
	switch {
	case opts.gpu != "":
		if gpu, err = cardFor(read, opts.gpu); err != nil {
			return nil, err
		}
		if opts.gpu == autoGPU {
			b.Card = gpu.Card
		}
	case opts.table:
	case gpu.Total == 0:
		return nil, fmt.Errorf("%s: expected a card, found none; name one with --gpu, such as "+
			"16GiB or \"RTX 5080\", or in the file: gpu: 16GiB", path)
	default:
		b.Card = gpu.Card
	}
	files := b.Files
	b.Change(func(s *scenario.Scenario) {
		s.SetFiles(files)
		s.GPU = gpu
	})
	return b, lint(read, stderr)
}

// pictureCommand returns the command line that draws a picture of why a batch fails.
func pictureCommand(path string, opts validateOptions) string {
	simulate := "vramsoak simulate " + sink.Shell(path)
	if opts.gpu != "" {
		simulate += " --gpu " + sink.Shell(opts.gpu)
	}
	if opts.files > 0 {
		simulate += fmt.Sprint(" --files ", opts.files)
	}
	var set strings.Builder
	for _, a := range opts.set {
		set.WriteString(" --set " + sink.Shell(a))
	}
	simulate += set.String()
	return simulate + " | vramsoak plot --fragmentation - -o map.png"
}

// liveFiles is the number of files that the real command gets. During the first file it loads
// models and warms up. The second file is like all later ones.
const liveFiles = 2

type liveOptions struct {
	on      bool
	batch   []string
	feed    string
	timeout time.Duration
	command []string
}

func (o *liveOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "live", false, "first run the command after -- over two files, and compare")
	f.StringArrayVar(&o.batch, "batch", nil, "with --live: a `folder`, a manifest.json, a list "+
		"(.txt) or a file; may be repeated")
	choiceVar(f, &o.feed, "feed", "", slices.DeleteFunc(slices.Clone(feeds), isNone),
		"with --live: process, list or stdin; the default follows from the command")
	spanVar(f, &o.timeout, "timeout", 0, "with --live: end the process when one file takes "+
		"longer than this; 0 is no limit")
}

// check returns an error if a flag of a live run is missing, or is given without --live.
func (o *liveOptions) check() error {
	switch {
	case !o.on && (len(o.command) > 0 || len(o.batch) > 0 || o.feed != "" || o.timeout != 0):
		return errors.New("a command, --batch, --feed and --timeout are for --live; give --live " +
			"too")
	case o.on && len(o.command) == 0:
		return errors.New("--live: expected a command to run, found none; put it after --, such " +
			"as: --live --batch audio/ -- python transcribe.py --list {list}")
	case o.on && len(o.batch) == 0:
		return errors.New("--live: expected files to feed, found none; name them with --batch")
	case o.on && o.feed == "" && harness.FeedOf(o.command) == harness.FeedNone:
		return errors.New("--live: expected {list} or {} in the command's arguments, found " +
			"neither; {list} stands for the path of a list of files, {} for that of one file; a command " +
			"that reads paths from its standard input takes --feed stdin")
	}
	return nil
}

// run runs the real command over the first files, with the environment from the scenario, and reads
// its log.
func (o *liveOptions) run(ctx context.Context, policy check.Policy,
	env map[string]string,
) (*validation.LiveRun, error) {
	files, err := inputs("--batch", o.batch, missing)
	if err != nil {
		return nil, err
	}
	dialects, err := parser.NewSet("", policy.Dialects...)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "vramsoak-live-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // after an error, the files stay
	display := newDisplay(stderr)
	defer display.close()
	cfg := harness.Config{
		Command: o.command, Files: files[:min(liveFiles, len(files))], Feed: harness.Feed(o.feed),
		Timeout: o.timeout,
		Dir:     dir, Version: version(), Dialects: dialects, Reaper: true, Progress: display.show,
		// Less important messages are dropped, because the answer says how the files ended.
		Logger: newLogger(display, slog.LevelError),
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cfg.Env = append(cfg.Env, name+"="+env[name])
	}
	if o.feed == "" {
		cfg.Feed = harness.FeedOf(o.command)
	}
	nvml, closeNVML := openNVML()
	defer closeNVML()
	if nvml != nil {
		cfg.Device = nvml.View(nvml.Visible(os.LookupEnv(meter.VisibleDevices))).Use
	}
	ctx, kill, stop := onInterrupt(ctx)
	defer stop()
	cfg.Kill = kill
	outcome, err := harness.Run(ctx, cfg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--live: %w", err)
	case outcome.Reason == harness.ReasonInterrupted:
		return nil, errors.New("--live: interrupted")
	}
	tl, _, err := readOptions{}.timeline(runfolder.Logs(dir), &parser.Builder{})
	// The error quotes the log, which is removed at the end of this function.
	if _, nothing := errors.AsType[emptyError](err); nothing && outcome.Diagnostic == "" {
		return nil, errors.New("--live: expected checkpoints from the command, found none; have " +
			"it print lines such as " +
			"\"[GPU Memory] Before Transcription: Allocated: 0.18GB\", or name its dialect in " +
			"the policy\n" + lastLines(runfolder.Logs(dir)))
	}
	switch {
	case err != nil && outcome.Diagnostic != "": // the diagnostic says more than err
		return nil, errors.New("--live: " + outcome.Diagnostic)
	case err != nil:
		return nil, fmt.Errorf("--live: %w", err)
	}
	live, err := validation.ReadLive(tl)
	switch {
	case outcome.Diagnostic != "" && (err != nil || len(live.Failures) == 0):
		return nil, fmt.Errorf("--live: %s", outcome.Diagnostic)
	case err != nil:
		return nil, fmt.Errorf("--live: nothing can be learned from the command's files: %w\n%s",
			err, lastLines(runfolder.Logs(dir)))
	}
	return live, nil
}
