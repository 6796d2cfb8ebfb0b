package serving

import (
	"strings"

	"vramsoak/parser/record"
)

// vllmLive maps the names in vLLM's lines to those of the buffers that it holds at once.
var vllmLive = map[string]string{
	"model loading": "model weights", "model weights": "model weights", "KV cache": "KV cache",
	"graph capturing": "CUDA graphs", "CUDA graph pool": "CUDA graphs",
	"activation peak": "activation peak", "non-torch memory": "non-torch memory",
}

// An Again says what it means when a program names a buffer again.
type Again int

// The kinds of a buffer that was named before.
const (
	AgainTheSame  Again = iota // the same one: vLLM prints its KV cache twice
	AgainOrBeside              // the same one made anew, or one of a second model beside it: llama.cpp with a draft model
	AgainAllAnew               // the first of a list that is made anew for the next model: ollama
)

// Live is the name of the buffer that the reading is of, where its program names all that it holds
// at once, so that the buffers may be added up; ok is false for other readings.
//
//	load_tensors:        CUDA2 model buffer size = 17931.70 MiB
//	llama_kv_cache:      CUDA2 KV buffer size =   320.00 MiB
//	sched_reserve:      CUDA2 compute buffer size =   372.06 MiB
func Live(c *record.Checkpoint) (name string, again Again, ok bool) {
	if !c.Has(record.Buffer) || c.Has(record.Total) {
		return "", 0, false // beside the total: a table's sum
	}
	switch c.Dialect {
	case GGML.Name:
		word, rest, _ := strings.Cut(c.Name, " ")
		_, onDevice := ggmlDevice([]byte(word))
		switch {
		case onDevice && rest != "" && c.Name != "Metal buffer":
			return c.Name, AgainOrBeside, true
		case c.Name == "model VRAM",
			c.Name == "KV cache",
			c.Name == "scratch buffer": // llama.cpp of 2023
			return c.Name, AgainOrBeside, true
		case strings.HasPrefix(c.Name, "kv "),
			strings.HasPrefix(c.Name, "compute buffer ("): // whisper.cpp
			return c.Name, AgainOrBeside, true
		}
	case Ollama.Name:
		return c.Name, AgainAllAnew, true
	case VLLM.Name:
		name, ok = vllmLive[c.Name]
		return name, AgainTheSame, ok
	case SGLang.Name:
		return c.Name, AgainOrBeside, true
	}
	return "", 0, false
}

// Loads reports whether the reading is one that a program takes before it loads a model: what is
// free then, without the buffers of models before it.
//
//	llama_model_load_from_file_impl: using device CUDA3 (NVIDIA RTX A6000) (0000:a3:00.0) - 48021 MiB free
//	  Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes, VRAM: 48531 MiB
func Loads(c *record.Checkpoint) bool {
	switch {
	case c.Has(record.Buffer) || !c.Has(record.Free) && !c.Has(record.Total):
		return false
	case c.Dialect == Ollama.Name: // "memory available, device 2 of 2" does not tell which device that is
		return !strings.Contains(c.Name, "available")
	}
	return c.Dialect == GGML.Name
}
