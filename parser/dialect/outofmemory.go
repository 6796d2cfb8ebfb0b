package dialect

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// outOfMemoryDialect is an allocation that failed on a device, in the words of PyTorch and its
// forks, JAX and TensorFlow, CuPy and RMM, ONNX Runtime, TensorRT, CTranslate2 (faster-whisper),
// ggml (whisper.cpp, llama.cpp), PaddlePaddle, vLLM, and of the libraries below them:
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
// An error that is printed twice is two records. Host memory gives none, nor does program source
// that handles the error, or advice about it:
//
//	if "CUDA out of memory" in str(e):
//	To avoid CUDA out of memory, reduce the batch size.
var outOfMemoryDialect = scan.Dialect{
	Name: "out-of-memory",
	Needles: []string{
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
		"out of VRAM",
		"Not enough memory. Please try to increase --mem-fraction-static",
		"larger than the maximum number of tokens that can be stored in KV cache",
		"failed to allocate buffer for kv cache",
		"failed to allocate buffer, size = ",
		" buffer of size ",
	},
	Read: readOutOfMemory,
}

func readOutOfMemory(l *scan.Line, at int) (end int) {
	start, ok := failedAllocation(l, at)
	if !ok {
		return 0
	}
	m := gatherFailure(l, start)
	f := m.read()
	hasSizes := f.Len() > 0 || f.HasRequested && isDictValue(l.Text[:start])
	switch quoted := source.IsQuoted(l.Text, start); {
	case inTestName().Match(l.Text[max(0, start-512):start]):
		return 0
	case quoted && !hasSizes && !isErrorValue(l.Text, start) && !bytes.HasPrefix(l.Text[m.end:], []byte(`\n`)):
		return 0
	case !f.HasRequested && f.Len() == 0 && (isSpokenOf(l.Text, start) || isMention(l.Text, start, at)):
		return 0
	}
	f.Header, f.Text = l.Header(start), l.Message(start)
	f.Lane.Device, f.Lane.Rank = m.device(), rankBefore(l.Text[:start])
	l.Add(f)
	for range m.lines {
		l.Next()
	}
	if m.lines > 0 {
		return len(l.Text)
	}
	return m.next
}

