package diarization

/*
#include "onnxruntime.h"
#include <stdlib.h>
#include <string.h>

// ONNX Runtime's C interface is a table of functions; these are indices in it. The first 102
// entries never change ("Size of version 1 API cannot change" in onnxruntime_c_api.cc). Objects are
// opaque, and a NULL status means success.
enum {
	error_message = 2, create_env = 3, create_session = 7, run = 9, create_options = 10,
		set_log_severity = 22,
	set_optimization = 23, set_intra_threads = 24, set_inter_threads = 25, input_name = 36,
		output_name = 37,
	create_tensor = 49, element_type = 60, dimensions_count = 61, dimensions = 62,
		type_and_shape = 65, create_memory_info = 69,
	allocator_free = 76, default_allocator = 78, release_env = 92, release_status = 93,
		release_memory_info = 94,
	release_session = 95, release_value = 96, release_shape = 99, release_options = 100
};

enum { float_type = 1, int64_type = 7, max_rank = 8 };

// A trial is a run of a model. The first input is zeros of the given shape. Unless length is 0, the
// second input is a tensor that contains length. The other fields describe the output.
typedef struct {
	int64_t shape[3], length;
	int output;
	int element;
	size_t rank;
	int64_t dims[max_rank];
	char *message; // ONNX Runtime's error; NULL for none
} trial;

#define CALL(index, types, ...) if (!status) status = ((void *(*) types)api[index])(__VA_ARGS__)
#define RELEASE(index, object) if (object) ((void (*)(void *))api[index])(object)

static void try_model(const char *path, trial *t) {
	get_api_base get = find_onnxruntime();
	void *const *api = get ? get()->get_api(1) : NULL;
	if (!api) {
		t->message = strdup("there is no ONNX Runtime");
		return;
	}
	void *env = NULL, *options = NULL, *session = NULL, *status = NULL, *allocator = NULL,
		*memory = NULL, *shape = NULL;
	void *inputs[2] = {NULL, NULL}, *result = NULL;
	char *in[2] = {NULL, NULL}, *out = NULL;
	const int fatal = 4, disabled = 0;
	int n = t->length ? 2 : 1;
	int64_t one = 1;
	size_t size = t->shape[0] * t->shape[1] * t->shape[2] * sizeof(float);
	float *zeros = calloc(1, size);
	if (!zeros) {
		t->message = strdup("Failed to allocate memory for the input");
		return;
	}
	CALL(create_env, (int, const char *, void **), fatal, "check", &env);
	CALL(create_options, (void **), &options);
	CALL(set_log_severity, (void *, int), options, fatal);
	CALL(set_optimization, (void *, int), options, disabled);
	CALL(set_intra_threads, (void *, int), options, 1);
	CALL(set_inter_threads, (void *, int), options, 1);
	CALL(create_session, (void *, const char *, void *, void **), env, path, options, &session);
	CALL(default_allocator, (void **), &allocator);
	for (int i = 0; i < n; i++) CALL(input_name, (void *, size_t, void *, char **), session, i,
		allocator, &in[i]);
	CALL(output_name, (void *, size_t, void *, char **), session, t->output, allocator, &out);
	CALL(create_memory_info, (int, int, void **), 0, 0, &memory);
	CALL(create_tensor, (void *, void *, size_t, const int64_t *, size_t, int, void **), memory,
		zeros, size, t->shape, 3, float_type, &inputs[0]);
	if (n > 1) CALL(create_tensor, (void *, void *, size_t, const int64_t *, size_t, int, void **),
		memory, &t->length, sizeof t->length, &one, 1, int64_type, &inputs[1]);
	CALL(run, (void *, void *, char **, void **, size_t, char **, size_t, void **), session, NULL,
		in, inputs, n, &out, 1, &result);
	CALL(type_and_shape, (void *, void **), result, &shape);
	CALL(element_type, (void *, int *), shape, &t->element);
	CALL(dimensions_count, (void *, size_t *), shape, &t->rank);
	if (t->rank <= max_rank) CALL(dimensions, (void *, int64_t *, size_t), shape, t->dims, t->rank);
	if (status) {
		t->message = strdup(((const char *(*)(void *))api[error_message])(status));
		((void (*)(void *))api[release_status])(status);
	}
	RELEASE(release_shape, shape);
	RELEASE(release_value, result);
	for (int i = 0; i < 2; i++) {
		RELEASE(release_value, inputs[i]);
		if (in[i]) ((void *(*)(void *, void *))api[allocator_free])(allocator, in[i]);
	}
	if (out) ((void *(*)(void *, void *))api[allocator_free])(allocator, out);
	RELEASE(release_memory_info, memory);
	RELEASE(release_session, session);
	RELEASE(release_options, options);
	RELEASE(release_env, env);
	free(zeros);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// ErrOutOfMemory is wrapped by the error of [Try] if memory runs out while the model is loaded or
// run.
var ErrOutOfMemory = errors.New("out of memory")

// SaysOutOfMemory reports whether a text says that memory ran out. The text is a message of ONNX
// Runtime, or the last line that it printed before it ended the process:
//
//	std::bad_alloc
//	Failed to allocate memory for requested buffer of size 268435456
func SaysOutOfMemory(text string) bool {
	return strings.Contains(text, "bad_alloc") || strings.Contains(text,
		"Failed to allocate memory")
}

// A Trial records that ONNX Runtime could run a model. It is valid as long as the file's size and
// modification time are the same.
type Trial struct {
	Path     string
	Size     int64 // bytes
	Modified time.Time
}

var tried = struct {
	sync.Mutex
	files map[string]Trial
}{files: map[string]Trial{}}

// Trials returns the successful trials of this process, so that another process can skip them: see
// [Trust].
func Trials() []Trial {
	tried.Lock()
	defer tried.Unlock()
	return slices.Collect(maps.Values(tried.files))
}

// Trust adds the trials of another process, so that this process does not repeat them.
func Trust(trials []Trial) {
	tried.Lock()
	defer tried.Unlock()
	for _, t := range trials {
		tried.files[t.Path] = t
	}
}

// Try returns an error unless the model at path can be used: it calls [Check] and then lets ONNX
// Runtime run the model on silence. The error may wrap [ErrOutOfMemory].
func Try(path string, kind Kind) error {
	p, err := inspect(path, kind, runtimeLimits())
	if err != nil {
		return err
	}
	return try(path, p)
}

// try makes ONNX Runtime load the model and run it on silence, without sherpa-onnx. It returns an
// error if ONNX Runtime does not know an operator, or if nodes do not fit together; sherpa-onnx
// would end the process. It also checks the shape of the output, which a file may leave open. try
// does not repeat a successful trial of a file, because a trial takes the time and memory of
// loading the model.
func try(path string, p properties) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tried.Lock()
	defer tried.Unlock()
	if t, ok := tried.files[path]; ok && t.Size == info.Size() && t.Modified.Equal(info.ModTime()) {
		return nil
	}
	t := C.trial{length: C.int64_t(p.length), output: C.int(p.output)}
	for i, n := range p.input {
		t.shape[i] = C.int64_t(n)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	C.try_model(name, &t)
	if t.message != nil {
		defer C.free(unsafe.Pointer(t.message))
		if said := C.GoString(t.message); SaysOutOfMemory(said) {
			return fmt.Errorf("%s: %w: ONNX Runtime says: %s", path, ErrOutOfMemory, said)
		}
		return fmt.Errorf(
			"%s: expected a model that ONNX Runtime %s runs, found what it does not: %s", path,
			Version(), C.GoString(t.message))
	}
	dims := make([]int64, t.rank)
	for i := range min(len(dims), len(t.dims)) {
		dims[i] = int64(t.dims[i])
	}
	c := &check{}
	c.result(value{
		name: "of a run on silence", element: int64(t.element), shape: dims,
		hasShape: true,
	}, p)
	if len(c.mistakes) > 0 {
		return fmt.Errorf("%s: %w; export the model anew", path, c.mistakes[0])
	}
	tried.files[path] = Trial{path, info.Size(), info.ModTime()}
	return nil
}

// result checks the output of a model that ran on an input of the shape in p.
func (c *check) result(v value, p properties) {
	if p.dim > 0 {
		c.tensor("output", v, floatType, 1, int64(p.dim))
		return
	}
	c.tensor("output", v, floatType, 1, free, int64(p.classes))
	c.frames(v, p.window/p.frame)
}
