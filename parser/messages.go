package parser

import (
	"regexp"
	"strconv"
	"strings"
)

// outOfMemoryDialect is an allocation that failed, in the words of PyTorch, our native pipeline, CTranslate2 (faster-whisper),
// ggml (whisper.cpp), cuBLAS, cuDNN and ONNX Runtime:
//
//	torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB ...
//	RuntimeError: CUDA failed with error out of memory
//	ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 0: cudaMalloc failed: out of memory
//	RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
//	... bfc_arena.cc: Failed to allocate memory for requested buffer of size 4194304
//
// A quote before it is program source that handles the error, not the error:
//
//	if "CUDA out of memory" in str(e):
var outOfMemoryDialect = dialect{
	name:    "out-of-memory",
	needles: []string{"out of memory", "STATUS_ALLOC_FAILED", "cudaErrorMemoryAllocation", "Failed to allocate memory"},
	read:    readOutOfMemory,
}

var oomPattern = regexp.MustCompile(`(^|[^"'\w])(` +
	`(?:(?:CUDA|HIP|XPU|NPU|MLU) (?:error: )?)?out of memory\. Tried to allocate` +
	`|(?:CUDA|HIP|XPU|NPU|MLU) (?:error: |failed with error )?out of memory(?:[^"'\w]|$)` +
	`|(?:cuda|hip)Malloc\w* failed: out of memory` +
	`|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|cudaErrorMemoryAllocation` +
	`|Failed to allocate memory for requested buffer of size)`)

const sizePattern = `(\d+(?:\.\d+)? ?(?:[KMGT]i?B|bytes|B))`

// oomFields are the parts of the message, in its wordings:
//
//	CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 11.91 GiB total capacity; 9.10 GiB already allocated;
//	1.20 GiB free; 9.60 GiB reserved in total by PyTorch)
//	CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 11.91 GiB of which 1.20 GiB is free.
//	... Of the allocated memory 9.10 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.
var oomFields = struct{ requested, total, free, allocated, reserved, unallocated, device *regexp.Regexp }{
	requested:   regexp.MustCompile(`Tried to allocate ` + sizePattern),
	total:       regexp.MustCompile(sizePattern + ` total capacity|total capac(?:i)?ty of ` + sizePattern),
	free:        regexp.MustCompile(sizePattern + ` (?:is )?free`),
	allocated:   regexp.MustCompile(sizePattern + ` already allocated|allocated memory ` + sizePattern + ` is allocated`),
	reserved:    regexp.MustCompile(sizePattern + ` (?:reserved in total|cached)`),
	unallocated: regexp.MustCompile(sizePattern + ` is reserved (?:by \w+ )?but unallocated`),
	device:      regexp.MustCompile(`(?:GPU|Device|device) (\d{1,4})\b`),
}

func readOutOfMemory(l *line, at int) (end int) {
	from := max(0, at-64)
	m := oomPattern.FindSubmatchIndex(l.text[from:])
	if m == nil {
		return 0
	}
	text := strings.ToValidUTF8(string(l.text[from+m[4]:]), "�")
	o := OutOfMemory{Header: l.header(from + m[4]), Text: shorten(text, 300)}
	find := func(pattern *regexp.Regexp) (Size, bool) {
		for i, group := range pattern.FindStringSubmatch(text) {
			if i > 0 && group != "" {
				size, err := ParseSize(group)
				return size, err == nil
			}
		}
		return Size{}, false
	}
	o.Requested, o.HasRequested = find(oomFields.requested)
	set := func(q Quantity, pattern *regexp.Regexp) {
		if size, ok := find(pattern); ok {
			o.Set(q, size)
		}
	}
	set(Total, oomFields.total)
	set(Free, oomFields.free)
	set(Allocated, oomFields.allocated)
	set(Reserved, oomFields.reserved)
	if extra, ok := find(oomFields.unallocated); ok {
		allocated, _ := o.Get(Allocated)
		o.Set(Reserved, Size{allocated.Bytes + extra.Bytes, allocated.Resolution + extra.Resolution})
	}
	if d := oomFields.device.FindStringSubmatch(text); d != nil {
		o.Lane.Device, _ = strconv.Atoi(d[1])
	}
	l.add(o)
	return len(l.text)
}
