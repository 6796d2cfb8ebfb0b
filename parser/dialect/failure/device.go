package failure

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
)

// devices are the beginnings of words that name a device or its software. links are the words
// that may come between such a word and "out of memory":
//
//	CUDA error: out of memory
//	cudaMalloc retry failed: out of memory
//	CUDA error 2 at ggml-cuda.cu:7233: out of memory
//	MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: 18.13 GB).
//	NCCL WARN Cuda failure 2 'out of memory'
var (
	devices = []string{
		"cuda", "hip", "xpu", "npu", "mlu", "gcu", "musa", "mps", "gpu", "rocm",
		"cudnn", "cublas", "cumem", "nccl", "rccl", "sycl", "opencl", "vulkan", "metal", "maca",
	}
	links = []string{
		"error", "failure", "failed", "runtime", "driver", "backend", "api", "with",
		"retry", "call", "exception", "device", "is", "ran", "cu", "cuh", "cpp",
	}
)

// locateDevice returns the offset of the word that names a device, such as "CUDA", before the
// words "out of memory" at the offset `at`. ok is false if there is no such word, or if other
// words than links come between the two.
func locateDevice(text []byte, at int) (start int, ok bool) {
	for end := at; at-end < 96; {
		for end > 0 && at-end < 96 && !lex.IsWordByte(text[end-1]) {
			if bytes.IndexByte([]byte(" :(),'.-"), text[end-1]) < 0 {
				return 0, false
			}
			end--
		}
		start = end
		for start > 0 && end-start < 64 && lex.IsWordByte(text[start-1]) {
			start--
		}
		word := text[start:end]
		if isDevice(word) {
			return start, true
		}
		// loss: 1.2000CUDA error: out of memory
		if name := bytes.TrimLeft(word, "0123456789"); isDevice(name) {
			return end - len(name), true
		}
		if !isLink(word) {
			return 0, false
		}
		end = start
	}
	return 0, false
}

// isDevice reports whether a word names a device or its software: "CUDA", "cudaMalloc", "gpu0".
func isDevice(word []byte) bool {
	for _, name := range devices {
		if len(word) >= len(name) && strings.EqualFold(string(word[:len(name)]), name) &&
			(len(word) == len(name) || word[len(name)] < 'a' || word[len(name)] > 'z') {
			return true
		}
	}
	return false
}

// isLink reports whether a word is a number or one of links.
func isLink(word []byte) bool {
	for _, link := range links {
		if strings.EqualFold(string(word), link) {
			return true
		}
	}
	return len(word) > 0 && len(bytes.Trim(word, "0123456789")) == 0
}
