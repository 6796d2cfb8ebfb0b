package onnx

/*
#include "onnxruntime.h"
#include <stdlib.h>
#include <string.h>

// ONNX Runtime's C interface is a table of functions; these are indices in it. The first 102
// entries never change ("Size of version 1 API cannot change" in onnxruntime_c_api.cc). Objects are
// opaque, and a NULL status means success.
enum {
	error_message = 2, create_env = 3, create_session = 7, run = 9, create_options = 10,
	disable_arena = 19, set_log_severity = 22, set_optimization = 23, set_intra_threads = 24,
	set_inter_threads = 25, create_tensor = 49, tensor_data = 51, element_type = 60,
	dimensions_count = 61, dimensions = 62, type_and_shape = 65, create_memory_info = 69,
	release_env = 92, release_status = 93, release_memory_info = 94, release_session = 95,
	release_value = 96, release_shape = 99, release_options = 100
};

enum { max_inputs = 4, max_rank = 8 };

typedef struct {
	void *const *api;
	void *env, *options, *session, *memory;
} session;

typedef struct {
	char *name;
	int element;
	void *data;
	size_t bytes;
	int64_t *shape;
	size_t rank;
} input;

// A pass is one run of a model: its inputs, and the output that it computes.
typedef struct {
	input inputs[max_inputs];
	int count;
	char *output_name;

	void *output; // ONNX Runtime's value, which holds data
	int element;
	size_t rank;
	int64_t shape[max_rank];
	void *data;
} pass;

#define CALL(api, index, types, ...) \
	if (!status) status = ((void *(*) types)(api)[index])(__VA_ARGS__)
#define RELEASE(api, index, object) if (object) ((void (*)(void *))(api)[index])(object)

// Returns ONNX Runtime's message, which the caller frees, and releases the status. Returns NULL if
// there was no error.
static char *message_of(void *const *api, void *status) {
	if (!status) return NULL;
	char *message = strdup(((const char *(*)(void *))api[error_message])(status));
	((void (*)(void *))api[release_status])(status);
	return message;
}

static char *open_session(session *s, const char *path, int threads, int optimization) {
	get_api_base get = find_onnxruntime();
	void *const *api = s->api = get ? get()->get_api(1) : NULL;
	if (!api) return strdup("there is no ONNX Runtime");
	void *status = NULL;
	const int fatal = 4;
	CALL(api, create_env, (int, const char *, void **), fatal, "onnx", &s->env);
	CALL(api, create_options, (void **), &s->options);
	CALL(api, set_log_severity, (void *, int), s->options, fatal);
	CALL(api, set_optimization, (void *, int), s->options, optimization);
	CALL(api, set_intra_threads, (void *, int), s->options, threads);
	CALL(api, set_inter_threads, (void *, int), s->options, 1);
	CALL(api, disable_arena, (void *), s->options);
	CALL(api, create_session, (void *, const char *, void *, void **), s->env, path, s->options,
		&s->session);
	CALL(api, create_memory_info, (int, int, void **), 0, 0, &s->memory);
	return message_of(api, status);
}

static void close_session(session *s) {
	RELEASE(s->api, release_memory_info, s->memory);
	RELEASE(s->api, release_session, s->session);
	RELEASE(s->api, release_options, s->options);
	RELEASE(s->api, release_env, s->env);
	memset(s, 0, sizeof *s);
}

static char *run_session(session *s, pass *p) {
	void *const *api = s->api;
	void *values[max_inputs] = {0}, *status = NULL, *shape = NULL;
	const char *names[max_inputs];
	for (int i = 0; i < p->count; i++) {
		input *in = &p->inputs[i];
		names[i] = in->name;
		CALL(api, create_tensor, (void *, void *, size_t, const int64_t *, size_t, int, void **),
			s->memory, in->data, in->bytes, in->shape, in->rank, in->element, &values[i]);
	}
	CALL(api, run, (void *, void *, const char **, void **, size_t, char **, size_t, void **),
		s->session, NULL, names, values, p->count, &p->output_name, 1, &p->output);
	CALL(api, type_and_shape, (void *, void **), p->output, &shape);
	CALL(api, element_type, (void *, int *), shape, &p->element);
	CALL(api, dimensions_count, (void *, size_t *), shape, &p->rank);
	if (p->rank <= max_rank) {
		CALL(api, dimensions, (void *, int64_t *, size_t), shape, p->shape, p->rank);
		CALL(api, tensor_data, (void *, void **), p->output, &p->data);
	}
	RELEASE(api, release_shape, shape);
	for (int i = 0; i < p->count; i++) RELEASE(api, release_value, values[i]);
	return message_of(api, status);
}

static void end_pass(session *s, pass *p) {
	RELEASE(s->api, release_value, p->output);
	for (int i = 0; i < p->count; i++) free(p->inputs[i].name);
	free(p->output_name);
	free(p);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// ErrOutOfMemory is wrapped by the error of [Open] and [Session.Run] if memory runs out.
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

// Options say how a session computes.
type Options struct {
	Threads int // threads on the CPU; 0 means 1
	// Plain turns off the optimization of the graph: the model loads faster and computes slower.
	Plain bool
}

// A Session is a model that is loaded into ONNX Runtime. It runs one pass at a time. It gives the
// memory of a pass back when the pass ends, because it uses no arena: an arena keeps the memory of
// the largest pass until the session is closed.
type Session struct {
	path string
	c    C.session
}

// Open loads the model at path. Check the file first: see [Check]. Close the session after use.
func Open(path string, o Options) (*Session, error) {
	const all = 99 // GraphOptimizationLevel: ORT_ENABLE_ALL
	optimization := C.int(all)
	if o.Plain {
		optimization = 0
	}
	s := &Session{path: path}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if err := s.errorOf(C.open_session(&s.c, name, C.int(max(o.Threads, 1)),
		optimization)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close frees the model. Do not use the session afterwards; closing it again does nothing.
func (s *Session) Close() { C.close_session(&s.c) }

// Path returns the path of the model.
func (s *Session) Path() string { return s.path }

// errorOf returns the error for a message of ONNX Runtime, which it frees, or nil for NULL.
func (s *Session) errorOf(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	said := C.GoString(message)
	if SaysOutOfMemory(said) {
		return fmt.Errorf("%s: %w: ONNX Runtime says: %s", s.path, ErrOutOfMemory, said)
	}
	return fmt.Errorf("%s: expected a model that ONNX Runtime %s runs, found what it does not: %s",
		s.path, Version(), said)
}

// An Input is a tensor that a model gets: floats or ints of the given shape, in the order of the
// last dimension.
type Input struct {
	Name   string
	Shape  []int64
	Floats []float32
	Ints   []int64
}

// Run computes the output of this name and calls use with it. An output that is no tensor of floats
// is an error. The data is valid only while use runs.
func (s *Session) Run(inputs []Input, output string,
	use func(v Value, data []float32) error,
) error {
	if len(inputs) > C.max_inputs {
		return fmt.Errorf("%s: expected at most %d inputs, found %d", s.path, C.max_inputs,
			len(inputs))
	}
	// ONNX Runtime reads the data where Go has it. The pass is in C's memory, so the pointers that
	// it holds must be pinned.
	var pinner runtime.Pinner
	defer pinner.Unpin()
	p := (*C.pass)(C.calloc(1, C.sizeof_pass))
	if p == nil {
		return fmt.Errorf("%s: %w", s.path, ErrOutOfMemory)
	}
	defer C.end_pass(&s.c, p)
	p.count, p.output_name = C.int(len(inputs)), C.CString(output)
	for i, in := range inputs {
		c := &p.inputs[i]
		c.name, c.rank = C.CString(in.Name), C.size_t(len(in.Shape))
		pinner.Pin(unsafe.SliceData(in.Shape))
		c.shape = (*C.int64_t)(unsafe.SliceData(in.Shape))
		if in.Ints != nil {
			pinner.Pin(unsafe.SliceData(in.Ints))
			c.element, c.bytes = Int64, C.size_t(8*len(in.Ints))
			c.data = unsafe.Pointer(unsafe.SliceData(in.Ints))
		} else {
			pinner.Pin(unsafe.SliceData(in.Floats))
			c.element, c.bytes = Float, C.size_t(4*len(in.Floats))
			c.data = unsafe.Pointer(unsafe.SliceData(in.Floats))
		}
	}
	if err := s.errorOf(C.run_session(&s.c, p)); err != nil {
		return err
	}
	v := Value{Name: output, Element: int64(p.element), HasShape: true}
	if p.rank > C.max_rank {
		return fmt.Errorf("%s: output %q: expected at most %d dimensions, found %d", s.path, output,
			C.max_rank, p.rank)
	}
	size := 1
	for _, n := range p.shape[:p.rank] {
		v.Shape = append(v.Shape, int64(n))
		size *= int(n)
	}
	if v.Element != Float {
		return fmt.Errorf("%s: output %q: expected elements of type float, found %s", s.path, output,
			elementName(v.Element))
	}
	var data []float32
	if size > 0 {
		data = unsafe.Slice((*float32)(p.data), size)
	}
	return use(v, data)
}
