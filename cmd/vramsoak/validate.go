package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
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
			if opts.files > batchMax {
				return fmt.Errorf("--files %d: expected at most %d; each file is simulated", opts.files, batchMax)
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

// A subject is what is validated: the file, as it was read and made ready to be simulated.
type subject struct {
	*scenario.Scenario
	src     []byte
	files   int
	card    string
	policy  check.Policy
	prepare func(*scenario.Scenario) // the card, and what was measured
}

func runValidate(ctx context.Context, out io.Writer, path string, opts validateOptions) error {
	if opts.format != "text" && opts.format != "json" {
		return fmt.Errorf("expected --format text or json, found %q", opts.format)
	}
	s, err := readSubject(path, opts)
	if err != nil {
		return err
	}
	if opts.table {
		return writeTable(out, s, opts.format)
	}
	v, report, err := answer(ctx, s, opts)
	if err != nil {
		return err
	}
	if opts.format == "json" {
		err = sink.WriteJSON(out, struct {
			*check.Report
			Validation *reports.Validation `json:"validation"`
		}{report, v})
	} else {
		err = reports.ValidationText(out, v, report, textOptions(out))
	}
	if err != nil {
		return err
	}
	return verdict(report)
}

func writeTable(out io.Writer, s *subject, format string) error {
	t, err := s.cardTable()
	if err != nil {
		return err
	}
	if format == "json" {
		return sink.WriteJSON(out, t)
	}
	return reports.CardTableText(out, t, textOptions(out))
}

// readSubject reads the file, says what the linter has to say, and puts in what the flags name.
func readSubject(path string, opts validateOptions) (*subject, error) {
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
	s := &subject{Scenario: read, src: src, files: read.Files.Count, card: opts.gpu, policy: policy}
	switch {
	case opts.files > 0:
		s.files = opts.files
	case opts.table:
		s.files = tableFiles
	case !read.SaysFiles():
		s.files = tableFiles
		stderr.Printf("vramsoak: %s: warning: expected files: {count: ..., seconds: ...}, found no count; it is validated with %d files of %s\n",
			path, s.files, lengthsOf(read.Files))
	}
	otherEnvironment(read, stderr)
	if s.Name == "" {
		s.Name = filepath.Base(path)
	}
	gpu := read.GPU
	switch {
	case opts.gpu != "":
		if gpu, err = cardFor(read, opts.gpu); err != nil {
			return nil, err
		}
		if opts.gpu == autoGPU {
			s.card = gpu.Card
		}
	case opts.table:
	case gpu.Total == 0:
		return nil, fmt.Errorf("%s: expected a card, found none; name one with --gpu, such as 16GiB or \"RTX 5080\", or in the file: gpu: 16GiB", path)
	default:
		s.card = gpu.Card
	}
	files := s.files
	s.prepare = func(s *scenario.Scenario) {
		s.SetFiles(files)
		s.GPU = gpu
	}
	s.prepare(s.Scenario)
	return s, lint(read, stderr)
}

// answer is the validation, and the report that its verdict is of.
func answer(ctx context.Context, s *subject, opts validateOptions) (*reports.Validation, *check.Report, error) {
	v := &reports.Validation{Scenario: s.Name, Card: cmp.Or(s.card, parser.FormatBytes(s.GPU.Total)), Total: s.GPU.Total, Files: s.files}
	var learned []profile.Comparison
	if opts.profile != "" {
		var err error
		if learned, err = s.measureBy(opts.profile); err != nil {
			return nil, nil, err
		}
		v.Footprints = footprints(learned)
	}
	var live *liveRun
	var predicted *simulatedRun // without what was measured live
	if opts.live.on {
		var err error
		if live, err = opts.live.run(ctx, s.policy, s.Env); err != nil {
			return nil, nil, err
		}
		if predicted, err = s.simulate(s.Scenario, s.all(), false); err != nil {
			return nil, nil, err
		}
		v.Live, v.LiveFailed = s.compareLive(live.profile), live.failures
	}
	show := newDisplay(stderr)
	defer show.say("")
	show.say(fmt.Sprintf("simulating %d files", s.files))
	r, err := s.simulate(s.Scenario, s.all(), false)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range []*check.Finding{doubt(r.Highest().Stage, "the profile", v.Footprints), doubt(r.Highest().Stage, "the command's log", v.Live)} {
		if f != nil {
			r.report.Join(*f)
		}
	}
	if err := s.longerFiles(r, learned); err != nil {
		return nil, nil, err
	}
	simulated, failed := r.Answer, ""
	if predicted != nil {
		r.against(predicted)
		simulated = r.Answer
		failed = s.failedLive(r, live)
	}
	r.settle()
	r.describe(s, v)
	if f := v.Failure; f != nil && f.Fragmentation && opts.profile == "" && !opts.live.on {
		f.Picture = pictureCommand(s.Path, opts)
	}
	if failed != "" {
		v.Why = failed
	}
	if r.Answer <= validation.Unsure || failed != "" && simulated <= validation.Unsure { // in the file there is nothing to be mended
		return v, r.report, nil
	}
	if err := s.larger(r, v); err != nil {
		return nil, nil, err
	}
	stage := r.Highest().Stage
	if f := r.outcome.FirstFailure; f != nil && f.Stage != "" {
		stage = f.Stage
	}
	found, err := validation.Search(s.src, s.Path, r.Result, s.trial(r.Answer, show), validation.Options{
		Files: s.files, Stage: stage, Sample: r.Sample(s.files), Prepare: s.prepare,
	})
	if err != nil {
		return nil, nil, err
	}
	for _, err := range found.Refused {
		stderr.Printf("vramsoak: %v\n", err)
	}
	s.proposals(v, found)
	return v, r.report, nil
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

// all are the files of the batch.
func (s *subject) all() validation.Files { return validation.Files{First: 1, Count: s.files} }

// says is an answer as the end of a sentence.
func says(a validation.Answer) string {
	return [...]string{"fits", "fits", "is tight", "fails a check", "does not fit"}[a]
}
