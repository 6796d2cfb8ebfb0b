package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// What TensorRT-LLM's PyTorch backend prints when it sizes the KV cache
// (tensorrt_llm/_torch/pyexecutor/_util.py and resource_manager.py), over its versions; they belong
// to [TensorRT]:
//
//	[03/14/2026-09:41:00] [TRT-LLM] [I] Memory used after loading model weights (inside torch) in memory usage profiling: 14.99 GiB
//	[TRT-LLM] [RANK 1] [I] Memory used after loading model weights (outside torch) in memory usage profiling: 1.84 GiB
//	Memory dynamically allocated during inference (inside torch) in memory usage profiling: 0.33 GiB
//	Memory used outside torch (e.g., NCCL and CUDA graphs) in memory usage profiling: 1.91 GiB
//	Peak memory during memory usage profiling (torch + non-torch): 17.23 GiB, available KV cache memory when calculating max
//	tokens: 55.78 GiB, fraction is set 0.9, kv size is 65536. device total memory 79.20 GiB, , tmp kv_mem 0.25 GiB
//	Both free_gpu_memory_fraction and max_tokens are set (to 0.9 and 1088 with free memory 70.511GiB of total memory
//	79.203GiB, respectively). The smaller value will be used.
//
// All are parts: a process that has made its KV cache holds that too, so that none is the level
// that the process comes to. The peak is their sum without the cache. Versions that give the last
// without a unit divide by something else, and give nothing.
const (
	llmProfiled = " in memory usage profiling: "
	llmPeak     = "Peak memory during memory usage profiling (torch + non-torch): "
	llmFree     = " with free memory "
)

// llmParts tell what was profiled by the words before it.
var llmParts = []struct {
	words, name string
}{
	{"weights (inside torch)", "model weights"},
	{"weights (outside torch)", "outside torch"},
	{"dynamically allocated during inference (inside torch)", "activations"},
	{"used outside torch (e.g., NCCL and CUDA graphs)", "outside torch"},
	{"used outside torch", "outside torch"},
}

func readLLMProfiled(l *scan.Line, at int) (end int) {
	for _, part := range llmParts {
		if !bytes.HasSuffix(l.Text[:at], []byte(part.words)) {
			continue
		}
		size, rest, ok := lex.CutSize(l.Text[at+len(llmProfiled):], 0)
		if !ok {
			return badLLM(l, at+len(llmProfiled), "a size in GiB")
		}
		c := checkpointLLM(l, at, part.name)
		c.Set(record.Buffer, size)
		l.Add(c)
		return len(l.Text) - len(rest)
	}
	return 0
}

func readLLMPeak(l *scan.Line, at int) (end int) {
	_, rest, ok := lex.CutSize(l.Text[at+len(llmPeak):], 0)
	rest, found := lex.CutPrefix(rest, ", available KV cache memory when calculating max tokens: ")
	cache, rest, isSize := lex.CutSize(rest, 0)
	if !ok || !found || !isSize {
		return badLLM(l, at+len(llmPeak), "the peak in GiB, and what is available as KV cache")
	}
	c := checkpointLLM(l, at, "KV cache")
	c.Set(record.Buffer, cache)
	const label = ". device total memory "
	if i := bytes.Index(rest[:min(len(rest), llmNearby)], []byte(label)); i >= 0 {
		if total, after, ok := lex.CutSize(rest[i+len(label):], 0); ok {
			c.Set(record.Total, total)
			rest = after
		}
	}
	l.Add(c)
	return len(l.Text) - len(rest)
}

func readLLMFree(l *scan.Line, at int) (end int) {
	free, rest, ok := lex.CutSize(l.Text[at+len(llmFree):], 0)
	rest, found := lex.CutPrefix(rest, " of total memory ")
	total, rest, isSize := lex.CutSize(rest, 0)
	if !bytes.Contains(l.Text[max(0, at-llmNearby):at], []byte("free_gpu_memory_fraction and max_tokens are set (to ")) ||
		!ok || !found ||
		!isSize {
		return 0
	}
	c := checkpointLLM(l, at, "KV cache sizing")
	c.Set(record.Free, free)
	c.Set(record.Total, total)
	l.Add(c)
	return len(l.Text) - len(rest)
}

// checkpointLLM begins a reading; it is its rank's where the logger says so: "[RANK 1]".
func checkpointLLM(l *scan.Line, at int, name string) record.Checkpoint {
	c := record.Checkpoint{Header: trtHeader(l, at), Name: name, Sampled: true}
	if _, after, ok := bytes.Cut(l.Text[max(0, at-memUsageMax):at], []byte("[RANK ")); ok {
		if rank, _, ok := lex.CutInt(after); ok {
			c.Lane.Rank = rank
		}
	}
	return c
}

// badLLM is an error where a size begins at the offset, and nothing where program source stands.
func badLLM(l *scan.Line, at int, expected string) (end int) {
	if at >= len(l.Text) || !lex.IsDigit(l.Text[at]) {
		return 0
	}
	l.Bad(at, expected, "what cannot be read is left out")
	return len(l.Text)
}

// llmNearby is how many bytes from a needle the rest of a reading may be.
const llmNearby = 512
