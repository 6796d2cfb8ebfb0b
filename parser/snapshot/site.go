package snapshot

import (
	"cmp"
	"fmt"
	"strings"
)

// A Site is where memory was allocated, as far as that is the user's business: the innermost line of Python that is the
// program's own, neither PyTorch's nor an installed library's; and the library's innermost line, where that is what asked.
// Without a line of the program's own it is the library's.
type Site struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Library  Frame  `json:"library,omitzero"` // ".../site-packages/whisper/model.py:88 forward"
}

// Sites of blocks that have no stack.
const (
	NoStack = "(no stack recorded)"
	Before  = "(allocated before the recording)"
)

// String is "transcribe.py:40 main", with the whole path: "/home/me/transcribe.py:40 main".
func (s Site) String() string {
	return Frame{Function: s.Function, File: s.File, Line: s.Line}.String()
}

// String is "transcribe.py:40 main", as of a [Site].
func (f Frame) String() string {
	if f.File == "" {
		return f.Function
	}
	return fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Function)
}

// MarshalText writes a frame of JSON as one string.
func (f Frame) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Site is where a stack was recorded.
func (s *Stack) Site() Site {
	if s == nil {
		return Site{Function: NoStack}
	}
	var at, torch, own *Frame
	for _, f := range s.Frames {
		switch {
		case !f.Python():
		case f.isTorch():
			torch = cmp.Or(torch, f)
		default:
			at = cmp.Or(at, f)
			if !f.isLibrary() {
				own = cmp.Or(own, f)
			}
		}
	}
	inner := cmp.Or(at, torch)
	at = cmp.Or(own, inner)
	if at == nil {
		return Site{Function: s.native()}
	}
	site := Site{Function: at.Function, File: at.File, Line: at.Line}
	if inner != at {
		site.Library = *inner
	}
	return site
}

// Outward is a stack as a profile shows it, innermost first: the frames of Python from the innermost that is not PyTorch's own;
// all of Python's where all are PyTorch's. With all it is the whole stack.
func (s *Stack) Outward(all bool) []*Frame {
	if all {
		return s.Frames
	}
	var python []*Frame
	from := 0
	found := false
	for _, f := range s.Frames {
		if !f.Python() {
			continue
		}
		if !found && !f.isTorch() {
			from, found = len(python), true
		}
		python = append(python, f)
	}
	return python[from:]
}

// Python says that a frame is Python's and not C++'s: "train.py", "<stdin>", "<ipython-input-3-5d1a>".
func (f *Frame) Python() bool {
	return strings.HasSuffix(f.File, ".py") || strings.HasPrefix(f.File, "<")
}

// torch says that a line of Python is PyTorch's own, or one that it made:
//
//	/usr/lib/python3/dist-packages/torch/nn/modules/module.py
//	/tmp/torchinductor_me/2x/c2xq.py
//	<eval_with_key>.5
func (f *Frame) isTorch() bool {
	file := strings.ReplaceAll(f.File, `\`, "/")
	if _, inPackages, ok := strings.Cut(file, "-packages/"); ok {
		for _, name := range []string{"torch/", "torchgen/", "functorch/", "triton/"} {
			if strings.HasPrefix(inPackages, name) {
				return true
			}
		}
	}
	return strings.Contains(file, "pytorch/torch/") || strings.Contains(file, "/torchinductor_") ||
		strings.HasPrefix(file, "<eval_with_key>") || strings.HasPrefix(file, "<frozen ")
}

// library says that a line of Python is an installed library's, or Python's own.
func (f *Frame) isLibrary() bool {
	file := strings.ReplaceAll(f.File, `\`, "/")
	return strings.Contains(file, "-packages/") || strings.Contains(file, "/lib/python3")
}

// native is the site of a stack of C++ alone. The backward pass runs in a thread of its own, where no Python is:
//
//	torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor, ...>&&)
func (s *Stack) native() string {
	name := ""
	for _, f := range s.Frames {
		function := strings.ReplaceAll(f.Function, "(anonymous namespace)::", "")
		function, _, _ = strings.Cut(function, "(")
		if node, ok := strings.CutSuffix(function, "::apply"); ok && strings.Contains(node, "Backward") {
			return node[strings.LastIndex(node, ":")+1:] + " (C++)"
		}
		if name == "" && !isAllocatorFunction(function) {
			name = function
		}
	}
	if name == "" {
		return "(C++)"
	}
	return name + " (C++)"
}

// machinery says that a function is of the allocator, or of what is between it and the operator that wanted memory.
func isAllocatorFunction(function string) bool {
	for _, prefix := range []string{"torch::unwind", "torch::CapturedTraceback", "torch::cuda::gather", "c10::", "at::detail::", "at::TensorBase"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return function == "" || function == "??"
}
