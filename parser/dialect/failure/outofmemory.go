package failure

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/search"
	"vramsoak/parser/source"
)

// OutOfMemory reads the message of an allocation that failed on a device. It knows the words of
// PyTorch and its forks, JAX and TensorFlow, CuPy and RMM, ONNX Runtime, TensorRT, CTranslate2
// (faster-whisper), ggml (whisper.cpp, llama.cpp), PaddlePaddle, vLLM, and of the libraries that
// these use:
//
//	torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 63.42 GiB ...
//	!!! Exception during processing !!! Allocation on device 0 would exceed allowed memory. (out of memory)
//	RuntimeError: CUDA failed with error out of memory
//	jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 33762398024 bytes.
//	... OOM when allocating tensor with shape[16,16,1440,1920] and type float on /job:.../device:GPU:0 by allocator GPU_0_bfc
//	cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,600,000,000 bytes (allocated so far: 2,281,307,136 bytes).
//	MemoryError: std::bad_alloc: out_of_memory: CUDA error at: .../cuda_memory_resource.hpp:69: cudaErrorMemoryAllocation ...
//	ggml_backend_cuda_buffer_type_alloc_buffer: allocating 13285.50 MiB on device 0: cudaMalloc failed: out of memory
//	RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
//	ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing ...
//	ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache ...
//	RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
//	ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 13285000000
//	ERROR - asr - a.wav: torch.OutOfMemoryError
//
// wordings.go lists messages that do not say "out of memory". ownwords.go reads a failure in a
// program's own words, such as "GPU OOM on a.wav".
//
// A message that says how the program goes on, as in "..., using CPU", also gives a fallback.
//
// An error that is printed twice gives two records. These give none: a failure of host memory,
// program source that handles the error, and advice about it:
//
//	if "CUDA out of memory" in str(e):
//	To avoid CUDA out of memory, reduce the batch size.
var OutOfMemory = scan.Dialect{
	Name:    "out-of-memory",
	Failure: true,
	Needles: slices.Concat(needlesOf(wordings), ownWords, []string{
		"out of memory",
		"Out of memory",
		"Out of Memory",
		"OUT OF MEMORY",
		"Allocation on device",
		"ALLOC_FAILED",
		"cudaErrorMemoryAllocation",
		"hipErrorOutOfMemory",
		"ERROR_OUT_OF_MEMORY",
		"OUT_OF_DEVICE_MEMORY",
		"OutOfDeviceMemory",
		"out of device memory",
		"bad_alloc: out_of_memory",
		"OOM when allocating tensor",
		"Failed to allocate memory for requested buffer of size ",
		"Requested amount of GPU memory (",
		"No available memory for the cache blocks",
		"OutOfMemoryError",
		"MEM_OBJECT_ALLOCATION_FAILURE",
		"out of GPU memory",
		"Out of GPU memory", // CUDA.jl
		"out of VRAM",
		"Not enough memory. Please try to increase --mem-fraction-static",
		"larger than the maximum number of tokens that can be stored in KV cache",
		"failed to allocate buffer for kv cache",
		"failed to allocate buffer, size = ",
		" buffer of size ",
		"CNMEM_STATUS_OUT_OF_MEMORY",
		"STATUS_ALLOCATION_FAILED",
		"ERROR_DEVICE_ALLOCATION_FAILED",
		"CallbackErrorOutOfMemory",
		"miopenStatusAllocFailed",
		"rocblas_status_memory_error",
	}),
	Read: func(l *scan.Line, at int) int {
		if end := ReadOutOfMemory(l, at); end > 0 {
			return end
		}
		return readOwnWords(l, at)
	},
}

