package models

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCounts compares the number of parameters with counts from other sources. The comments name
// the source. H is the model's page at Hugging Face, which counts weights that two layers share
// once. T is torchvision's documentation (num_params), or a count in PyTorch of the model that
// torchaudio, pyannote.audio, speechbrain or pix2pix builds.
func TestCounts(t *testing.T) {
	for name, want := range map[string]int{
		"openai/whisper-tiny":         37_760_640,    // H
		"openai/whisper-large-v3":     1_543_490_560, // H
		"BAAI/bge-small-en-v1.5":      33_360_000,    // H
		"facebook/wav2vec2-base-960h": 94_396_320,    // H
		// H; T: 315,460,768 for wav2vec2_large(aux_num_out=32), without masked_spec_embed's 1,024.
		"facebook/wav2vec2-large-960h": 315_461_792,
		"wav2vec2_asr_base_960h":       94_393_245, // T: wav2vec2_base(aux_num_out=29)
		// T: 315,471,521 for wav2vec2_large_lv60k(aux_num_out=33), without masked_spec_embed's 1,024.
		"wav2vec2-large-xlsr-53": 315_472_545,
		"vit-b-16":               86_567_656,  // T: ViT_B_16_Weights
		"vit-l-16":               304_326_632, // T: ViT_L_16_Weights
		// H: ViTModel, less its pooler (768 x 769), and with a classifier of 2 labels.
		in21k: 86_389_248 - 768*769 + 2*769,
		// Sums of the weights that specgan.py prints with dim=64 and kernel_len=5: z_project, then the
		// transposed convolutions; the convolutions, then the output.
		"specgan-generator": 101*16_384 + 25*(1024*512+512*256+256*128+128*64+64) +
			512 + 256 + 128 + 64 + 1,
		"specgan-discriminator": 25*(64+64*128+128*256+256*512+512*1024) +
			64 + 128 + 256 + 512 + 1024 + 16_384 + 1,
		// T: ResNet34(80, 256, two_emb_layer=False).
		"wespeaker-voxceleb-resnet34-LM": 6_634_336,
		// T: SincNet 42,602, nn.LSTM(60, 128, 4, bidirectional=True) 1,380,352, linears 32,896 +
		// 16,512 + 903.
		"pyannote/segmentation-3.0": 1_473_265,
		// T: ECAPA_TDNN(80, lin_neurons=192) 20,767,552 and ECAPA_TDNN(60, lin_neurons=256)
		// 21,058,432, and their classifiers: 192 x 7,205; 512 + 131,584 + 1,024 + 54,891.
		"speechbrain/spkrec-ecapa-voxceleb":      20_767_552 + 1_383_360,
		"speechbrain/lang-id-voxlingua107-ecapa": 21_058_432 + 188_011,
		// T: UnetGenerator(3, 3, 8, ngf=64); training prints 54.414 M.
		"pix2pix-generator": 54_413_955,
		// T: NLayerDiscriminator(6, ndf=64); training prints 2.769 M.
		"pix2pix-discriminator": 2_768_705,
		// Qwen2-1.5B's published 1,543,714,304 less the embeddings of 151,936 - 151,646 words that
		// gte's config.json does not have.
		"Alibaba-NLP/gte-Qwen2-1.5B-instruct": 1_543_714_304 - 290*1536,
	} {
		m, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := count(m); got != want {
			t.Errorf("%s: found %d parameters, the publication has %d", name, got, want)
		}
	}
}

// TestRoundedCounts compares the number of parameters with the rounded counts, in millions, in
// OpenAI's README and in distil-whisper's model cards. The tables in the papers are 1 to 4 % too
// high.
func TestRoundedCounts(t *testing.T) {
	for name, want := range map[string]float64{
		"tiny": 39, "base": 74, "small": 244, "medium": 769, "large-v1": 1550, "large-v2": 1550,
		"large-v3": 1550, "turbo": 809,
		"distil-large-v3": 756, "distil-large-v2": 756, "distil-medium.en": 394,
		"distil-small.en": 166,
	} {
		m, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(count(m)) / 1e6; got < 0.96*want || got > want+0.5 {
			t.Errorf("%s: found %.1f million parameters, the publication has %g", name, got, want)
		}
	}
}