// failedAllocation says whether the words at an offset are of an allocation that failed on a
// device, and where the message begins.
func failedAllocation(l *scan.Line, at int) (start int, ok bool) {
	text := l.Text
	before, rest := text[max(0, at-128):at], text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("Allocation on device")):
		return at, isAsyncFailure(rest)
	case bytes.HasPrefix(rest, []byte("OOM when")):
		return at, !bytes.Contains(rest[:min(len(rest), 512)], []byte("by allocator cpu")) &&
			!bytes.Contains(rest[:min(len(rest), 512)], []byte("by allocator mklcpu"))
	case bytes.HasPrefix(rest, []byte("bad_alloc")), bytes.HasPrefix(rest, []byte("Failed to")),
		bytes.HasPrefix(rest, []byte("Requested amount")), bytes.HasPrefix(rest, []byte("No available")),
		bytes.HasPrefix(rest, []byte("out of device")), bytes.HasPrefix(rest, []byte("Not enough memory. ")),
		bytes.HasPrefix(rest, []byte("larger than the maximum number of tokens")):
		return at, true
	case bytes.HasPrefix(rest, []byte("out of GPU memory")),
		bytes.HasPrefix(rest, []byte("out of VRAM")):
		return at, !isExpected(text[:at]) && !isMovedOut(text[:at])
	case bytes.HasPrefix(rest, []byte("failed to allocate buffer")),
		bytes.HasPrefix(rest, []byte(" buffer of size ")):
		return ggmlBuffer(l, at)
	case bytes.HasPrefix(rest, []byte("OutOfMemoryError")):
		return bareError(text, at)
	case len(rest) < 13 || rest[3] != ' ':
		// The name of an error is a word of its own: CUBLAS_STATUS_ALLOC_FAILED,
		// vk::Device::allocateMemory: ErrorOutOfDeviceMemory.
		for start = at; start > 0 && at-start < 64 && lex.IsWordByte(text[start-1]); {
			start--
		}
		return requestBefore(text, start), true
	}
	rest = rest[len("out of memory"):]
	if bytes.HasPrefix(rest, []byte(" trying to allocate ")) {
		// Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0. The
		// caller indicates that this is not a failure, ...
		return at, bytes.HasSuffix(before, []byte("_bfc) ran ")) &&
			bytes.Contains(before, []byte("(GPU_")) &&
			!bytes.Contains(rest[:min(len(rest), 512)], []byte("not a failure"))
	}
	if start, ok = deviceBefore(text, at); ok {
		if bytes.HasPrefix(rest, []byte(")")) && tensorRTFollows(l) {
			return 0, false
		}
		return requestBefore(text, start), true
	}
	switch {
	case bytes.HasPrefix(rest, []byte(". Tried to allocate ")):
		return at, len(rest) > 20 && lex.IsDigit(rest[20])
	case bytes.HasPrefix(rest, []byte(" allocating ")):
		return at, bytes.Contains(rest[:min(len(rest), 128)], []byte("(allocated so far: ")) ||
			isXLA(before)
	case bytes.HasPrefix(rest, []byte(" while trying to allocate ")):
		return at, isXLA(before)
	case bytes.HasPrefix(rest, []byte(" in memory space hbm")):
		return at, true
	case bytes.HasPrefix(rest, []byte(" error on GPU ")):
		return at, len(rest) > 14 && lex.IsDigit(rest[14])
	case bytes.HasPrefix(rest, []byte(" at line ")):
		// Error out of memory at line 380 in file
		// /mmfs1/gscratch/.../bitsandbytes/csrc/pythonInterface.cpp
		return at, bytes.HasSuffix(before, []byte("Error "))
	case bytes.HasSuffix(before, []byte("reason: ")):
		// Error while calling cudaMalloc(&data, new_size*sizeof(float)) in file .../cuda_data_ptr.cpp:28.
		// code: 2, reason: ...
		return at, bytes.Contains(text[max(0, at-512):at], []byte("cudaMalloc("))
	}
	return 0, false
}

// isExpected reports whether the text before the name of an error says what the program does if
// there is one:
//
//	INFO - asr - will retry on torch.OutOfMemoryError
func isExpected(before []byte) bool {
	before = bytes.ToLower(before[max(0, len(before)-64):])
	return slices.ContainsFunc(expecting, func(words string) bool {
		return bytes.HasSuffix(before, []byte(words))
	})
}

var expecting = slices.Concat(provisions, []string{
	"catch ", "catches ", "catching ", "handle ", "handles ", "handling ",
})

// provisions are words before an error that tell what is done should it come.
var provisions = []string{
	"retry on ",
	"retries on ",
	"retrying on ",
	"retry on: ",
	"retrying on: ",
	"handler for ",
	"against ",
}

// ggmlBuffer recognizes the messages of ggml's backends that name a buffer and no reason, and
// returns where they begin. CUDA gives the reason in a line before; then both are one failure:
//
//	ggml_backend_cuda_buffer_type_alloc_buffer: allocating 13285.50 MiB on device 0: cudaMalloc failed: out of memory
//	ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 13930856448
//	llama_kv_cache_init: failed to allocate buffer for kv cache
//	ggml_metal_buffer: error: failed to allocate buffer, size = 1024.00 MiB
func ggmlBuffer(l *scan.Line, at int) (start int, ok bool) {
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
	for n := 1; n <= 4; n++ {
		before, ok := l.Previous(n)
		if !ok {
			break
		}
		before = before[:min(len(before), failureMax)]
		for _, reason := range []string{"ut of memory", "failed to allocate ", "ErrorOutOfDeviceMemory"} {
			if bytes.Contains(before, []byte(reason)) {
				return 0, false
			}
		}
	}
	return start, true
}

