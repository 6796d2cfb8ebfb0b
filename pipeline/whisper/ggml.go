//go:build whisper

package whisper

/*
#cgo LDFLAGS: -lwhisper -lggml -lggml-base
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <whisper.h>
#include <ggml-backend.h>

// whisper.cpp's log goes to stderr if verbose is set. The first error of an operation is always
// kept, because the functions return only NULL, and later errors only repeat that something failed.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first_error[512];
static bool verbose;

static void on_log(enum ggml_log_level level, const char *text, void *data) {
	(void)data;
	if (level == GGML_LOG_LEVEL_ERROR) {
		pthread_mutex_lock(&lock);
		if (!first_error[0]) snprintf(first_error, sizeof first_error, "%s", text);
		pthread_mutex_unlock(&lock);
	}
	if (verbose) fputs(text, stderr);
}

static void take_log(bool to_stderr) {
	verbose = to_stderr;
	whisper_log_set(on_log, NULL);
	ggml_log_set(on_log, NULL);
}

static void take_error(char *into, size_t size) {
	pthread_mutex_lock(&lock);
	snprintf(into, size, "%s", first_error);
	first_error[0] = 0;
	pthread_mutex_unlock(&lock);
}

	// Returns the file from which libggml was loaded.
static const char *library(void) {
	Dl_info info;
	return dladdr((void *)ggml_backend_load_all_from_path, &info) ? info.dli_fname : "";
}

static ggml_backend_buffer_t buffer(ggml_backend_dev_t device, size_t size) {
	ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device),
		size);
	if (b) ggml_backend_buffer_clear(b, 0xa5);
	return b;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"vramsoak/parser/record"
)

// A Device is a device that ggml computes on.
type Device struct {
	Name        string // "CUDA0"
	Description string // "NVIDIA H200"
	Bus         string // "0000:c1:00.0"; "" if the device is not on a PCI bus
	GPU         bool   // a GPU with its own memory

	ggml C.ggml_backend_dev_t
}

// Version returns the version of whisper.cpp.
func Version() string { return C.GoString(C.whisper_version()) }

// Init loads ggml's backends and returns the devices that they can use. If verbose is true,
// whisper.cpp's log goes to stderr; otherwise it is dropped. Later calls return the result of the
// first call.
//
// If the backends are plugins, they are in the folder that the environment variable
// WHISPER_BACKENDS names, or beside the library. Init also creates the CUDA context of each GPU,
// which stays until the process ends. So no file seems to take this memory.
func Init(verbose bool) ([]Device, error) { return initOnce(verbose) }

var initOnce = func() func(bool) ([]Device, error) {
	var (
		once    sync.Once
		devices []Device
		err     error
	)
	return func(verbose bool) ([]Device, error) {
		once.Do(func() { devices, err = initialize(verbose) })
		return devices, err
	}
}()

func initialize(verbose bool) ([]Device, error) {
	// Without this variable, ggml starts a debugger on its own process when it aborts, and the
	// debugger can hang.
	if err := os.Setenv("GGML_NO_BACKTRACE", "1"); err != nil {
		return nil, err
	}
	C.take_log(C.bool(verbose))
	if C.ggml_backend_dev_count() == 0 {
		path := C.CString(backends())
		defer C.free(unsafe.Pointer(path))
		C.ggml_backend_load_all_from_path(path)
	}
	if C.ggml_backend_dev_count() == 0 {
		return nil, fmt.Errorf("ggml finds no backend in %s; set WHISPER_BACKENDS to the folder "+
			"of libggml-cpu*.so", backends())
	}
	var devices []Device
	for i := range C.ggml_backend_dev_count() {
		device := C.ggml_backend_dev_get(i)
		var props C.struct_ggml_backend_dev_props
		// ggml asks the GPU for its free memory here, which creates the GPU's context.
		C.ggml_backend_dev_get_props(device, &props)
		devices = append(devices, Device{
			Name:        C.GoString(props.name),
			Description: C.GoString(props.description),
			Bus:         C.GoString(props.device_id),
			GPU:         props._type == C.GGML_BACKEND_DEVICE_TYPE_GPU,
			ggml:        device,
		})
	}
	return devices, nil
}

// backends returns the folder of the backend plugins: WHISPER_BACKENDS if it is set; otherwise the
// folder ggml/backends* beside the library, which distributions use; otherwise the library's own
// folder, where the library's build puts them.
func backends() string {
	if folder := os.Getenv("WHISPER_BACKENDS"); folder != "" {
		return folder
	}
	library := C.GoString(C.library())
	if file, err := filepath.EvalSymlinks(library); err == nil {
		library = file
	}
	folder := filepath.Dir(library)
	if found, err := filepath.Glob(filepath.Join(folder, "ggml", "backends*")); err == nil &&
		len(found) > 0 {
		return found[len(found)-1]
	}
	return folder
}

// ErrOutOfMemory is wrapped by the error of an operation for which ggml could not allocate memory.
var ErrOutOfMemory = errors.New("out of memory")

// Alloc allocates n bytes on the device and writes to them, so that they really take memory. free
// releases them.
func (d Device) Alloc(n int64) (free func(), err error) {
	logError()
	buffer := C.buffer(d.ggml, C.size_t(n))
	if buffer == nil {
		return nil, fmt.Errorf("%s on %s: %w: %s", record.FormatBytes(n), d.Name, ErrOutOfMemory,
			logError())
	}
	return func() { C.ggml_backend_buffer_free(buffer) }, nil
}

// logError returns the first error that whisper.cpp logged since the last call of logError, or "".
func logError() string {
	var text [512]C.char
	C.take_error(&text[0], C.size_t(len(text)))
	return strings.TrimSpace(C.GoString(&text[0]))
}

// explain adds the error that whisper.cpp logged to an error of its Go bindings. If memory ran out,
// the result wraps ErrOutOfMemory.
func explain(err error) error {
	text := logError()
	if text == "" {
		return err
	}
	// These are the messages of CUDA, of a backend's buffer, and of ggml_aligned_malloc.
	if strings.Contains(text, "out of memory") || strings.Contains(text, "failed to allocate") ||
		strings.Contains(text, "insufficient memory") {
		return fmt.Errorf("%w: %w: %s", err, ErrOutOfMemory, text)
	}
	return fmt.Errorf("%w: %s", err, text)
}
