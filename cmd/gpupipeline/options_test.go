//go:build whisper

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrouble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	write := func(name string, change func([]byte) []byte, from string) string {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, change(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cut := write("cut.bin", func(b []byte) []byte { return b[:len(b)/2] }, model)
	broken := write("broken.onnx", func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("MatMul"), []byte("MatMuk"))
	}, embedding)
	names := strings.NewReplacer("MODELS", strings.Join(withModels(), " "), "MODEL", model,
		"SEGMENTATION", segmentation, "EMBEDDING", embedding,
		"EMPTY", empty, "WHISPER", model, "CUT", cut, "BROKEN", broken, "LIST", empty, "DIR", dir)
	for _, test := range []struct{ args, want string }{
		{"", "--model: expected a model file, found none\nexpected audio files, --list or " +
			"--stdin, found none"},
		{"--model MODEL", "expected audio files, --list or --stdin, found none"},
		{"--model " + dir + " a.wav", "--model: expected a file, found the folder"},
		{"--model " + dir + "/none a.wav", "--model: stat "},
		{"--model MODEL --list " + dir + "/none", "--list: open "},
		{"--model MODEL --list " + dir, "--list: read "},
		{"--model MODEL --list " + empty, "expected audio files, found no path"},
		{"--model MODEL --threads 0 a.wav", "--threads: expected 1 or more, found 0"},
		{"--model MODEL --first 0 a.wav", "--first: expected 1 or more, found 0"},
		{"--model MODEL --device gpu a.wav", `--device: expected auto, host or nvml, found "gpu"`},
		{
			"--model MODEL --segmentation s.onnx a.wav",
			"--segmentation, --embedding: expected both models of diarization or none of them, " +
				"found one",
		},
		{
			"--model MODEL --segmentation MODEL --embedding " + dir + "/none a.wav",
			"expected an ONNX model, found what cannot be read as one",
		},
		{
			"--model MODEL --formats json,doc a.wav",
			`expected json, srt, vtt or rttm, with commas between, found "doc"`,
		},
		{
			"--model MODEL --isolate all a.wav",
			`expected whisper or diarization, with commas between, found "all"`,
		},
		{
			"--model MODEL --order length a.wav",
			`--order: expected given or smallest, found "length"`,
		},
		{
			"--model MODEL --fault burn:1 a.wav",
			`expected leak:SIZE, keep:NAME, oom:N, oom-batch:N, oom-item:N, crash:N or hang:N, found ` +
				`"burn:1"`,
		},
		{
			"--model MODEL --fault keep:Model a.wav",
			"--fault: expected keep: with Whisper, Waveform, Diarization Model, Alignment " +
				"Tensors or Final, found keep:Model",
		},
		{"--nonsense", "flag provided but not defined: --nonsense; see gpupipeline --help"},
		{"--model MODEL --threads x a.wav", `invalid value "x" for flag --threads: `},
		{
			"--model MODEL --batch-memory 2 a.wav",
			`for flag --batch-memory: expected a part of the free memory`,
		},
		{"--model MODEL --list LIST a.wav", "expected audio files, --list or --stdin, found " +
			"audio files and --list"},
		{"--model MODEL --list LIST --stdin", "found --list and --stdin"},
		{"--model MODEL --formats json a.wav", "--formats: expected --out too"},
		{
			"--model MODEL --formats rttm --out DIR a.wav",
			"--formats rttm: expected a diarization, whose turns it has, found no --segmentation " +
				"and --embedding",
		},
		{
			"--model MODEL --truth t.json a.wav",
			"--truth: expected a diarization, which it judges, found no --segmentation and " +
				"--embedding",
		},
		{
			"MODELS --truth t.json --fast a.wav",
			"--truth: expected a diarization, which it judges, found --fast (or ENABLE_FAST_PATH)",
		},
		{
			"--model MODEL --fault oom-item:2 a.wav",
			"--fault oom-item:2: expected enrollment, of which it takes the memory, found none",
		},
		{
			"MODELS --no-enroll --fault oom-batch:2 a.wav",
			"--fault oom-batch:2: expected enrollment",
		},
		{
			"--model MODEL --segmentation EMBEDDING --embedding SEGMENTATION a.wav",
			"--segmentation, --embedding: these two look swapped",
		},
		{
			"--model MODEL --segmentation EMPTY --embedding EMBEDDING a.wav",
			"--segmentation: EMPTY: is empty",
		},
		{
			"--model MODEL --segmentation SEGMENTATION --embedding WHISPER a.wav",
			"--embedding: WHISPER: expected an ONNX model",
		},
		{
			"MODELS --provider cuda --speakers 2000 a.wav",
			"--speakers: expected 0 (not known) to 1000, found 2000\n--provider cuda: expected " +
				"an ONNX Runtime",
		},
		{"--model EMPTY a.wav", "--model: EMPTY: is empty"},
		{"--model SEGMENTATION a.wav", "--model: SEGMENTATION: expected a model in ggml format"},
		{"--model CUT a.wav", "--model: CUT: "},
		{"--model CUT --isolate whisper a.wav", "--model: CUT: "},
		{
			"--model MODEL --language xx a.wav",
			`--language: expected en for a model that knows only English, found "xx"`,
		},
		{
			"--model MODEL --language xx --isolate whisper a.wav",
			`--language: expected en for a model`,
		},
		{
			"--model MODEL --segmentation SEGMENTATION --embedding BROKEN a.wav",
			"--embedding: BROKEN: expected a model that ONNX Runtime",
		},
		{
			"--model MODEL --segmentation SEGMENTATION --embedding BROKEN --isolate diarization a.wav",
			"--embedding: BROKEN: expected a model that ONNX Runtime",
		},
	} {
		log, stderr, exit := gpupipeline(t, strings.Fields(names.Replace(test.args))...)
		if want := names.Replace(test.want); exit != "2" || len(log.Files) != 0 ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: exit %s, stderr %q, expected %q", test.args, exit, stderr, want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--help": "EXIT STATUS", "-h": "--fault SPEC",
		"--version": "whisper.cpp ",
	} {
		cmd := command(t, flag)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q", flag, err, out)
		}
	}
}