// bareError recognizes the name of PyTorch's error on a line without the error's message, and
// returns where the name begins. Program source does not say that an allocation failed:
//
//	ERROR - asr - a.wav: torch.OutOfMemoryError
//	    except torch.cuda.OutOfMemoryError:
func bareError(text []byte, at int) (start int, ok bool) {
	rest := bytes.TrimLeft(text[at+len("OutOfMemoryError"):], "'>)]\"}")
	indented := len(lex.TrimBlanks(text))+2 < len(text) // as the lines of a program are in a traceback
	if len(bytes.TrimSpace(rest)) > 0 || indented || at > 0 && text[at-1] == '_' {
		return 0, false
	}
	for start = at; start > 0 && at-start < 64 && (lex.IsWordByte(text[start-1]) || text[start-1] == '.'); {
		start--
	}
	if before, ok := bytes.CutSuffix(text[:start], []byte("<class '")); ok {
		start = len(before)
	}
	if isExpected(text[:start]) {
		return 0, false
	}
	before := text[max(0, start-128):start]
	for _, word := range []string{"except", "raise ", "import", "isinstance", "(", "="} {
		if bytes.Contains(before, []byte(word)) {
			return 0, false
		}
	}
	return start, !bytes.HasPrefix(text[start:], []byte("java"))
}

func isXLA(before []byte) bool {
	return bytes.Contains(before, []byte("RESOURCE_EXHAUSTED")) ||
		bytes.Contains(before, []byte("Resource exhausted")) ||
		bytes.Contains(before, []byte("XlaRuntimeError"))
}

// isAsyncFailure tells the message of cudaMallocAsync. PyTorch gives the device as a byte, which is
// that character: for device 0 it ends the text.
//
//	torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)
//	torch.OutOfMemoryError: Allocation on device
func isAsyncFailure(rest []byte) bool {
	rest = bytes.TrimLeft(
		rest[len("Allocation on device"):],
		" 0123456789\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f",
	)
	return len(bytes.TrimSpace(rest)) == 0 ||
		bytes.HasPrefix(rest, []byte("would exceed allowed memory"))
}

// tensorRTFollows says that one of the next lines gives the same failure with its size:
//
//	[E] [defaultAllocator.cpp::allocate::57] Error Code 1: Cuda Runtime (out of memory)
//	[W] Requested amount of GPU memory (20132809216 bytes) could not be allocated. There may not be enough free memory ...
func tensorRTFollows(l *scan.Line) bool {
	text, ok := l.Peek(1)
	return ok && bytes.Contains(text[:min(len(text), 256)], []byte("Requested amount of GPU memory ("))
}

// devices begin the words for a device and its software; links may stand between one and "out of
// memory":
//
//	CUDA error: out of memory
//	cudaMalloc retry failed: out of memory
//	CUDA error 2 at ggml-cuda.cu:7233: out of memory
//	MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: 18.13 GB).
//	NCCL WARN Cuda failure 2 'out of memory'
var (
	devices = []string{
		"cuda",
		"hip",
		"xpu",
		"npu",
		"mlu",
		"gcu",
		"musa",
		"mps",
		"gpu",
		"rocm",
		"cudnn",
		"cublas",
		"cumem",
		"nccl",
		"rccl",
		"sycl",
		"opencl",
		"vulkan",
		"metal",
		"maca",
	}
	links = []string{
		"error",
		"failure",
		"failed",
		"runtime",
		"driver",
		"backend",
		"api",
		"with",
		"retry",
		"call",
		"device",
		"is",
		"ran",
		"cu",
		"cuh",
		"cpp",
	}
)

// deviceBefore looks for a device before the words "out of memory".
func deviceBefore(text []byte, at int) (start int, ok bool) {
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
		if !isLink(word) {
			return 0, false
		}
		end = start
	}
	return 0, false
}

func isDevice(word []byte) bool {
	for _, name := range devices {
		if len(word) >= len(name) && strings.EqualFold(string(word[:len(name)]), name) &&
			(len(word) == len(name) || word[len(name)] < 'a' || word[len(name)] > 'z') {
			return true
		}
	}
	return false
}

func isLink(word []byte) bool {
	for _, link := range links {
		if strings.EqualFold(string(word), link) {
			return true
		}
	}
	return len(word) > 0 && len(bytes.Trim(word, "0123456789")) == 0
}

