//go:build whisper

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrouble(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"", "--model: expected a model file, found none\nexpected audio files, --list or --stdin, found none"},
		{"--model MODEL", "expected audio files, --list or --stdin, found none"},
		{"--model " + dir + " a.wav", "--model: expected a file, found the folder"},
		{"--model " + dir + "/none a.wav", "--model: stat "},
		{"--model MODEL --list " + dir + "/none", "--list: open "},
		{"--model MODEL --list " + dir, "--list: read "},
		{"--model MODEL --list " + empty, "expected audio files, found no path"},
		{"--model MODEL --threads 0 a.wav", "--threads: expected 1 or more, found 0"},
		{"--model MODEL --first 0 a.wav", "--first: expected 1 or more, found 0"},
		{"--model MODEL --device gpu a.wav", `--device: expected auto, host or nvml, found "gpu"`},
		{"--model MODEL --segmentation s.onnx a.wav", "--segmentation, --embedding: expected both models of diarization or none of them, found one"},
		{"--model MODEL --segmentation MODEL --embedding " + dir + "/none a.wav", "expected an ONNX model, found what cannot be read as one"},
		{"--model MODEL --formats json,doc a.wav", `expected json, srt, vtt or rttm, with commas between, found "doc"`},
		{"--model MODEL --isolate all a.wav", `expected whisper or diarization, with commas between, found "all"`},
		{"--model MODEL --order length a.wav", `--order: expected given or smallest, found "length"`},
		{"--model MODEL --fault burn:1 a.wav", `expected leak:SIZE, keep:NAME, oom:N, oom-batch:N, oom-item:N, crash:N or hang:N, found "burn:1"`},
		{"--model MODEL --fault keep:Model a.wav", "--fault: expected keep: with Whisper, Waveform, Diarization Model, Alignment Tensors or Final, found keep:Model"},
		{"--nonsense", "flag provided but not defined: -nonsense; see gpupipeline --help"},
	} {
		log, stderr, exit := gpupipeline(t, strings.Fields(strings.ReplaceAll(test.args, "MODEL", model))...)
		if exit != "2" || len(log.Files) != 0 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %s, stderr %q, expected %q", test.args, exit, stderr, test.want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for flag, want := range map[string]string{"--help": "EXIT STATUS", "-h": "--fault SPEC", "--version": "whisper.cpp "} {
		cmd := command(t, flag)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q", flag, err, out)
		}
	}
}

// Flags win over the environment, which wins over the defaults.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		env, args string
		want      options
	}{
		{"", "", options{enrollBatch: 4, first: 1}},
		{"ENABLE_FAST_PATH=true", "", options{enrollBatch: 4, first: 1, fast: true}},
		{"ENABLE_FAST_PATH=True SKIP_VOICE_EMBEDDINGS=1", "--fast=false", options{enrollBatch: 4, first: 1, noEnroll: true}},
		{"VOICE_ENROLLMENT_BATCH_SIZE=8 EMBEDDING_BATCH_SIZE=256", "", options{enrollBatch: 8, first: 1}},
		{"EMBEDDING_BATCH_SIZE=256 VRAMSOAK_FIRST=21", "", options{enrollBatch: 256, first: 21}},
		{"EMBEDDING_BATCH_SIZE=256 VRAMSOAK_FIRST=21", "--enroll-batch 2 --first 3", options{enrollBatch: 2, first: 3}},
	} {
		o, err := parse(strings.Fields("--model m "+test.args+" a.wav"), variables(test.env))
		if err != nil {
			t.Errorf("%s %s: %v", test.env, test.args, err)
			continue
		}
		got := options{enrollBatch: o.enrollBatch, first: o.first, fast: o.fast, noEnroll: o.noEnroll}
		if got.enrollBatch != test.want.enrollBatch || got.first != test.want.first || got.fast != test.want.fast || got.noEnroll != test.want.noEnroll {
			t.Errorf("%s %s: expected %+v, found %+v", test.env, test.args, test.want, got)
		}
	}
	_, err := parse([]string{"--model", "m", "a.wav"}, variables("VRAMSOAK_FIRST=x ENABLE_FAST_PATH=maybe VOICE_ENROLLMENT_BATCH_SIZE=0"))
	for _, want := range []string{
		`VRAMSOAK_FIRST: expected a whole number from 1, found "x"`, `ENABLE_FAST_PATH: expected true or false, found "maybe"`,
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
