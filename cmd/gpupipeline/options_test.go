//go:build whisper

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	small := write("small.txt", func([]byte) []byte { return []byte("[UNK]\n[CLS]\n[SEP]\n") },
		model)
	broken := write("broken.onnx", func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("MatMul"), []byte("MatMuk"))
	}, embedding)
	names := strings.NewReplacer("MODELS", strings.Join(withModels(), " "), "MODEL", model,
		"SEGMENTATION", segmentation, "EMBEDDING", embedding,
		"TEXTFAST", textModelFast, "TEXT", textModel, "SMALL", small, "EMPTY", empty, "WHISPER", model,
		"CUT", cut, "BROKEN", broken, "LIST", empty, "DIR", dir)
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
			`expected whisper, diarization or text, with commas between, found "all"`,
		},
		{
			"--model MODEL --order length a.wav",
			`--order: expected given or smallest, found "length"`,
		},
		{
			"--model MODEL --fault burn:1 a.wav",
			`expected leak:SIZE, keep:NAME, oom:N, oom-batch:N, oom-item:N, oom-text-batch:N, ` +
				`oom-text-item:N, crash:N or hang:N, found "burn:1"`,
		},
		{
			"--model MODEL --fault keep:Model a.wav",
			"--fault: expected keep: with Whisper, Waveform, Diarization Model, Alignment " +
				"Tensors, Text Embedder or Final, found keep:Model",
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
			"--truth: expected a diarization, which it judges, found --fast",
		},
		{
			"--model MODEL --fault oom-item:2 a.wav",
			"--fault oom-item:2: expected enrollment, whose memory it takes, found none",
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
		{
			"MODELS --fast --fast-path=false a.wav",
			"--fast, --fast-path=false: expected one of them, found both",
		},
		{
			"--model MODEL --fast-path=false a.wav",
			"--fast-path=false: expected a diarization, which must not be left out, found no " +
				"--segmentation and --embedding",
		},
		{"--model MODEL --text-batch 0 a.wav", "--text-batch: expected 1 or more, found 0"},
		{
			"--model MODEL --text-pooling max a.wav",
			`--text-pooling: expected mean or cls, found "max"`,
		},
		{
			"--model MODEL --text-profile sped --text-pooling clss a.wav",
			`--text-profile: expected quality, balanced or speed, found "sped" (did you mean "speed"?)` +
				"\n" + `--text-pooling: expected mean or cls, found "clss" (did you mean "cls"?)`,
		},
		{
			"--model MODEL --text-model TEXT --text-profile speed a.wav",
			"--text-model-fast: expected the model of the profile speed, found none",
		},
		{
			"--model MODEL --text-model-fast TEXTFAST a.wav",
			"--text-model: expected the model of the profile quality, found none",
		},
		{
			"--model MODEL --text-vocabulary SMALL a.wav",
			"--text-vocabulary: expected --text-model, whose words it has, found none",
		},
		{
			"--model MODEL --fault oom-text-item:2 a.wav",
			"--fault oom-text-item:2: expected text embedding, whose memory it takes, found " +
				"none: it needs --text-model",
		},
		{
			"--model MODEL --text-model EMBEDDING a.wav",
			"--text-model: EMBEDDING: inputs: expected input_ids, found none",
		},
		{"--model MODEL --text-model WHISPER a.wav", "--text-model: WHISPER: expected an ONNX model"},
		{
			"--model MODEL --text-model " + dir + "/none.onnx a.wav",
			"--text-model: open " + dir + "/none.onnx: no such file or directory\n--text-vocabulary: " +
				"open " + dir + "/vocab.txt: no such file or directory; put the model's vocab.txt " +
				"beside it, or name it with --text-vocabulary",
		},
		{
			"--model MODEL --text-model TEXT --text-vocabulary EMPTY a.wav",
			"--text-vocabulary: EMPTY: expected a vocabulary of BERT with the word [UNK], found none",
		},
		{
			"--model MODEL --text-model TEXT --text-vocabulary SMALL a.wav",
			"--text-model: SMALL: expected the vocabulary of TEXT, which has 1461 words, found 3 words",
		},
		{
			"--model MODEL --text-model TEXT --text-vocabulary SMALL --isolate text a.wav",
			"--text-model: SMALL: expected the vocabulary of TEXT, which has 1461 words, found 3 words",
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

// TestEnvironment: flags override the environment, which overrides the defaults. One variable does
// not stand in for another.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	// The options that variables set, and their defaults.
	type settings struct {
		Fast, AllowFastPath, NoEnroll bool
		EnrollBatch, TextBatch, First int
		TextProfile                   string
	}
	for _, test := range []struct {
		env, args string
		change    func(*settings)
	}{
		{"", "", func(*settings) {}},
		{"ENABLE_FAST_PATH=true", "", func(*settings) {}},
		{"ENABLE_FAST_PATH=false", "", func(s *settings) { s.AllowFastPath = false }},
		{"ENABLE_FAST_PATH=0", "--fast-path", func(*settings) {}},
		{"ENABLE_FAST_PATH=True", "MODELS --fast-path=false", func(s *settings) {
			s.AllowFastPath = false
		}},
		{"ENABLE_FAST_PATH=false", "--fast", func(s *settings) {
			s.Fast, s.AllowFastPath = true, false
		}},
		{"SKIP_VOICE_EMBEDDINGS=1", "", func(s *settings) { s.NoEnroll = true }},
		{"SKIP_VOICE_EMBEDDINGS=true", "--no-enroll=false", func(*settings) {}},
		{"VOICE_ENROLLMENT_BATCH_SIZE=8", "", func(s *settings) { s.EnrollBatch = 8 }},
		{"EMBEDDING_BATCH_SIZE=256", "", func(s *settings) { s.TextBatch = 256 }},
		{"EMBEDDING_BATCH_SIZE=256 VRAMSOAK_FIRST=21", "--text-batch 2 --first 3", func(s *settings) {
			s.TextBatch, s.First = 2, 3
		}},
		{"VOICE_ENROLLMENT_BATCH_SIZE=8", "--enroll-batch 2", func(s *settings) {
			s.EnrollBatch = 2
		}},
		{"EMBEDDING_PROFILE=Speed", "", func(s *settings) { s.TextProfile = "speed" }},
		{"EMBEDDING_PROFILE=quality", "", func(*settings) {}},
		{"EMBEDDING_PROFILE=balanced", "", func(s *settings) { s.TextProfile = "balanced" }},
		{"EMBEDDING_PROFILE=speed", "--text-profile quality", func(*settings) {}},
	} {
		args := strings.ReplaceAll("--model m "+test.args+" a.wav", "MODELS",
			"--segmentation s --embedding e")
		o, err := parse(strings.Fields(args), variables(test.env))
		if err != nil {
			t.Errorf("%s %s: %v", test.env, test.args, err)
			continue
		}
		want := settings{
			AllowFastPath: true, EnrollBatch: 4, TextBatch: 128, First: 1, TextProfile: "quality",
		}
		test.change(&want)
		got := settings{
			o.fast, o.allowFastPath, o.noEnroll, o.enrollBatch, o.textBatch, o.first, o.textProfile,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s:\n%s", test.env, test.args, diff)
		}
	}
	_, err := parse([]string{"--model", "m", "a.wav"}, variables("VRAMSOAK_FIRST=x "+
		"ENABLE_FAST_PATH=maybe VOICE_ENROLLMENT_BATCH_SIZE=0 EMBEDDING_BATCH_SIZE=1.5 "+
		"SKIP_VOICE_EMBEDDINGS=2 EMBEDDING_PROFILE=Sped"))
	for _, want := range []string{
		`VRAMSOAK_FIRST: expected a whole number from 1, found "x"`,
		`ENABLE_FAST_PATH: expected true or false, found "maybe"`,
		`VOICE_ENROLLMENT_BATCH_SIZE: expected a whole number from 1, found "0"`,
		`EMBEDDING_BATCH_SIZE: expected a whole number from 1, found "1.5"`,
		`SKIP_VOICE_EMBEDDINGS: expected true or false, found "2"`,
		`EMBEDDING_PROFILE: expected quality, balanced or speed, found "Sped" (did you mean "speed"?)`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, found %v", want, err)
		}
	}
}