// requestBefore moves a message's beginning back to what was asked for, where that stands before
// it:
//
//	... allocating 1024.00 MiB on device 0: cudaMalloc failed: out of memory
//	... failed to allocate 1.50G (1610612736 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory
func requestBefore(text []byte, start int) int {
	low := max(0, start-96)
	for _, word := range []string{"allocating ", "failed to allocate ", "allocation of size "} {
		i := bytes.LastIndex(text[low:start], []byte(word))
		if i >= 0 && lex.IsDigit(text[low+i+len(word)]) {
			return low + i
		}
	}
	return start
}

// isDictValue reports whether the text before a message begins a value in a printed dict:
//
//	{'status': 'error', 'error': 'CUDA out of memory. Tried to allocate 20.00 MiB'}
func isDictValue(before []byte) bool {
	return bytes.HasSuffix(before, []byte(`': '`)) || bytes.HasSuffix(before, []byte(`': "`))
}

// isErrorValue reports whether a message is the error of a result that is printed as a dict:
//
//	{'status': 'error', 'error': 'CUDA out of memory'}
func isErrorValue(text []byte, at int) bool {
	before := text[max(0, at-512):at]
	head := lex.TrimBlanks(text[source.MessageStart(text[:at]):])
	return errorKey().Match(before) && len(head) > 0 && head[0] == '{'
}

var errorKey = lex.Expression(`["'](?:error|err|exception|reason)["']: ["'](?:[\w.]+: )?$`)

// isSpokenOf says that a text without any size is a remark or advice, not the error.
func isSpokenOf(text []byte, at int) bool {
	before := bytes.ToLower(text[max(0, at-120):at])
	if isTranscript(text[:at]) {
		return true
	}
	if start := lex.TrimBlanks(
		text,
	); bytes.HasPrefix(start, []byte("#")) ||
		bytes.HasPrefix(start, []byte("//")) {
		return true
	}
	if bytes.Contains(before, []byte(" # ")) {
		return true
	}
	before = lastClause(before)
	for _, word := range []string{"if ", "avoid", "prevent", "when ", "case of ", "might ", "may ", "could ", "can ", "# ", "no ", "without "} {
		i := bytes.Index(before, []byte(word))
		if i == 0 || i > 0 && !lex.IsWordByte(before[i-1]) {
			return true
		}
	}
	rest := text[at:min(len(text), at+96)]
	return bytes.Contains(rest, []byte("memory errors")) || bytes.Contains(rest, []byte("memory? ")) ||
		bytes.Contains(rest, []byte("memory is "))
}

// lastClause returns what stands behind the last colon, where a message is given: words before it
// are on something else. Advice is whole:
//
//	ERROR - no retries left: CUDA out of memory
//	To go on when you see this: CUDA out of memory, lower the batch size.
func lastClause(before []byte) []byte {
	if bytes.Contains(before, []byte("you ")) {
		return before
	}
	rest := bytes.TrimSuffix(before, []byte("cuda error: "))
	return before[bytes.LastIndex(rest, []byte(": "))+1:]
}

// isTranscript says that the text behind these bytes is what a speech model heard:
//
//	[00:00:03.400 --> 00:07:42.600]  so my notebook said CUDA out of memory again
//	[3.40s --> 462.60s] ...
func isTranscript(before []byte) bool {
	const arrow = " --> "
	i := bytes.Index(before, []byte(arrow))
	return i > 0 && (lex.IsDigit(before[i-1]) || before[i-1] == 's') && i+len(arrow) < len(before) &&
		lex.IsDigit(before[i+len(arrow)])
}

// rankBefore is the rank that torchrun puts before a line: "[rank3]: Traceback (most recent call
// last):".
func rankBefore(text []byte) int { return markedRank(text, "[rank") }

// markedRank is the number between these words and a "]", 0 where there is none.
func markedRank(text []byte, mark string) int {
	i := bytes.Index(text[:min(len(text), 256)], []byte(mark))
	if i < 0 {
		return 0
	}
	n, rest, ok := lex.CutInt(text[i+len(mark):])
	if !ok || len(rest) == 0 || rest[0] != ']' {
		return 0
	}
	return n
}