// ReadOutOfMemory adds a record for a failed allocation. The parameter at is the offset of a
// needle, which is "out of memory" or the name of an error. ReadOutOfMemory returns the offset
// behind the message, or 0 if the text is not the message of a failed allocation.
func ReadOutOfMemory(l *scan.Line, at int) (end int) {
	start, ok := locateMessage(l, at)
	if !ok {
		return 0
	}
	m := gatherMessage(l, start)
	f := m.parseSizes()
	hasSizes := f.Len() > 0 || f.HasRequested && isLogged(l, start)
	switch quoted := isQuoted(l.Text, start); {
	case testNameBefore().Match(l.Text[max(0, start-512):start]):
		return 0
	case quoted && !hasSizes && !isErrorValue(l, start) &&
		!bytes.HasPrefix(l.Text[m.wordsEnd:], []byte(`\n`)):
		return 0
	case !f.HasRequested && f.Len() == 0 &&
		(IsRemark(l.Text, start) || isMention(l.Text, start, at)):
		return 0
	}
	f.Header, f.Text = l.Header(start), l.Message(start)
	f.Lane.Device, f.Lane.Rank = m.device(), l.Head(start).Rank()
	f.Batch = BatchNear(l, l.Text, "")
	l.Add(f)
	wordsEnd := m.wordsEnd
	if wordsEnd == start || wordsEnd > at+32 { // the message lacks the word "memory"
		wordsEnd = min(at+search.MinNeedle, len(l.Text))
	}
	tried := bytes.Contains(m.text, triedTo) // another process may have written behind its sizes
	if m.moreLines == 0 && !tried && saysFallback(l.Text[wordsEnd:]) {
		l.Add(record.Event{Header: f.Header, Kind: record.EventFallback, Text: f.Text})
	}
	for range m.moreLines {
		l.Next()
	}
	if m.moreLines > 0 {
		return len(l.Text)
	}
	return m.next
}

// locateMessage returns the offset at which the message begins that contains the needle at the
// offset `at`. ok is false if it is not the message of an allocation that failed on a device.
func locateMessage(l *scan.Line, at int) (start int, ok bool) {
	text := l.Text
	before, rest := text[max(0, at-128):at], text[at:]
	begins := func(words string) bool { return bytes.HasPrefix(rest, []byte(words)) }
	if start, known := locateWording(l, at); known {
		return start, start >= 0
	}
	switch {
	case isOwnWord(rest):
		return 0, false
	case begins("Allocation on device"):
		return at, isAsyncMessage(rest)
	case begins("OOM when"):
		rest = rest[:min(len(rest), 512)]
		return at, !bytes.Contains(rest, []byte("by allocator cpu")) &&
			!bytes.Contains(rest, []byte("by allocator mklcpu"))
	case begins("bad_alloc"), begins("Failed to"), begins("Requested amount"),
		begins("No available"), begins("Not enough memory. "),
		begins("larger than the maximum number of tokens"):
		return at, true
	case begins("out of GPU memory"), begins("Out of GPU memory"), begins("out of VRAM"),
		begins("out of device memory"):
		return at, !isHandled(text[:at]) && !isMovedOut(text[:at])
	case begins("failed to allocate buffer"), begins(" buffer of size "):
		return locateGGMLBuffer(l, at)
	case begins("OutOfMemoryError"):
		return locateErrorName(l, at)
	case len(rest) < 13 || rest[3] != ' ':
		// The message begins with the name of an error, which is one word:
		// CUBLAS_STATUS_ALLOC_FAILED, vk::Device::allocateMemory: ErrorOutOfDeviceMemory.
		for start = at; start > 0 && at-start < 64 && lex.IsWordByte(text[start-1]); {
			start--
		}
		if isRepeatedByVulkan(l, start) {
			return 0, false
		}
		return includeRequest(text, start), true
	}
	rest = rest[len("out of memory"):]
	if begins(" trying to allocate ") {
		// Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0.
		// The caller indicates that this is not a failure, ...
		if bytes.HasSuffix(before, []byte(" Allocator ran ")) {
			return at, true // Intel's extension for TensorFlow
		}
		return at, bytes.HasSuffix(before, []byte("_bfc) ran ")) &&
			bytes.Contains(before, []byte("(GPU_")) &&
			!bytes.Contains(rest[:min(len(rest), 512)], []byte("not a failure"))
	}
	if start, ok = locateDevice(text, at); ok {
		if begins(")") && isRepeatedByTensorRT(l) {
			return 0, false
		}
		return includeRequest(text, start), true
	}
	switch {
	case begins(". Tried to allocate an unknown size. Device "): // by our own gpupipeline
		return at, true
	case begins(". Tried to allocate "):
		return at, len(rest) > 20 && lex.IsDigit(rest[20])
	case begins(" allocating "):
		return at, bytes.Contains(rest[:min(len(rest), 128)], []byte("(allocated so far: ")) ||
			isXLA(before)
	case begins(" while trying to allocate "):
		return at, isXLA(before)
	case begins(" in memory space hbm"):
		return at, true
	case begins(" error on GPU "):
		return at, len(rest) > 14 && lex.IsDigit(rest[14])
	case begins(" at line "):
		// Error out of memory at line 380 in file
		// /mmfs1/gscratch/.../bitsandbytes/csrc/pythonInterface.cpp
		return at, bytes.HasSuffix(before, []byte("Error "))
	case begins(". Try to lower your batch size"), begins(". Please set a smaller number for"):
		return at, true // SGLang: its pool of tokens is full
	case bytes.HasSuffix(before, []byte("): ")):
		// [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, ...): out of memory (...)
		return at, bytes.Contains(text[max(0, at-512):at], []byte("CUDA runtime error in "))
	case bytes.HasSuffix(before, []byte("reason: ")):
		// Error while calling cudaMalloc(&data, new_size*sizeof(float)) in file
		// .../cuda_data_ptr.cpp:28. code: 2, reason: ...
		return at, bytes.Contains(text[max(0, at-512):at], []byte("cudaMalloc("))
	}
	// Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.
	return at, saysFallback(rest) && isReport().Match(messageBefore(l, at))
}

