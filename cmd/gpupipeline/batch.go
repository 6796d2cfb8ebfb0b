//go:build whisper

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"vramsoak/pipeline"
	"vramsoak/pipeline/diarization"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/speakers"
	"vramsoak/pipeline/text"
	"vramsoak/pipeline/whisper"
	"vramsoak/reports/sink"
)

// process works on all files of the batch.
func process(ctx context.Context, o *options) (pipeline.Result, error) {
	var none pipeline.Result
	host, err := meter.OpenHost(meter.Malloc(o.malloc))
	if err != nil {
		return none, err
	}
	devices, err := whisper.Init(o.verbose)
	if err != nil {
		return none, err
	}
	ledger, err := openLedger(o.device, host, devices)
	if err != nil {
		return none, err
	}
	defer ledger.close()
	truth, err := checkFiles(o)
	if err != nil {
		return none, err
	}
	w := &work{
		options: o,
		runner: &pipeline.Runner{
			Device: ledger, Log: stdout, Keep: o.faults.Keep,
			KeepCache: o.clearEvery == 0,
		},
		host:    host,
		ledger:  ledger,
		engines: newEngines(o, ledger),
		// One threshold serves both purposes: two voices that count as different within a file also
		// count as different in the batch.
		voices: speakers.NewVoices(1 - o.threshold),
		truth:  truth,
	}
	w.runner.Describe = w.describe
	if err := w.engines.warmUp(ctx, o); err != nil {
		return none, err
	}
	every := pipeline.WatchEvery
	if ledger.gpu != nil {
		every = pipeline.WatchGPUEvery
	}
	defer w.runner.Watch(every)()
	batch := &pipeline.Batch{
		Runner: w.runner, First: o.first, Work: w.file, Failed: report,
		AnyThread: meter.Malloc(o.malloc) == meter.MallocDefault,
	}
	result, err := batch.Run(ctx, paths(ctx, o))
	if err == nil && result.Files == 0 {
		err = errors.New("expected audio files, found no path")
	}
	if err == nil && truth != nil && w.known == 0 {
		err = truth.none(result.Files)
	}
	if w.total.files > 0 {
		stderr.Printf("gpupipeline: %s: %v\n", files(w.total.files), &w.total)
	}
	return result, err
}

// files returns a count with its noun: "1 file", "60 files".
func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// checkFiles checks, before the first file, that everything the batch needs exists. It also reads
// the truth. The error names every mistake.
func checkFiles(o *options) (t *truth, err error) {
	var errs []error
	if info, err := os.Stat(o.model); err != nil {
		errs = append(errs, fmt.Errorf("--model: %w", err))
	} else if info.IsDir() {
		errs = append(errs, fmt.Errorf("--model: expected a file, found the folder %s", o.model))
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o777); err != nil {
			errs = append(errs, fmt.Errorf("--out: %w", err))
		}
	}
	if o.diarizes() {
		errs = append(errs, checkDiarization(o))
	}
	if o.embedsText() {
		errs = append(errs, checkText(o))
	}
	if o.truth != "" {
		if t, err = readTruth(o.truth); err != nil {
			errs = append(errs, fmt.Errorf("--truth: %w", err))
		} else if len(o.paths) > 0 && !slices.ContainsFunc(o.paths, t.knows) {
			errs = append(errs, t.none(len(o.paths)))
		}
	}
	return t, errors.Join(errs...)
}

// checkDiarization checks the model files and the other settings of the diarization.
func checkDiarization(o *options) error {
	errs := []error{flagged(o.diarization().Validate())}
	segmentation := diarization.Check(o.segmentation, diarization.Segmentation)
	embedding := diarization.Check(o.embedding, diarization.Embedding)
	if segmentation != nil && embedding != nil &&
		diarization.Check(o.segmentation, diarization.Embedding) == nil &&
		diarization.Check(o.embedding, diarization.Segmentation) == nil {
		return errors.Join(append(errs,
			fmt.Errorf("--segmentation, --embedding: these two look swapped: %s measures voices, "+
				"and %s finds where they are",
				o.segmentation, o.embedding))...)
	}
	return errors.Join(append(errs, named("--segmentation", segmentation), named("--embedding",
		embedding))...)
}

// checkText checks the model file of the text embedding and its vocabulary.
func checkText(o *options) error {
	flag, model := o.textFlag()
	_, err := text.ReadVocabulary(o.text().VocabularyPath())
	if errors.Is(err, fs.ErrNotExist) && o.textVocabulary == "" {
		err = fmt.Errorf("%w; put the model's %s beside it, or name it with --text-vocabulary", err,
			text.VocabularyName)
	}
	return errors.Join(named(flag, text.Check(model)), named("--text-vocabulary", err))
}

// flagged adds dashes to the mistakes in a diarization's configuration. Each mistake begins with
// the name of its flag.
func flagged(err error) error {
	if err == nil {
		return nil
	}
	var all []error
	for mistake := range strings.SplitSeq(err.Error(), "\n") {
		if rest, ok := strings.CutPrefix(mistake, "threads:"); ok {
			mistake = "diarization-threads:" + rest
		}
		all = append(all, errors.New("--"+mistake))
	}
	return errors.Join(all...)
}

func report(f pipeline.File, err error) {
	stderr.Printf("gpupipeline: file %d, %s: %s\n", f.Index, f.Path, sink.Error(err, f.Path))
	if p, ok := errors.AsType[*pipeline.PanicError](err); ok {
		stderr.Printf("%s", p.Stack)
	}
}
