package serving

import (
	"strings"

	"vramsoak/parser/record"
)

// vllmBuffers maps names in vLLM's lines to the names of the buffers that vLLM holds at the same
// time.
var vllmBuffers = map[string]string{
	"model loading": "model weights", "model weights": "model weights", "KV cache": "KV cache",
	"graph capturing": "CUDA graphs", "CUDA graph pool": "CUDA graphs",
	"activation peak": "activation peak", "non-torch memory": "non-torch memory",
}

// A Repeat says what it means if a program prints the name of a buffer again.
type Repeat int

// What it means if a program prints the name of a buffer again.
const (
	// RepeatSame means the same buffer: vLLM prints its KV cache twice.
	RepeatSame Repeat = iota
	// RepeatOrSecond means either the same buffer, allocated again, or the buffer of a second
	// model that is held at the same time. llama.cpp holds two models if one of them is a draft
	// model.
	RepeatOrSecond
	// RepeatNewList means the first buffer of the next model, which replaces all buffers so far:
	// ollama.
	RepeatNewList
)

// HeldBuffer returns the name of the buffer that a reading is about. ok is true only if the
// program prints all buffers that it holds at the same time, so that their sizes can be added up:
//
//	load_tensors:        CUDA2 model buffer size = 17931.70 MiB
//	llama_kv_cache:      CUDA2 KV buffer size =   320.00 MiB
//	sched_reserve:      CUDA2 compute buffer size =   372.06 MiB
func HeldBuffer(c *record.Checkpoint) (name string, repeat Repeat, ok bool) {
	if !c.Has(record.Buffer) || c.Has(record.Total) {
		return "", 0, false // a reading with a total is the sum of a table
	}
	switch c.Dialect {
	case GGML.Name:
		word, rest, _ := strings.Cut(c.Name, " ")
		_, onDevice := ggmlDevice([]byte(word))
		switch {
		case onDevice && rest != "" && c.Name != "Metal buffer":
			return c.Name, RepeatOrSecond, true
		case c.Name == "model VRAM",
			c.Name == "KV cache",
			c.Name == "scratch buffer": // llama.cpp of 2023
			return c.Name, RepeatOrSecond, true
		case strings.HasPrefix(c.Name, "kv "),
			strings.HasPrefix(c.Name, "compute buffer ("): // whisper.cpp
			return c.Name, RepeatOrSecond, true
		}
	case Ollama.Name:
		return c.Name, RepeatNewList, true
	case VLLM.Name:
		name, ok = vllmBuffers[c.Name]
		return name, RepeatSame, ok
	case SGLang.Name:
		return c.Name, RepeatOrSecond, true
	}
	return "", 0, false
}

// IsBeforeLoad reports whether a program took a reading before it loaded a model. Such a reading
// is the free or the total memory of the device, and earlier models are unloaded by then:
//
//	llama_model_load_from_file_impl: using device CUDA3 (NVIDIA RTX A6000) (0000:a3:00.0) - 48021 MiB free
//	  Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes, VRAM: 48531 MiB
func IsBeforeLoad(c *record.Checkpoint) bool {
	switch {
	case c.Has(record.Buffer) || !c.Has(record.Free) && !c.Has(record.Total):
		return false
	case c.Dialect == Ollama.Name:
		// A name such as "memory available, device 2 of 2" does not say which device it is.
		return !strings.Contains(c.Name, "available")
	}
	return c.Dialect == GGML.Name
}
