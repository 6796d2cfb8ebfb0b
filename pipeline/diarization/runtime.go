package diarization

/*
#cgo LDFLAGS: -ldl -Wl,-rpath,$ORIGIN/lib
#include "onnxruntime.h"

static const char *onnxruntime_version(void) {
	get_api_base get = find_onnxruntime();
	return get ? get()->get_version() : "";
}

// Returns the file from which ONNX Runtime was loaded.
static const char *onnxruntime_file(void) {
	Dl_info info;
	get_api_base get = find_onnxruntime();
	return get && dladdr((void *)get, &info) ? info.dli_fname : "";
}
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Version returns the version of the ONNX Runtime in use, such as "1.17.1".
func Version() string { return C.GoString(C.onnxruntime_version()) }

// library returns the file from which ONNX Runtime was loaded.
func library() string {
	file := C.GoString(C.onnxruntime_file())
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		return resolved
	}
	return file
}

var runtimeLimits = sync.OnceValue(func() limits { return limitsOf(Version()) })

// checkProvider refuses providers that would end the process ("trt"). It also refuses providers for
// which sherpa-onnx would silently compute on the CPU: unknown names, and CUDA if the library was
// built without CUDA.
func checkProvider(provider string) error {
	switch provider {
	case "cpu":
		return nil
	case "cuda":
		// A build of the library for CUDA has its kernels in another file in the same folder.
		file := library()
		const kernels = "libonnxruntime_providers_cuda.so"
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), kernels)); err != nil {
			return fmt.Errorf("provider cuda: expected an ONNX Runtime that is built for CUDA, "+
				"found %s without %s beside it; "+
				"build with SHERPA_PREFIX set to a GPU build of sherpa-onnx, or use the provider cpu",
				file, kernels)
		}
		return nil
	}
	return fmt.Errorf("provider: expected cpu or cuda, found %q", provider)
}
