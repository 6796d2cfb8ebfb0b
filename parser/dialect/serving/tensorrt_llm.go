package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// TensorRT-LLM's PyTorch backend prints these lines when it sizes the KV cache, in one version or
// another (tensorrt_llm/_torch/pyexecutor/_util.py and resource_manager.py). [TensorRT] reads them:
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
// All are read as buffers and none as a level, because the process also holds its KV cache later.
// The peak is the sum of the buffers without the cache, and is not read. Some versions print the
// free memory without a unit and with another divisor. That line is not read.
const (
	llmProfiled = " in memory usage profiling: "
	llmPeak     = "Peak memory during memory usage profiling (torch + non-torch): "
	llmFree     = " with free memory "
)

// llmBuffers name the profiled buffers by the words before " in memory usage profiling: ".
var llmBuffers = []struct {
	words, name string
}{
	{"weights (inside torch)", "model weights"},
	{"weights (outside torch)", "outside torch"},
	{"dynamically allocated during inference (inside torch)", "activations"},
	{"used outside torch (e.g., NCCL and CUDA graphs)", "outside torch"},
	{"used outside torch", "outside torch"},
}

// readLLMProfiled reads a buffer that the backend profiled.
func readLLMProfiled(l *scan.Line, at int) (end int) {
	for _, buffer := range llmBuffers {
		if !bytes.HasSuffix(l.Text[:at], []byte(buffer.words)) {
			continue
		}
		size, rest, ok := lex.CutSize(l.Text[at+len(llmProfiled):], 0)
		if !ok {
			return addBadLLM(l, at+len(llmProfiled), "a size in GiB")
		}
		c := newLLMCheckpoint(l, at, buffer.name)
		c.Set(record.Buffer, size)
		l.Add(c)
		return len(l.Text) - len(rest)
	}
	return 0
}

// readLLMPeak reads the available KV cache as a buffer, and the device's total. The line begins
// with "Peak memory during memory usage profiling".
func readLLMPeak(l *scan.Line, at int) (end int) {
	_, rest, ok := lex.CutSize(l.Text[at+len(llmPeak):], 0)
	rest, found := lex.CutPrefix(rest, ", available KV cache memory when calculating max tokens: ")
	cache, rest, isSize := lex.CutSize(rest, 0)
	if !ok || !found || !isSize {
		return addBadLLM(l, at+len(llmPeak), "the peak in GiB, and the available KV cache")
	}
	c := newLLMCheckpoint(l, at, "KV cache")
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

// readLLMFree reads the free and the total memory from which the backend computes the size of the
// KV cache.
func readLLMFree(l *scan.Line, at int) (end int) {
	free, rest, ok := lex.CutSize(l.Text[at+len(llmFree):], 0)
	rest, found := lex.CutPrefix(rest, " of total memory ")
	total, rest, isSize := lex.CutSize(rest, 0)
	const words = "free_gpu_memory_fraction and max_tokens are set (to "
	if !ok || !found || !isSize ||
		!bytes.Contains(l.Text[max(0, at-llmNearby):at], []byte(words)) {
		return 0
	}
	c := newLLMCheckpoint(l, at, "KV cache sizing")
	c.Set(record.Free, free)
	c.Set(record.Total, total)
	l.Add(c)
	return len(l.Text) - len(rest)
}

// newLLMCheckpoint returns a checkpoint without quantities. Its rank is the one in the logger's
// prefix, such as "[RANK 1]", or 0.
func newLLMCheckpoint(l *scan.Line, at int, name string) record.Checkpoint {
	c := record.Checkpoint{Header: trtHeader(l, at), Name: name, Sampled: true}
	if _, after, ok := bytes.Cut(l.Text[max(0, at-memUsageMax):at], []byte("[RANK ")); ok {
		if rank, _, ok := lex.CutInt(after); ok {
			c.Lane.Rank = rank
		}
	}
	return c
}

// addBadLLM adds an error if a number begins at the offset `at`. Otherwise the line is program
// source, and addBadLLM returns 0.
func addBadLLM(l *scan.Line, at int, expected string) (end int) {
	if at >= len(l.Text) || !lex.IsDigit(l.Text[at]) {
		return 0
	}
	l.Bad(at, expected, unreadable)
	return len(l.Text)
}

// llmNearby is how many bytes around a needle are searched for the rest of a reading.
const llmNearby = 512
