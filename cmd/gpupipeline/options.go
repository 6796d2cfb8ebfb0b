//go:build whisper

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline"
	"vramsoak/pipeline/diarization"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/text"
)

type options struct {
	// Files.
	paths            []string
	list, order, out string
	stdin            bool
	first            int
	formats          []string
	truth            string
	// Transcription.
	model, language string
	threads         int
	// Diarization.
	segmentation, embedding, provider string
	speakers, diarizationThreads      int
	threshold                         float64
	fast, allowFastPath, noEnroll     bool
	enrollBatch                       int
	// Text embedding.
	textModel, textModelFast, textVocabulary, textProfile, textPooling string
	textBatch                                                          int
	// Memory.
	batchMemory    pipeline.Share
	clearEvery     int
	isolate        []string
	malloc, device string
	// Other.
	faults           pipeline.Faults
	verbose, version bool

	given   map[string]bool // the flags that were given
	notices []string        // what the user should know about the environment
}

// diarizes reports whether the pipeline looks for speakers.
func (o *options) diarizes() bool { return o.segmentation != "" && !o.fast }

// withoutSpeakers says why there is no diarization.
func (o *options) withoutSpeakers() string {
	if o.fast {
		return "--fast"
	}
	return "no --segmentation and --embedding"
}

// diarization returns the configuration of sherpa-onnx.
func (o *options) diarization() diarization.Config {
	return diarization.Config{
		Segmentation: o.segmentation, Embedding: o.embedding, Speakers: o.speakers,
		Threshold: o.threshold,
		Threads:   o.diarizationThreads, Provider: o.provider,
	}
}

// The profiles of text embedding, in the words of EMBEDDING_PROFILE.
const (
	profileQuality  = "quality"
	profileBalanced = "balanced"
	profileSpeed    = "speed"
)

var profiles = []string{profileQuality, profileBalanced, profileSpeed}

// embedsText reports whether the pipeline embeds the texts of the segments.
func (o *options) embedsText() bool { return o.textModel != "" || o.textModelFast != "" }

// textFlag returns the flag that names the text model of the profile, and its value.
func (o *options) textFlag() (flag, model string) {
	if o.textProfile == profileSpeed {
		return "--text-model-fast", o.textModelFast
	}
	return "--text-model", o.textModel
}

// text returns the configuration of the text embedding.
func (o *options) text() text.Config {
	_, model := o.textFlag()
	return text.Config{
		Model: model, Vocabulary: o.textVocabulary, Pooling: text.Pooling(o.textPooling),
		Threads: o.threads,
	}
}