// TestEnvironment: flags override the environment, which overrides the defaults.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env, args string
		want      options
	}{
		{"", "", options{enrollBatch: 4, first: 1}},
		{"ENABLE_FAST_PATH=true", "", options{enrollBatch: 4, first: 1, fast: true}},
		{"ENABLE_FAST_PATH=True SKIP_VOICE_EMBEDDINGS=1", "--fast=false", options{
			enrollBatch: 4,
			first:       1, noEnroll: true,
		}},
		{"VOICE_ENROLLMENT_BATCH_SIZE=8 EMBEDDING_BATCH_SIZE=256", "", options{
			enrollBatch: 8,
			first:       1,
		}},
		{"EMBEDDING_BATCH_SIZE=256 VRAMSOAK_FIRST=21", "", options{enrollBatch: 256, first: 21}},
		{
			"EMBEDDING_BATCH_SIZE=256 VRAMSOAK_FIRST=21", "--enroll-batch 2 --first 3",
			options{enrollBatch: 2, first: 3},
		},
	} {
		o, err := parse(strings.Fields("--model m "+test.args+" a.wav"), variables(test.env))
		if err != nil {
			t.Errorf("%s %s: %v", test.env, test.args, err)
			continue
		}
		got := options{
			enrollBatch: o.enrollBatch, first: o.first, fast: o.fast,
			noEnroll: o.noEnroll,
		}
		if got.enrollBatch != test.want.enrollBatch || got.first != test.want.first ||
			got.fast != test.want.fast || got.noEnroll != test.want.noEnroll {
			t.Errorf("%s %s: expected %+v, found %+v", test.env, test.args, test.want, got)
		}
	}
	_, err := parse([]string{"--model", "m", "a.wav"},
		variables("VRAMSOAK_FIRST=x ENABLE_FAST_PATH=maybe VOICE_ENROLLMENT_BATCH_SIZE=0"))
	for _, want := range []string{
		`VRAMSOAK_FIRST: expected a whole number from 1, found "x"`,
		`ENABLE_FAST_PATH: expected true or false, found "maybe"`,
		`VOICE_ENROLLMENT_BATCH_SIZE: expected a whole number from 1, found "0"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, found %v", want, err)
		}
	}
}

func variables(s string) func(string) string {
	set := map[string]string{}
	for field := range strings.FieldsSeq(s) {
		name, value, _ := strings.Cut(field, "=")
		set[name] = value
	}
	return func(name string) string { return set[name] }
}
