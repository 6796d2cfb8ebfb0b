package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/strictyaml"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
	"vramsoak/reports/sink"
)

type validateOptions struct {
	gpu     string
	files   int
	profile string
	policy  string
	format  string
	table   bool
	live    liveOptions
}

// Status of validate: the codes are those of every command that judges, in its own words.
const validateStatus = `
EXIT STATUS
  0  it fits
  1  it is tight, does not fit, or a check fails
  2  trouble: wrong usage, a file that is refused
  3  undecided: what was measured does not suffice; the report says what would decide it
`

func newValidateCommand() *cobra.Command {
	opts := validateOptions{}
	cmd := &cobra.Command{
		Use:   "validate CONFIG [--live --batch DIR -- COMMAND...]",
		Short: "Tell before a batch whether it survives on a card, and the smallest change with which it does",
		Long: `Validate reads a pipeline file (or a scenario), refuses what is wrong in it with line and column, simulates the batch on
the virtual GPU, and answers: FITS, TIGHT (it runs, and needs more than 85 % of the card) or DOES NOT FIT. No GPU is needed.
The simulated run is judged as vramsoak check judges a log, by the same policy.

Where it does not fit it says what fails first, and looks for the smallest change that makes it fit: a setting of the
allocator, when the cache is cleared, batch sizes, restarts, number formats, smaller models, what the code keeps; one change,
or else two. Each change that is shown was simulated over all files.

Cards and models that are known by name are in docs/reference/cards-and-models.md; others have their size in the file. A file that does not say how many
files there are is validated with 50.

Footprints are estimated from the models' architectures. With --profile they are those that vramsoak profile learned from a
run. --live runs two files of the real command first, and says how far from it the prediction is.`,
		Example: `  vramsoak validate pipeline.yaml --gpu 16GiB --files 500
  vramsoak validate pipeline.yaml --gpu "RTX 5080" --profile profile.yaml

  # Which card for which model?
  vramsoak validate pipeline.yaml --table

  # On the GPU of this machine, with what is free on it now, after two files of the real command
  vramsoak validate pipeline.yaml --gpu auto --live --batch audio/ -- python transcribe.py {}`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, opts.live.command = args[:dash], args[dash:]
			}
			return wants(1, 1, "a pipeline file or a scenario")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("files") && opts.files < 1 {
				return fmt.Errorf("--files %d: expected 1 or more", opts.files)
			}
			if opts.files > runfolder.MaxFiles {
				return fmt.Errorf("--files %d: expected at most %d; each file is simulated", opts.files, runfolder.MaxFiles)
			}
			if cmd.Flags().Changed("gpu") && opts.gpu == "" {
				return errors.New("--gpu: expected a card, found none; such as 16GiB, \"RTX 5080\" or auto; leave it out for the file's")
			}
			if err := opts.live.check(); err != nil {
				return err
			}
			if opts.table && (opts.gpu != "" || opts.profile != "" || opts.live.on) {
				return errors.New("--table: expected none of --gpu, --profile and --live beside it; it is of cards of all sizes and models of all " +
					"sizes, and what was measured is of one")
			}
			return runValidate(cmd.Context(), cmd.OutOrStdout(), args[0], opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.gpu, "gpu", "", "the `card`: a size such as 16GiB, a name such as \"RTX 5080\", or auto; default the file's")
	f.IntVar(&opts.files, "files", 0, "files of the batch; default the file's count, or 50 where it has none, and for --table")
	f.StringVar(&opts.profile, "profile", "", "`file` with footprints that vramsoak profile learned from a run")
	f.StringVar(&opts.policy, "policy", "", "policy `file` (YAML); default vramsoak.yaml where there is one")
	f.BoolVar(&opts.table, "table", false, "answers of cards from 8 to 80 GB by the models of the family")
	f.StringVar(&opts.format, "format", "text", "text or json")
	opts.live.flags(f)
	return cmd
}

func runValidate(ctx context.Context, out io.Writer, path string, opts validateOptions) error {
	if opts.format != "text" && opts.format != "json" {
		return fmt.Errorf("expected --format text or json, found %q", opts.format)
	}
	batch, err := readValidated(path, opts)
	if err != nil {
		return err
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
	if opts.format == "json" {
		err = sink.WriteJSON(out, struct {
			*check.Report
			Validation *validation.Report `json:"validation"`
		}{r.Checks, r})
	} else {
		err = reports.ValidationText(out, r, textOptions(out))
	}
	if err != nil {
		return err
	}
	return verdict(r.Checks)
}

// validate gathers what is known of the batch beside its file, and answers whether it fits.
func validate(ctx context.Context, batch *validation.Batch, opts validateOptions) (*validation.Report, error) {
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
	defer show.say("")
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
	return reports.CardTableText(out, t, textOptions(out))
}

// defaultFiles is how many files are simulated if neither the file nor --files says.
const defaultFiles = 50

// readValidated reads the file, prints the linter's warnings, and applies the flags.
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
	b := &validation.Batch{Scenario: read, Source: src, Files: read.Files.Count, Card: opts.gpu, Policy: policy}
	switch {
	case opts.files > 0:
		b.Files = opts.files
	case opts.table:
		b.Files = defaultFiles
	case !read.SaysFiles():
		b.Files = defaultFiles
		stderr.Printf("vramsoak: %s: warning: expected files: {count: ..., seconds: ...}, found no count; it is validated with %d files of %s\n",
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
		return nil, fmt.Errorf("%s: expected a card, found none; name one with --gpu, such as 16GiB or \"RTX 5080\", or in the file: gpu: 16GiB", path)
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

// pictureCommand is the command line that draws what a batch fails by.
func pictureCommand(path string, opts validateOptions) string {
	simulate := "vramsoak simulate " + sink.Shell(path)
	if opts.gpu != "" {
		simulate += " --gpu " + sink.Shell(opts.gpu)
	}
	if opts.files > 0 {
		simulate += fmt.Sprint(" --files ", opts.files)
	}
	return simulate + " | vramsoak plot --fragmentation - -o map.png"
}
