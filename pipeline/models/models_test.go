package models

import "testing"

// The counts come from outside: H is the number of parameters that the model's page on Hugging Face shows (model.safetensors), T what
// torchvision and torchaudio document or their builders have, P what pix2pix's training prints.
func TestCounts(t *testing.T) {
	for name, want := range map[string]int{
		"openai/whisper-tiny":            37_760_640,    // H
		"openai/whisper-large-v3":        1_543_490_560, // H
		"BAAI/bge-small-en-v1.5":         33_360_000,    // H
		"facebook/wav2vec2-base-960h":    94_396_320,    // H
		"wav2vec2_asr_base_960h":         94_393_245,    // T: wav2vec2_base(aux_num_out=29)
		"vit-b-16":                       86_567_656,    // T: ViT_B_16_Weights, num_params
		"vit-l-16":                       304_326_632,   // T: ViT_L_16_Weights, num_params
		"wespeaker-voxceleb-resnet34-LM": 6_634_336,     // pyannote.audio's ResNet34(80, 256, two_emb_layer=False), counted in PyTorch
	} {
		m, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Count(); got != want {
			t.Errorf("%s has %d parameters, published are %d", name, got, want)
		}
	}
}
