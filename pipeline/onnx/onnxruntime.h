// The beginning of OrtApiBase in onnxruntime_c_api.h, which never changes. It is repeated here
// because the Go module of sherpa-onnx contains the library, but not the header.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

typedef struct {
	void *const *(*get_api)(uint32_t version);
	const char *(*get_version)(void);
} api_base;

typedef const api_base *(*get_api_base)(void);

// Returns OrtGetApiBase, or NULL if no ONNX Runtime is loaded.
static inline get_api_base find_onnxruntime(void) {
	return (get_api_base)dlsym(RTLD_DEFAULT, "OrtGetApiBase");
}
