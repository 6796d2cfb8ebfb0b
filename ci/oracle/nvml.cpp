// A fake libnvidia-ml.so.1. For its out-of-memory message, the allocator asks NVML which processes
// hold memory. The fake answers that none do.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#define EXPORT extern "C" __attribute__((visibility("default"))) nvmlReturn_t

EXPORT nvmlInit_v2() { return NVML_SUCCESS; }

EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char*, nvmlDevice_t* device) {
  *device = reinterpret_cast<nvmlDevice_t>(1);
  return NVML_SUCCESS;
}

EXPORT nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t, unsigned* count, nvmlProcessInfo_v1_t*) {
  *count = 0;
  return NVML_SUCCESS;
}

EXPORT nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned, nvmlIntNvLinkDeviceType_t*) {
  return NVML_ERROR_NOT_SUPPORTED;
}

EXPORT nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t, unsigned, nvmlPciInfo_t*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
