// The beginning of onnxruntime_c_api.h's OrtApiBase, which never changes. The module brings the library and no header.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

typedef struct {
	void *const *(*get_api)(uint32_t version);
	const char *(*get_version)(void);
} api_base;

typedef const api_base *(*get_api_base)(void);

// NULL where there is no ONNX Runtime.
static inline get_api_base find_onnxruntime(void) { return (get_api_base)dlsym(RTLD_DEFAULT, "OrtGetApiBase"); }
