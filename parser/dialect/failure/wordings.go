package failure

import (
	"bytes"
	"regexp"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// A knownWording is the message of a failed allocation in one program's words.
type knownWording struct {
	needle string
	// shape matches the message from the needle on. If it is nil, the needle suffices.
	shape func() *regexp.Regexp
	// begin is the text at which the message begins, at most beginMax bytes before the needle. The
	// line must have it. If it is empty, the message begins with the needle.
	begin string
	// follows is set if the program prints this message after another one for the same failure. It
	// then counts only if the lines before it do not have the other message.
	follows bool
}

const (
	beginMax = 256
	shapeMax = 400 // the most bytes behind the needle that a shape matches
)

// wordings are messages that do not say "out of memory", or say it only in the name of an error:
//
//	RuntimeError: Invalid buffer size: 16.00 GiB                        PyTorch on MPS
//	RuntimeError: No executable batch size found, reached zero.         accelerate
//	... Attempting to allocate 1.50G. That was not possible. ...        XLA on TPUs
//	[metal::malloc] Attempting to allocate 9 bytes which is greater ... MLX
var wordings = []knownWording{
	{
		needle: "Invalid buffer size: ", begin: "RuntimeError: ",
		shape: lex.Expression(`^Invalid buffer size: \d[\d.]* [KMGT]i?B`),
	},
	{
		needle: "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
		shape:  lex.Expression(`^HSA_STATUS_ERROR_OUT_OF_RESOURCES.*Available Free mem : `),
	},
	{
		needle: "No executable batch size found",
		shape:  lex.Expression(`^No executable batch size found, reached zero`),
	},
	{
		needle: "Attempting to allocate ",
		shape: lex.Expression(`^Attempting to allocate \d[\d.]* ?\w*(?:\. That was not possible|` +
			` which is greater than the maximum allowed buffer size)`),
	},
	{
		needle: "Attempting to reserve ",
		shape: lex.Expression(`^Attempting to reserve \d[\d.]* ?\w*(?: at the bottom of memory)?` +
			`\. That was not possible`),
	},
	{
		needle: "Failed to allocate request for ",
		shape:  lex.Expression(`^Failed to allocate request for [^:]{1,64} on device ordinal \d`),
	},
	{needle: "Maximum pool size exceeded", begin: "RMM failure at"},
	{needle: "is smaller than requested bytes of ", begin: "Available memory of "},
	{needle: "memory isn't enough and alloc failed", begin: "Device"},
	{
		needle: "Failed to CUDA ", follows: true,
		shape: lex.Expression(`^Failed to CUDA [cm]alloc(?: async)? \d+ bytes`),
	},
	{
		needle: "can't allocate ",
		shape:  lex.Expression(`^can't allocate \d+ Bytes of memory on device`),
	},
	{
		needle: "unable to allocate ", follows: true,
		shape: lex.Expression(`^unable to allocate (?:CUDA|ROCm|HIP|MUSA|Vulkan|SYCL|MTL|Metal|CANN|` +
			`OpenCL|GPUOpenCL)\d* buffer`),
	},
	{
		needle: "failed to allocate compute ", follows: true,
		shape: lex.Expression(`^failed to allocate compute (?:\w+ )?buffers?\b`),
	},
	{
		needle: "Device memory allocation of size ",
		shape:  lex.Expression(`^Device memory allocation of size \d+ failed\.?\s*$`),
	},
	{
		needle: "Error allocating ",
		shape:  lex.Expression(`^Error allocating \d+ bytes of device memory`),
	},
	{needle: "Failed to allocate memory.", begin: "EL0004: "}, // Ascend
	{needle: "lloc device memory failed", follows: true},
	{needle: "Call rtMalloc fail", follows: true},
	{needle: "GPU memory allocation failed", shape: allocationFailed},
	{needle: "evice memory allocation failed", shape: allocationFailed},
	{needle: "emory allocation on ", shape: allocationFailed},
	{
		needle: "Malloc failed", // of cudaMalloc and hipMalloc, without the reason
		shape:  lex.Expression(`^Malloc failed(?:!|\.| for [^:]{1,64})?\s*$`), begin: "cuda",
	},
	{needle: "GPU OutOfMemory", begin: "OOM: "}, // com.nvidia.spark.rapids.jni.GpuRetryOOM: ...
}

// allocationFailed matches the words of a failed allocation up to their end. It does not match
// "GPU memory allocation failed to be profiled".
var allocationFailed = lex.Expression(
	`^(?:\w+ m)?emory allocation (?:on (?:the )?(?:device|GPU) )?failed` +
		`(?:\s*$|[.!:,;"'\\)]| [(*-]| (?:for|on|at|with|in|during|while|when) )`)

// needlesOf returns the needles of a list of wordings.
func needlesOf(list []knownWording) (needles []string) {
	for _, w := range list {
		needles = append(needles, w.needle)
	}
	return needles
}

// locateWording returns the offset at which the message begins that has the needle of one of
// wordings at the offset `at`. known is false if there is no such needle. start is -1 if the text
// around the needle is not the message.
func locateWording(l *scan.Line, at int) (start int, known bool) {
	text := l.Text
	for i := range wordings {
		w := &wordings[i]
		if !bytes.HasPrefix(text[at:], []byte(w.needle)) {
			continue
		}
		rest := text[at:min(len(text), at+shapeMax)]
		if w.shape != nil && !w.shape().Match(rest) || w.follows && hasReason(l) {
			return -1, true
		}
		start = at
		if w.begin != "" {
			from := max(0, at-beginMax)
			i := bytes.LastIndex(text[from:at], []byte(w.begin))
			if i < 0 {
				return -1, true
			}
			start = from + i
		}
		return start, true
	}
	return -1, false
}
