package onnx

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
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	_ "github.com/k2-fsa/sherpa-onnx-go-linux" // links ONNX Runtime
)

// Version returns the version of the ONNX Runtime in use, such as "1.17.1".
func Version() string { return C.GoString(C.onnxruntime_version()) }

// Library returns the file from which ONNX Runtime was loaded.
func Library() string {
	file := C.GoString(C.onnxruntime_file())
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		return resolved
	}
	return file
}

var runtimeLimits = sync.OnceValue(func() limits { return limitsOf(Version()) })

// limits are the highest versions of the ONNX format that a version of ONNX Runtime accepts.
type limits struct {
	version   string
	ir, opset int64 // 0 if no limit is known
}

// limitsOf returns the limits of a version of ONNX Runtime. They follow from the ONNX release that
// this version implements (docs/Versioning.md in github.com/microsoft/onnxruntime and in
// github.com/onnx/onnx). Versions after 1.20 get no limits. Versions before 1.17 get the limits of
// 1.17.
func limitsOf(version string) limits {
	minor := 0
	if major, rest, ok := strings.Cut(version, "."); ok && major == "1" {
		text, _, _ := strings.Cut(rest, ".")
		minor, _ = strconv.Atoi(text)
	}
	switch {
	case minor == 0 || minor > 20:
		return limits{version: version}
	case minor > 17:
		return limits{version, 10, 21}
	}
	return limits{version, 9, 20}
}