// parse reads the arguments. For options that they leave out, it reads the environment. The error
// names every mistake.
func parse(args []string, getenv func(string) string) (*options, error) {
	env := &environment{getenv: getenv}
	o := &options{formats: []string{"json"}, batchMemory: pipeline.Fraction(8)}
	flags := flag.NewFlagSet("gpupipeline", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.list, "list", "", "")
	flags.BoolVar(&o.stdin, "stdin", false, "")
	flags.StringVar(&o.order, "order", "given", "")
	flags.IntVar(&o.first, "first", env.number(1, "VRAMSOAK_FIRST"), "")
	flags.StringVar(&o.out, "out", "", "")
	flags.Func("formats", "", words(&o.formats, allFormats))
	flags.StringVar(&o.truth, "truth", "", "")
	flags.StringVar(&o.model, "model", "", "")
	flags.StringVar(&o.language, "language", "en", "")
	flags.IntVar(&o.threads, "threads", min(4, runtime.NumCPU()), "")
	flags.StringVar(&o.segmentation, "segmentation", "", "")
	flags.StringVar(&o.embedding, "embedding", "", "")
	flags.IntVar(&o.speakers, "speakers", 0, "")
	flags.Float64Var(&o.threshold, "threshold", 0.5, "")
	flags.StringVar(&o.provider, "provider", "cpu", "")
	flags.IntVar(&o.diarizationThreads, "diarization-threads", 1, "")
	flags.BoolVar(&o.fast, "fast", false, "")
	flags.BoolVar(&o.allowFastPath, "fast-path", env.yes(true, "ENABLE_FAST_PATH"), "")
	flags.BoolVar(&o.noEnroll, "no-enroll", env.yes(false, "SKIP_VOICE_EMBEDDINGS"), "")
	flags.IntVar(&o.enrollBatch, "enroll-batch", env.number(4, "VOICE_ENROLLMENT_BATCH_SIZE"), "")
	flags.StringVar(&o.textModel, "text-model", "", "")
	flags.StringVar(&o.textModelFast, "text-model-fast", "", "")
	flags.StringVar(&o.textVocabulary, "text-vocabulary", "", "")
	flags.StringVar(&o.textProfile, "text-profile", env.word(profileQuality, profiles,
		"EMBEDDING_PROFILE"), "")
	flags.StringVar(&o.textPooling, "text-pooling", string(text.Mean), "")
	flags.IntVar(&o.textBatch, "text-batch", env.number(128, "EMBEDDING_BATCH_SIZE"), "")
	flags.Var(&o.batchMemory, "batch-memory", "")
	flags.IntVar(&o.clearEvery, "clear-every", 5, "")
	flags.Func("isolate", "", words(&o.isolate, []string{
		stageWhisper, stageDiarization,
		stageText,
	}))
	flags.StringVar(&o.malloc, "malloc", string(meter.MallocFixed), "")
	flags.StringVar(&o.device, "device", "auto", "")
	flags.Var(&o.faults, "fault", "")
	flags.BoolVar(&o.verbose, "verbose", false, "")
	flags.BoolVar(&o.version, "version", false, "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errors.Join(append(env.errs, fmt.Errorf("%s; see gpupipeline --help",
			twoDashes(err)))...)
	}
	o.given = map[string]bool{}
	flags.Visit(func(f *flag.Flag) { o.given[f.Name] = true })
	o.paths = flags.Args()
	if o.version {
		return o, nil
	}
	o.notices = env.notices(o)
	return o, errors.Join(append(env.errs, o.check()...)...)
}

// oneDash matches a flag's name in the errors of package flag, which writes it with one dash.
var oneDash = regexp.MustCompile(`(flag|for|defined:|argument:) -(\w)`)

func twoDashes(err error) string { return oneDash.ReplaceAllString(err.Error(), "$1 --$2") }

// cleanups are the cleanups that a fault may skip.
var cleanups = []string{
	"Whisper", "Waveform", "Diarization Model", "Alignment Tensors", "Text Embedder", "Final",
}