// TestProfiles: the profile chooses one of the two text models.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--text-model big":                                                "big",
		"--text-model big --text-model-fast small":                        "big",
		"--text-model big --text-profile balanced":                        "big",
		"--text-model big --text-model-fast small --text-profile speed":   "small",
		"--text-model-fast small --text-profile speed":                    "small",
		"--text-model big --text-model-fast small --text-profile=quality": "big",
	} {
		o, err := parse(strings.Fields("--model m "+args+" a.wav"), variables(""))
		if err != nil || o.text().Model != want || !o.embedsText() {
			t.Errorf("%s: found %+v, %v", args, o.text(), err)
		}
	}
	if o, err := parse(strings.Fields("--model m a.wav"), variables("EMBEDDING_PROFILE=speed "+
		"EMBEDDING_BATCH_SIZE=2")); err != nil || o.embedsText() {
		t.Errorf("without a text model: found %v", err)
	}
}

// TestNotices: a variable whose meaning changed is mentioned in runs in which it matters, and only
// there.
func TestNotices(t *testing.T) {
	t.Parallel()
	const (
		on  = "ENABLE_FAST_PATH=true: files are diarized; "
		off = "ENABLE_FAST_PATH=false: if memory runs out in the diarization, the file fails "
		two = "EMBEDDING_BATCH_SIZE=2: this is the batch of texts (--text-batch), "
	)
	for _, test := range []struct {
		env, args string
		want      []string
	}{
		{"", "MODELS", nil},
		{"ENABLE_FAST_PATH=true", "MODELS", []string{on}},
		{"ENABLE_FAST_PATH=true VRAMSOAK_FIRST=1", "MODELS", []string{on}},
		{"ENABLE_FAST_PATH=true VRAMSOAK_FIRST=2", "MODELS", nil},
		{"ENABLE_FAST_PATH=true", "", nil},
		{"ENABLE_FAST_PATH=true", "MODELS --fast", nil},
		{"ENABLE_FAST_PATH=true", "MODELS --fast-path=true", nil},
		{"ENABLE_FAST_PATH=false", "MODELS", []string{off}},
		{"ENABLE_FAST_PATH=false", "", nil},
		{"EMBEDDING_BATCH_SIZE=2", "MODELS", []string{two}},
		{"EMBEDDING_BATCH_SIZE=2 VOICE_ENROLLMENT_BATCH_SIZE=4", "MODELS", nil},
		{"EMBEDDING_BATCH_SIZE=2", "MODELS --enroll-batch 4", nil},
		{"EMBEDDING_BATCH_SIZE=2", "MODELS --no-enroll", nil},
		{"EMBEDDING_BATCH_SIZE=2", "", nil},
		{"EMBEDDING_BATCH_SIZE=2 ENABLE_FAST_PATH=true", "MODELS", []string{on, two}},
	} {
		args := strings.ReplaceAll("--model m "+test.args+" a.wav", "MODELS",
			"--segmentation s --embedding e")
		o, err := parse(strings.Fields(args), variables(test.env))
		if err != nil {
			t.Fatal(err)
		}
		same := len(o.notices) == len(test.want)
		for i := 0; same && i < len(test.want); i++ {
			same = strings.HasPrefix(o.notices[i], test.want[i])
		}
		if !same {
			t.Errorf("%s %s: found %q, expected %q", test.env, test.args, o.notices, test.want)
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
