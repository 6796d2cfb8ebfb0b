// A fake libcudart.so.12 on the fake driver. It has memory and events.
//
//   FAKE_CUDA_EVENTS  done: an event completes when it is recorded; pending: at the next call that
//                     synchronizes, such as cudaFree
#include "device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

// The number of the last recorded event serves as the time. A replay has one thread.
uint64_t recorded = 1;
uint64_t completed = 0;  // the events up to this number have completed

struct Event {
  uint64_t at = 0;
};

Event* of(cudaEvent_t event) { return reinterpret_cast<Event*>(event); }

bool events_stay_pending() {
  static const char* events = std::getenv("FAKE_CUDA_EVENTS");
  static const bool pending = events != nullptr && std::strcmp(events, "pending") == 0;
  return pending;
}

void synchronize() { completed = recorded; }

cudaError_t last_error = cudaSuccess;

cudaError_t fail(cudaError_t error) {
  last_error = error;
  return error;
}

}  // namespace

// The functions of the runtime have the version libcudart.so.12. build.sh's version script gives it
// to all exported functions.
#define RUNTIME extern "C" __attribute__((visibility("default"))) cudaError_t

RUNTIME cudaMalloc(void** pointer, size_t bytes) {
  *pointer = reinterpret_cast<void*>(card_malloc(bytes));
  return *pointer != nullptr ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

RUNTIME cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  synchronize();
  return card_free(reinterpret_cast<uint64_t>(pointer)) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

RUNTIME cudaMemGetInfo(size_t* free, size_t* total) {
  *free = card_bytes_free();
  *total = card_bytes_total();
  return cudaSuccess;
}

RUNTIME cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}

RUNTIME cudaEventDestroy(cudaEvent_t event) {
  delete of(event);
  return cudaSuccess;
}

RUNTIME cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  of(event)->at = ++recorded;
  return cudaSuccess;
}

RUNTIME cudaEventQuery(cudaEvent_t event) {
  if (!events_stay_pending() || of(event)->at <= completed) return cudaSuccess;
  return cudaErrorNotReady;  // CUDA does not keep this as the last error
}

RUNTIME cudaEventSynchronize(cudaEvent_t event) {
  completed = std::max(completed, of(event)->at);
  return cudaSuccess;
}

RUNTIME cudaDeviceSynchronize() {
  synchronize();
  return cudaSuccess;
}

RUNTIME cudaStreamSynchronize(cudaStream_t) {
  synchronize();
  return cudaSuccess;
}

RUNTIME cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

RUNTIME cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

RUNTIME cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

RUNTIME cudaSetDevice(int device) { return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice); }

RUNTIME cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

#undef cudaGetDeviceProperties
RUNTIME cudaGetDeviceProperties_v2(cudaDeviceProp* card, int) {
  *card = cudaDeviceProp{};
  std::strcpy(card->name, "a card that is not there");
  card->totalGlobalMem = card_bytes_total();
  card->major = 9;  // compute capability, of an H100
  card->multiProcessorCount = 132;
  card->warpSize = 32;
  card->unifiedAddressing = 1;
  return cudaSuccess;
}

RUNTIME cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

RUNTIME cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : error == cudaSuccess ? "no error" : "an error of the fake CUDA runtime";
}

// These functions have nothing to do.
#define NOTHING(name, ...) \
  RUNTIME name(__VA_ARGS__) { return cudaSuccess; }
NOTHING(cudaStreamQuery, cudaStream_t)
NOTHING(cudaStreamWaitEvent, cudaStream_t, cudaEvent_t, unsigned)
NOTHING(cudaThreadExchangeStreamCaptureMode, cudaStreamCaptureMode*)
NOTHING(cudaMemcpy, void*, const void*, size_t, cudaMemcpyKind)
NOTHING(cudaMemcpyAsync, void*, const void*, size_t, cudaMemcpyKind, cudaStream_t)
NOTHING(cudaMemcpyPeerAsync, void*, int, const void*, int, size_t, cudaStream_t)
NOTHING(cudaDeviceEnablePeerAccess, int, unsigned)

// c10 links against these functions, but a replay never calls them. They are for the
// cudaMallocAsync backend, memory of other processes and timing.
#define UNUSED(name, ...) \
  RUNTIME name(__VA_ARGS__) { return fail(cudaErrorNotSupported); }
UNUSED(cudaEventElapsedTime, float*, cudaEvent_t, cudaEvent_t)
UNUSED(cudaStreamCreateWithPriority, cudaStream_t*, unsigned, int)
UNUSED(cudaMallocAsync, void**, size_t, cudaStream_t)
UNUSED(cudaFreeAsync, void*, cudaStream_t)
UNUSED(cudaDeviceGetDefaultMemPool, cudaMemPool_t*, int)
UNUSED(cudaMemPoolGetAttribute, cudaMemPool_t, cudaMemPoolAttr, void*)
UNUSED(cudaMemPoolSetAttribute, cudaMemPool_t, cudaMemPoolAttr, void*)
UNUSED(cudaMemPoolSetAccess, cudaMemPool_t, const cudaMemAccessDesc*, size_t)
UNUSED(cudaMemPoolTrimTo, cudaMemPool_t, size_t)
UNUSED(cudaIpcGetMemHandle, cudaIpcMemHandle_t*, void*)
UNUSED(cudaIpcOpenMemHandle, void**, cudaIpcMemHandle_t, unsigned)
UNUSED(cudaIpcCloseMemHandle, void*)