func (o *options) check() (errs []error) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(name, value string, allowed ...string) {
		expect(slices.Contains(allowed, value), "--%s: %s", name, unknown(value, allowed))
	}
	expect(o.model != "", "--model: expected a model file, found none")
	expect((o.segmentation == "") == (o.embedding == ""),
		"--segmentation, --embedding: expected both models of diarization or none of them, found one")
	expect(o.truth == "" || o.diarizes(),
		"--truth: expected a diarization, which it judges, found %s", o.withoutSpeakers())
	expect(!o.given["fast"] || !o.fast || !o.given["fast-path"] || o.allowFastPath,
		"--fast, --fast-path=false: expected one of them, found both: no diarization, and one that "+
			"must not be left out")
	expect(!o.given["fast-path"] || o.allowFastPath || o.fast || o.diarizes(),
		"--fast-path=false: expected a diarization, which must not be left out, found %s",
		o.withoutSpeakers())
	expect(!o.given["formats"] || o.out != "", "--formats: expected --out too, the folder for what "+
		"is written, found none")
	expect(!slices.Contains(o.formats, "rttm") || o.diarizes(),
		"--formats rttm: expected a diarization, whose turns it has, found %s", o.withoutSpeakers())
	oneOf("order", o.order, "given", "smallest")
	expect(o.first >= 1, "--first: expected 1 or more, found %d", o.first)
	expect(o.threads >= 1, "--threads: expected 1 or more, found %d", o.threads)
	expect(o.speakers >= 0, "--speakers: expected 0 or more, found %d", o.speakers)
	expect(o.threshold > 0 && o.threshold <= 2, "--threshold: expected more than 0 and at most "+
		"2, found %g", o.threshold)
	oneOf("provider", o.provider, "cpu", "cuda")
	expect(o.diarizationThreads >= 1, "--diarization-threads: expected 1 or more, found %d",
		o.diarizationThreads)
	expect(o.enrollBatch >= 1, "--enroll-batch: expected 1 or more, found %d", o.enrollBatch)
	oneOf("text-profile", o.textProfile, profiles...)
	oneOf("text-pooling", o.textPooling, string(text.Mean), string(text.CLS))
	expect(o.textBatch >= 1, "--text-batch: expected 1 or more, found %d", o.textBatch)
	flag, model := o.textFlag()
	expect(!o.embedsText() || model != "", "%s: expected the model of the profile %s, found none: "+
		"give it, or another --text-profile (EMBEDDING_PROFILE)", flag, o.textProfile)
	expect(o.textVocabulary == "" || o.embedsText(),
		"--text-vocabulary: expected --text-model, whose words it has, found none")
	expect(o.clearEvery >= 0, "--clear-every: expected 0 or more, found %d", o.clearEvery)
	oneOf("malloc", o.malloc, string(meter.MallocFixed), string(meter.MallocDefault))
	oneOf("device", o.device, "auto", "host", "nvml")
	var sources []string
	for _, source := range []struct {
		given bool
		name  string
	}{{len(o.paths) > 0, "audio files"}, {o.list != "", "--list"}, {o.stdin, "--stdin"}} {
		if source.given {
			sources = append(sources, source.name)
		}
	}
	expect(len(sources) > 0, "expected audio files, --list or --stdin, found none")
	expect(len(sources) < 2, "expected audio files, --list or --stdin, found %s",
		strings.Join(sources, " and "))
	for _, n := range slices.Sorted(maps.Keys(o.faults.At)) {
		fault := o.faults.At[n]
		enrolls := o.diarizes() && !o.noEnroll
		expect(enrolls || fault != pipeline.FaultOOMBatch && fault != pipeline.FaultOOMItem,
			"--fault %s:%d: expected enrollment, whose memory it takes, found none: it "+
				"needs the models of diarization, without --fast and --no-enroll", fault, n)
		expect(o.embedsText() || fault != pipeline.FaultOOMTextBatch &&
			fault != pipeline.FaultOOMTextItem, "--fault %s:%d: expected text embedding, whose memory "+
			"it takes, found none: it needs --text-model", fault, n)
	}
	for _, name := range o.faults.Keep {
		expect(slices.Contains(cleanups, name), "--fault: expected keep: with %s, found keep:%s",
			either(cleanups), name)
	}
	return errs
}

// unknown returns the message for a word that is not one of those allowed.
func unknown(word string, allowed []string) string {
	return fmt.Sprintf("expected %s, found %q%s", either(allowed), word,
		strictyaml.Meant(word, allowed))
}

// either returns the words as an alternative: "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// words returns a function that reads a list of words with commas between them. Each word must be
// one of `allowed`.
func words(into *[]string, allowed []string) func(string) error {
	return func(s string) error {
		*into = nil
		for name := range strings.SplitSeq(s, ",") {
			if !slices.Contains(allowed, name) {
				return fmt.Errorf("expected %s, with commas between, found %q",
					either(allowed), name)
			}
			if !slices.Contains(*into, name) {
				*into = append(*into, name)
			}
		}
		return nil
	}
}