// locateGGMLBuffer returns the offset of a message in which ggml names a buffer and gives no
// reason, as in the second line below. If an earlier line gives the reason, as the first line
// does, the two lines are one failure. ok is then false, because the earlier line has the record
// already.
//
//	ggml_backend_cuda_buffer_type_alloc_buffer: allocating 13285.50 MiB on device 0: cudaMalloc failed: out of memory
//	ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 13930856448
//	llama_kv_cache_init: failed to allocate buffer for kv cache
//	ggml_metal_buffer: error: failed to allocate buffer, size = 1024.00 MiB
func locateGGMLBuffer(l *scan.Line, at int) (start int, ok bool) {
	const failed = "failed to allocate "
	start = at
	if !bytes.HasPrefix(l.Text[at:], []byte(failed)) {
		for start > 0 && at-start < 64 && lex.IsWordByte(l.Text[start-1]) {
			start--
		}
		buffer := l.Text[start:at]
		if !isDevice(buffer) || bytes.HasSuffix(buffer, []byte("_Host")) || // host memory: CUDA_Host
			!bytes.HasSuffix(l.Text[:start], []byte(failed)) {
			return 0, false
		}
		start -= len(failed)
	}
	return start, !hasReason(l)
}

// hasReason reports whether one of the lines before this one gives the reason of a failure. That
// line has the record of the failure.
func hasReason(l *scan.Line) bool {
	for n := 1; n <= 4; n++ {
		before, ok := l.Previous(n)
		if !ok {
			break
		}
		before = before[:min(len(before), maxMessage)]
		for _, reason := range []string{
			"ut of memory", "failed to allocate ", "ErrorOutOfDeviceMemory",
			"Requested amount of GPU memory (", "can't allocate ", "Failed to allocate memory.",
			"lloc device memory failed", "Call rtMalloc fail",
		} {
			if bytes.Contains(before, []byte(reason)) {
				return true
			}
		}
	}
	return false
}

