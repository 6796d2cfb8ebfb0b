package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/fixtures"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

func newFixturesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fixtures",
		Short: "Make inputs: audio batches and tiny models to soak with, large logs to read",
		Args:  wantsNone,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFixturesAudioCommand(), newFixturesModelCommand(), newFixturesLogCommand())
	return cmd
}

func newFixturesAudioCommand() *cobra.Command {
	spec := fixtures.AudioSpec{}
	seconds := ""
	cmd := &cobra.Command{
		Use:   "audio DIR",
		Short: "Write a batch of WAV files with two voices in turn, and a manifest",
		Long: `Audio writes 16 kHz mono WAV files of two synthetic voices that speak in turn, and
manifest.json, which says who speaks when. The same flags give the same bytes; an existing batch
is left as it is.`,
		Example: `  vramsoak fixtures audio batch --count 60 --seconds 5-20 --seed 1`,
		Args:    wants(1, 1, "one folder to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if spec.MinSeconds, spec.MaxSeconds, err = secondsRange(seconds); err != nil {
				return err
			}
			return runFixturesAudio(cmd.OutOrStdout(), args[0], spec)
		},
	}
	wholeVar(cmd.Flags(), &spec.Count, "count", 60, 1, "number of files")
	cmd.Flags().StringVar(&seconds, "seconds", "5-20",
		"length of the files: a `range` over which they spread, or one number")
	cmd.Flags().Uint64Var(&spec.Seed, "seed", 1, "seed of everything random")
	return cmd
}

// secondsRange reads a range such as "5-20". "5" alone means from 5 to 5.
func secondsRange(s string) (from, to float64, err error) {
	first, second, isRange := strings.Cut(s, "-")
	if !isRange {
		second = first
	}
	from, err1 := strconv.ParseFloat(strings.TrimSpace(first), 64)
	to, err2 := strconv.ParseFloat(strings.TrimSpace(second), 64)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("--seconds: expected a range such as 5-20, found %q", s)
	}
	return from, to, nil
}

func runFixturesAudio(out io.Writer, dir string, spec fixtures.AudioSpec) error {
	manifest, err := fixtures.WriteAudio(dir, spec)
	if err != nil {
		return err
	}
	total := 0.0
	for _, f := range manifest.Files {
		total += f.Seconds
	}
	_, err = sink.Fprintf(out, "%s: %d files, %.0f s of audio\n", dir, len(manifest.Files), total)
	return err
}

// modelName is the Whisper model that fixtures model writes.
const modelName = "ggml-soak.bin"

func newFixturesModelCommand() *cobra.Command {
	spec := fixtures.DiarizationSpec{}
	size := ""
	cmd := &cobra.Command{
		Use:   "model DIR",
		Short: "Write tiny models with artificial weights, of speech, voices and texts",
		Long: `Model writes a Whisper model in whisper.cpp's ggml format, one layer deep and 128
wide (about 30 MB), with random weights; the two models of a diarization for sherpa-onnx in ONNX
format; and two models that embed texts, a larger and a smaller one, with their vocabulary. The
engines load and run them like real ones. The Whisper model's words are noise. The diarization is
right for the two voices of vramsoak fixtures audio, and means nothing for others. Texts with the
same pairs of letters have similar embeddings, whatever they mean.`,
		Example: `  vramsoak fixtures model models
  vramsoak fixtures model models --embedding-size 48MiB`,
		Args: wants(1, 1, "one folder to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := lex.ParseSize(size)
			if err != nil {
				return fmt.Errorf("--embedding-size: %w", err)
			}
			spec.EmbeddingSize = n.Bytes
			return runFixturesModel(cmd.OutOrStdout(), args[0], spec)
		},
	}
	cmd.Flags().Uint64Var(&spec.Seed, "seed", 1, "seed of the weights")
	cmd.Flags().StringVar(&size, "embedding-size", "0B",
		"least `size` of the embedding model; 0B makes the smallest")
	return cmd
}

func runFixturesModel(out io.Writer, dir string, spec fixtures.DiarizationSpec) error {
	if err := fixtures.WriteDiarizationModels(dir, spec); err != nil {
		return err
	}
	if err := fixtures.WriteTextModels(dir, spec.Seed); err != nil {
		return err
	}
	if err := fixtures.WriteWhisperModel(filepath.Join(dir, modelName), spec.Seed); err != nil {
		return err
	}
	for _, name := range []string{
		modelName, fixtures.SegmentationName, fixtures.EmbeddingName, fixtures.TextName,
		fixtures.TextFastName, fixtures.TextVocabularyName,
	} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if _, err := sink.Fprintf(out, "%s: %s\n", path,
			record.FormatBytes(info.Size())); err != nil {
			return err
		}
	}
	return nil
}

// logKinds are the values of --kind. Of this package, only this file may import fixtures.
var logKinds = fixtures.LogKinds

func newFixturesLogCommand() *cobra.Command {
	spec := fixtures.LogSpec{}
	size := ""
	cmd := &cobra.Command{
		Use:   "log FILE",
		Short: "Write the log of a long transcription batch, of any size",
		Long: `Log writes what a transcription pipeline logs over thousands of files, every
cleanup complete. The kinds are mixed (one line in nine is a checkpoint), none (no checkpoints),
only (nothing but checkpoints) and progress (carriage returns instead of newlines). The same flags
give the same bytes. The speed of vramsoak check is measured on such logs.`,
		Example: `  vramsoak fixtures log big.log --size 1GB`,
		Args:    wants(1, 1, "one file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := lex.ParseSize(size)
			if err != nil {
				return fmt.Errorf("--size: %w", err)
			}
			spec.Size = n.Bytes
			return writeOutput(args[0], func(w io.Writer) error { return fixtures.Log(w, spec) })
		},
	}
	cmd.Flags().StringVar(&size, "size", "1GB", "least `size` of the file")
	choiceVar(cmd.Flags(), &spec.Kind, "kind", logKinds[0], logKinds, alternatives(logKinds))
	cmd.Flags().Uint64Var(&spec.Seed, "seed", 1, "seed of everything random")
	return cmd
}
