package scenario_test

import (
	"testing"

	"vramsoak/pipeline/scenario"
)

const example = `name: transcription
gpu: {card: RTX 5080, occupied: 0}
env: {PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:64"}
files: {count: 200, seconds: 60-600, seed: 7}
models:
  - {id: asr, model: whisper-large-v3, dtype: float16, beams: 5, tokens: 200}
stages:
  - name: Transcription
    models: [asr]
    items: ceil(seconds/30)
    batch: min(16, floor(total / GiB))
    seconds: seconds/60
    tensors:
      - {name: waveform, size: seconds * 16000 * 4, until: file}
      - {name: mel, shape: [batch, 128, "3000 % 7 + random(1, 5)"], dtype: float16, each: pass}
    cleanups:
      - {name: Whisper, frees: [asr, waveform], empty_cache: true}
    on_oom: halve
final: [{name: Final}]
clear: {every: 5, before: [Transcription], cleanups: true}
faults: [{keep: asr, share: 75%}]
`

func TestRead(t *testing.T) {
	s, err := scenario.Read([]byte(example), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	st := s.Stages[0]
	v := scenario.Vars{Seconds: 61, Batch: 4, Total: 8 << 30}
	items, err1 := st.Items.Int(v)
	batch, err2 := st.Batch.Int(v)
	b, err3 := st.Tensors[1].Bytes(v)
	t.Log(items, batch, b, err1, err2, err3)
	if items != 3 || batch != 8 {
		t.Errorf("got %d items, batch %d, want 3, 8", items, batch)
	}
	s.Clone()
}