// locateErrorName returns the offset of the name of PyTorch's error, if the line does not give
// the error's message. ok is false in program source, such as the second of these lines:
//
//	ERROR - asr - a.wav: torch.OutOfMemoryError
//	    except torch.cuda.OutOfMemoryError:
//
// If the program says where the error occurred, or that it did, PyTorch or the device must be
// named:
//
//	WARNING ⚠️ CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU
func locateErrorName(l *scan.Line, at int) (start int, ok bool) {
	text := l.Text
	if inPlace().Match(text[at:min(len(text), at+64)]) {
		if start, ok = locateDevice(text, at); !ok && bytes.HasSuffix(text[:at], []byte("torch.")) {
			start, ok = at-len("torch."), true
		}
		for start > 0 && at-start < 64 && (lex.IsWordByte(text[start-1]) || text[start-1] == '.') {
			start-- // torch.cuda.OutOfMemoryError
		}
		return start, ok && len(messageBefore(l, start)) == 0
	}
	rest := bytes.TrimLeft(text[at+len("OutOfMemoryError"):], "'>)]\"}")
	bar := source.LastBarEnd(text[:at])
	indented := len(lex.TrimBlanks(text[bar:]))+2 < len(text[bar:]) // source in a traceback
	if len(bytes.TrimSpace(rest)) > 0 || indented || at > 0 && text[at-1] == '_' {
		return 0, false
	}
	for start = at; start > 0 && at-start < 64 &&
		(lex.IsWordByte(text[start-1]) || text[start-1] == '.'); {
		start--
	}
	if before, ok := bytes.CutSuffix(text[:start], []byte("<class '")); ok {
		start = len(before)
	}
	if isHandled(text[:start]) {
		return 0, false
	}
	before := lex.LastBytes(wordsBefore(l, start), 128)
	for _, word := range []string{"except", "raise ", "import", "isinstance", "(", "="} {
		if bytes.Contains(before, []byte(word)) {
			return 0, false
		}
	}
	return start, !bytes.HasPrefix(text[start:], []byte("java")) &&
		!bytes.HasPrefix(text[start:], []byte("ray.")) // both are out of host memory
}

var inPlace = lex.Expression(
	`^OutOfMemoryError (?:(?:in|on|at|during|while) |(?:caught|raised|encountered|occurred)\b)`)

// isXLA reports whether the text before a message names an error of XLA or TensorFlow.
func isXLA(before []byte) bool {
	return bytes.Contains(before, []byte("RESOURCE_EXHAUSTED")) ||
		bytes.Contains(before, []byte("Resource exhausted")) ||
		bytes.Contains(before, []byte("XlaRuntimeError"))
}

// isAsyncMessage reports whether the text is cudaMallocAsync's message. PyTorch prints the device's
// number as one raw byte. For device 0 that byte is NUL and ends the message:
//
//	torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)
//	torch.OutOfMemoryError: Allocation on device
func isAsyncMessage(rest []byte) bool {
	rest = bytes.TrimLeft(
		rest[len("Allocation on device"):],
		" 0123456789\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f",
	)
	return len(bytes.TrimSpace(rest)) == 0 ||
		bytes.HasPrefix(rest, []byte("would exceed allowed memory"))
}

// isRepeatedByTensorRT reports whether the next line gives the same failure with its size:
//
//	[E] [defaultAllocator.cpp::allocate::57] Error Code 1: Cuda Runtime (out of memory)
//	[W] Requested amount of GPU memory (20132809216 bytes) could not be allocated. There may not be enough free memory ...
func isRepeatedByTensorRT(l *scan.Line) bool {
	text, ok := l.Peek(1)
	return ok && bytes.Contains(text[:min(len(text), 256)], []byte("Requested amount of GPU memory ("))
}

// isRepeatedByVulkan reports whether the line before gives the same failure with its size. It also
// reports this if ggml only failed to pin host memory, because it then goes on without:
//
//	ggml_vulkan: Device memory allocation of size 118497280 failed.
//	ggml_vulkan: Failed to allocate pinned memory.
//	ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory
func isRepeatedByVulkan(l *scan.Line, start int) bool {
	if !bytes.HasPrefix(l.Text[start:], []byte("ErrorOutOfDeviceMemory")) {
		return false
	}
	before, _ := l.Previous(1)
	return bytes.Contains(lex.FirstBytes(before, maxMessage), []byte("memory allocation of size ")) ||
		bytes.Contains(lex.FirstBytes(before, maxMessage), []byte("Failed to allocate pinned memory"))
}

// includeRequest returns the offset of the requested size if this size comes directly before the
// message. Otherwise it returns the message's own offset, start.
//
//	... allocating 1024.00 MiB on device 0: cudaMalloc failed: out of memory
//	... failed to allocate 1.50G (1610612736 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory
//	... failed to allocate CUDA memory with byte size 1073741824 on GPU 0: CNMEM_STATUS_OUT_OF_MEMORY, ...
func includeRequest(text []byte, start int) int {
	low := max(0, start-96)
	for _, word := range []string{
		"allocating ", "failed to allocate ", "allocation of size ", "byte size ",
	} {
		i := bytes.LastIndex(text[low:start], []byte(word))
		if i >= 0 && lex.IsDigit(text[low+i+len(word)]) {
			return low + i
		}
	}
	return start
}
