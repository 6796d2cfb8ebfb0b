package diarization

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// ONNX Runtime's C interface, of which the module brings the library and no header: a table of functions whose first 102
// places never change ("Size of version 1 API cannot change" in onnxruntime_c_api.cc). Objects are opaque, a status is NULL
// where all went well.
enum {
	error_message = 2, create_env = 3, create_session = 7, create_options = 10, set_log_severity = 22, set_optimization = 23,
	set_intra_threads = 24, set_inter_threads = 25, release_env = 92, release_status = 93, release_session = 95, release_options = 100
};

typedef struct {
	void *const *(*get_api)(uint32_t version);
	const char *(*get_version)(void);
} api_base;

// load_and_free loads a model and frees it again. It returns what ONNX Runtime has against it, to be freed; NULL for nothing.
static char *load_and_free(const char *path) {
	const api_base *(*get)(void) = (const api_base *(*)(void))dlsym(RTLD_DEFAULT, "OrtGetApiBase");
	void *const *api = get ? get()->get_api(1) : NULL;
	if (!api) return strdup("there is no ONNX Runtime");
	void *env = NULL, *options = NULL, *session = NULL, *status;
	const int fatal = 4, disabled = 0;
	status = ((void *(*)(int, const char *, void **))api[create_env])(fatal, "check", &env);
	if (!status) status = ((void *(*)(void **))api[create_options])(&options);
	if (!status) status = ((void *(*)(void *, int))api[set_log_severity])(options, fatal);
	if (!status) status = ((void *(*)(void *, int))api[set_optimization])(options, disabled);
	if (!status) status = ((void *(*)(void *, int))api[set_intra_threads])(options, 1);
	if (!status) status = ((void *(*)(void *, int))api[set_inter_threads])(options, 1);
	if (!status) status = ((void *(*)(void *, const char *, void *, void **))api[create_session])(env, path, options, &session);
	char *message = NULL;
	if (status) {
		message = strdup(((const char *(*)(void *))api[error_message])(status));
		((void (*)(void *))api[release_status])(status);
	}
	if (session) ((void (*)(void *))api[release_session])(session);
	if (options) ((void (*)(void *))api[release_options])(options);
	if (env) ((void (*)(void *))api[release_env])(env);
	return message;
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// tried are the files that ONNX Runtime has loaded once, with what they were like then.
var tried = struct {
	sync.Mutex
	files map[string]os.FileInfo
}{files: map[string]os.FileInfo{}}

// try has ONNX Runtime load the model, without sherpa-onnx, whose way of loading it ends the process where this one
// returns an error: for an operator that ONNX Runtime does not know, or nodes that do not fit together. A file is tried
// once, for it takes the time and the memory of loading it.
func try(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tried.Lock()
	defer tried.Unlock()
	if t, ok := tried.files[path]; ok && os.SameFile(t, info) && t.Size() == info.Size() && t.ModTime().Equal(info.ModTime()) {
		return nil
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if message := C.load_and_free(name); message != nil {
		defer C.free(unsafe.Pointer(message))
		return fmt.Errorf("%s: expected a model that ONNX Runtime %s loads, found what it does not: %s", path, Version(), C.GoString(message))
	}
	tried.files[path] = info
	return nil
}
