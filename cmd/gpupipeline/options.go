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
	"strconv"
	"strings"

	"vramsoak/pipeline"
	"vramsoak/pipeline/diarization"
	"vramsoak/pipeline/meter"
)

const usage = `gpupipeline transcribes audio files, finds who speaks, and logs its memory.

USAGE
  gpupipeline --model FILE [--segmentation FILE --embedding FILE] [flags] AUDIO...
  gpupipeline --model FILE [--segmentation FILE --embedding FILE] [flags] --list FILE
  gpupipeline --model FILE [--segmentation FILE --embedding FILE] [flags] --stdin

EXAMPLES
  gpupipeline --model tiny.bin --out transcripts audio/*.wav
  gpupipeline --model tiny.bin --segmentation seg.onnx --embedding voice.onnx \
    --formats json,srt,rttm --out out --list batch.txt
  find audio -name '*.wav' | gpupipeline --model tiny.bin --stdin
  gpupipeline --model tiny.bin --fault leak:4MiB --fault crash:20 --list batch.txt

whisper.cpp transcribes. With the two models of diarization, sherpa-onnx then finds who speaks when.
Enrollment compares the voices, so that a speaker has the same name in all files of the process.
Then words and segments get their speakers.

The log goes to stdout: a line for each checkpoint, and one where each file begins and ends. The
batch goes on after a file that fails; the log and stderr say why it failed.

FILES
  --list FILE      read paths from FILE, one a line
  --stdin          read paths from stdin, one a line, and work on each as it comes
  --order NAME     given: in the given order; smallest: the smallest files first, after all paths
                   have been read (given)
  --first N        position of the first file in the batch (VRAMSOAK_FIRST, else 1)
                   Paths come from one of AUDIO, --list and --stdin
  --out DIR        write the results for each file into DIR, as NAME-DIGEST.FORMAT: NAME is at most
                   200 bytes of the file's name, DIGEST twelve digits of the SHA-256 of its path
  --formats LIST   some of json, srt, vtt and rttm, with commas between; with --out (json)
  --truth FILE     who really speaks when: a manifest from vramsoak fixtures audio, or FILE.rttm,
                   which names files without folder and extension. Print the diarization error rate
                   and the share of words with the right speaker, for each file and at the end

TRANSCRIPTION
  --model FILE     model in ggml format
  --language CODE  the language spoken; auto detects it (en)
  --threads N      CPU threads (the CPUs, at most 4)

DIARIZATION
  --segmentation FILE       ONNX model that finds voices: pyannote's, exported by sherpa-onnx
  --embedding FILE          ONNX model that tells voices apart: of WeSpeaker, 3D-Speaker or NeMo
  --speakers N              number of speakers; 0 finds out (0)
  --threshold X             how different the voices of two speakers are, 0 to 2; for --speakers 0
                            (0.5)
  --provider NAME           cpu or cuda; cuda needs sherpa-onnx's GPU libraries first in
                            LD_LIBRARY_PATH (cpu)
  --diarization-threads N   CPU threads (1)
  --fast                    no diarization (ENABLE_FAST_PATH=true)
  --no-enroll               diarization without enrollment (SKIP_VOICE_EMBEDDINGS=true)
  --enroll-batch N          turns in a batch of enrollment (VOICE_ENROLLMENT_BATCH_SIZE, else
                            EMBEDDING_BATCH_SIZE, else 4)

MEMORY
  --batch-memory SHARE  memory for a batch of enrollment: a part of the machine's free memory, such
                        as 1/8 or 12.5%, or a size, such as 512MiB. Batches are smaller when less
                        is free (1/8)
  --clear-every N       release cached memory after N batches of enrollment, and after every
                        cleanup; 0: never (5)
  --isolate LIST        whisper, diarization or both, with a comma between: run each stage in its
                        own process, whose end frees all its memory. If it crashes, the file fails
                        and the batch goes on
  --malloc NAME         fixed: the C allocator has one arena and a fixed threshold for mapping;
                        default: as in glibc (fixed)
  --device NAME         which memory to read: host, the C allocator of this process and its
                        workers; nvml, the GPU; auto, the GPU if whisper.cpp uses one (auto)

OTHER
  --fault SPEC     fail on purpose, to test what watches the pipeline; may be repeated:
                     leak:SIZE    each file keeps SIZE
                     keep:NAME    a cleanup that frees nothing: Whisper, Waveform,
                                  "Diarization Model", "Alignment Tensors" or Final
                     oom:N        file N asks for twice the device's memory
                     oom-batch:N  enrollment has memory for one turn only in file N
                     oom-item:N   not even for one turn
                     crash:N      the process that transcribes aborts in file N
                     hang:N       file N never ends
  --verbose        whisper.cpp's own log on stderr
  --version        print the versions of the engines and the devices that whisper.cpp finds
  --help           print this

ENVIRONMENT
  Flags override the environment: ENABLE_FAST_PATH, SKIP_VOICE_EMBEDDINGS,
  VOICE_ENROLLMENT_BATCH_SIZE, EMBEDDING_BATCH_SIZE and VRAMSOAK_FIRST, with the meaning of the
  flags that name them.

EXIT STATUS
  0    every file is transcribed
  1    a file failed
  2    trouble: wrong usage, an unusable model, no files, the log cannot be written
  130  interrupted (SIGINT); the current file was cleaned up. A second signal ends the process at
       once
  143  terminated (SIGTERM), likewise
`