// TestBuffers: a model's weights include its buffers, which are on the GPU too. PyTorch counts
// 8,548 elements in the buffers of the ResNet34, and 250 in those of SincNet.
func TestBuffers(t *testing.T) {
	for name, want := range map[string]int{
		"wespeaker-voxceleb-resnet34-LM": 8548,
		"pyannote-segmentation-3.0":      250,
	} {
		m, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, b := range m.Buffers {
			got += b.Elements()
		}
		if got != want {
			t.Errorf("%s has %d elements in buffers, PyTorch has %d", name, got, want)
		}
	}
}

// TestWeights: the file model.safetensors of openai/whisper-large-v3 has 3,087,130,976 bytes. Of
// these 149,856 are names and shapes, and the rest is float16 weights.
func TestWeights(t *testing.T) {
	m, err := Lookup("large-v3")
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[DType]int64{
		Float16: 3_086_981_120, Float32: 6_173_962_240,
		Autocast: 6_173_962_240, Int8: 1_543_490_560,
	} {
		if got := m.Weights(d); got != want {
			t.Errorf("large-v3 in %v: found %d bytes, expected %d", d, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, name := range []string{
		"openai/whisper-large-v3", "whisper-large-v3", "large-v3",
		"Large-V3", "large", "Systran/whisper-large-v3",
	} {
		if m, err := Lookup(name); err != nil || m.Name != "whisper-large-v3" {
			t.Errorf("%s is %v, %v", name, m, err)
		}
	}
	for _, name := range Names() {
		if m, err := Lookup(name); err != nil || m.Name != name {
			t.Errorf("%s is %v, %v", name, m, err)
		} else if m.ID != "" {
			if same, err := Lookup(m.ID); err != nil || same != m {
				t.Errorf("%s is %v, %v", m.ID, same, err)
			}
		}
	}
	for name, nearest := range map[string]string{
		"large-v4": "whisper-large-v3", "wisper-tiny": "whisper-tiny",
		"pyannote/segmentation-3.1": "pyannote-segmentation-3.0",
		"bge-smal-en":               "bge-small-en-v1.5", "vit-b_16": "vit-b-16",
		"pyannote":             "did you mean pyannote-embedding, pyannote-segmentation-3.0?",
		"Qwen3-Embedding-0.6B": "did you mean gte-Qwen2-1.5B-instruct?",
		"bge-m3": "did you mean bge-base-en-v1.5, bge-large-en-v1.5, " +
			"bge-small-en-v1.5?",
		"llama-7b": "docs/reference/cards-and-models.md has those that are.",
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), nearest) {
			t.Errorf("%q: found %v, expected it to suggest %s", name, err, nearest)
		}
	}
}

func TestFamily(t *testing.T) {
	want := []string{
		"whisper-tiny", "whisper-base", "whisper-small", "whisper-medium", "whisper-large-v3-turbo",
		"whisper-large-v1", "whisper-large-v2", "whisper-large-v3",
	}
	if d := cmp.Diff(want, Family("whisper")); d != "" {
		t.Error(d)
	}
	if got := Family("whisper.en"); !slices.Contains(got, "distil-large-v3") || slices.Contains(got,
		"whisper-tiny") {
		t.Errorf("English only are %v", got)
	}
	if got := Family("none"); len(got) > 0 {
		t.Errorf("a family that is not there has %v", got)
	}
}

func TestParseDType(t *testing.T) {
	for name, want := range map[string]DType{
		"torch.float16": Float16, "half": Float16,
		"BF16": BFloat16, "float32": Float32, "int8": Int8, "autocast": Autocast,
	} {
		if d, err := ParseDType(name); err != nil || d != want {
			t.Errorf("%s is %v, %v", name, d, err)
		}
	}
	if _, err := ParseDType("float8"); err == nil || !strings.Contains(err.Error(), "bfloat16") {
		t.Errorf("float8: %v", err)
	}
}

// count returns the number of a model's parameters, as model.num_parameters() prints it.
func count(m *Model) int {
	n := 0
	for _, t := range m.Parameters {
		n += t.Elements()
	}
	return n
}