type options struct {
	// Files.
	paths            []string
	list, order, out string
	stdin            bool
	first            int
	formats          []string
	formatsGiven     bool
	truth            string
	// Transcription.
	model, language string
	threads         int
	// Diarization.
	segmentation, embedding, provider string
	speakers, diarizationThreads      int
	threshold                         float64
	fast, noEnroll                    bool
	enrollBatch                       int
	// Memory.
	batchMemory    pipeline.Share
	clearEvery     int
	isolate        []string
	malloc, device string
	// Other.
	faults           pipeline.Faults
	verbose, version bool
}

// diarizes reports whether the pipeline looks for speakers.
func (o *options) diarizes() bool { return o.segmentation != "" && !o.fast }

// withoutSpeakers says why there is no diarization.
func (o *options) withoutSpeakers() string {
	if o.fast {
		return "--fast (or ENABLE_FAST_PATH)"
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
	flags.BoolVar(&o.fast, "fast", env.yes("ENABLE_FAST_PATH"), "")
	flags.BoolVar(&o.noEnroll, "no-enroll", env.yes("SKIP_VOICE_EMBEDDINGS"), "")
	flags.IntVar(&o.enrollBatch, "enroll-batch", env.number(4, "VOICE_ENROLLMENT_BATCH_SIZE",
		"EMBEDDING_BATCH_SIZE"), "")
	flags.Var(&o.batchMemory, "batch-memory", "")
	flags.IntVar(&o.clearEvery, "clear-every", 5, "")
	flags.Func("isolate", "", words(&o.isolate, []string{stageWhisper, stageDiarization}))
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
	flags.Visit(func(f *flag.Flag) { o.formatsGiven = o.formatsGiven || f.Name == "formats" })
	o.paths = flags.Args()
	if o.version {
		return o, nil
	}
	return o, errors.Join(append(env.errs, o.check()...)...)
}

// oneDash matches a flag's name in the errors of package flag, which writes it with one dash.
var oneDash = regexp.MustCompile(`(flag|for|defined:|argument:) -(\w)`)

func twoDashes(err error) string { return oneDash.ReplaceAllString(err.Error(), "$1 --$2") }

// cleanups are the cleanups that a fault may skip.
var cleanups = []string{"Whisper", "Waveform", "Diarization Model", "Alignment Tensors", "Final"}

func (o *options) check() (errs []error) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(name, value string, allowed ...string) {
		expect(slices.Contains(allowed, value), "--%s: expected %s, found %q", name,
			either(allowed), value)
	}
	expect(o.model != "", "--model: expected a model file, found none")
	expect((o.segmentation == "") == (o.embedding == ""),
		"--segmentation, --embedding: expected both models of diarization or none of them, found one")
	expect(o.truth == "" || o.diarizes(),
		"--truth: expected a diarization, which it judges, found %s", o.withoutSpeakers())
	expect(!o.formatsGiven || o.out != "", "--formats: expected --out too, the folder for what "+
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
			"--fault %s:%d: expected enrollment, of which it takes the memory, found none: it "+
				"needs the models of diarization, without --fast and --no-enroll", fault, n)
	}
	for _, name := range o.faults.Keep {
		expect(slices.Contains(cleanups, name), "--fault: expected keep: with %s, found keep:%s",
			either(cleanups), name)
	}
	return errs
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

// An environment reads defaults from environment variables and collects the mistakes in them.
type environment struct {
	getenv func(string) string
	errs   []error
}

// number returns the value of the first variable that is set, or `otherwise` if none is.
func (e *environment) number(otherwise int, variables ...string) int {
	for _, name := range variables {
		text := e.getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			e.errs = append(e.errs, fmt.Errorf("%s: expected a whole number from 1, found %q",
				name, text))
			return otherwise
		}
		return n
	}
	return otherwise
}

func (e *environment) yes(name string) bool {
	text := e.getenv(name)
	if text == "" {
		return false
	}
	yes, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("%s: expected true or false, found %q", name, text))
	}
	return yes
}
