// A fake libcuda.so.1: a card that hands out addresses and counts bytes, and computes nothing.
//
// PyTorch's allocator asks the driver for memory in two ways. The runtime's cudaMalloc returns a
// range of addresses with memory behind it. With expandable segments, the allocator calls cuMem*:
// it reserves addresses first, then creates memory and maps it piece by piece.
#include "device.h"

#include <cuda.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace {

constexpr uint64_t granularity = uint64_t{2} << 20;  // of addresses and of memory, as on real cards
constexpr uint64_t lowest_address = 0x7f0000000000;
constexpr uint64_t end_of_addresses = 0x3fff800000000;  // far away: addresses do not run out

uint64_t round_up(uint64_t bytes) { return (bytes + granularity - 1) / granularity * granularity; }

// size_from returns the bytes in an environment variable such as "100M", or a default if it is not
// set.
uint64_t size_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* suffix;
  const double number = std::strtod(text, &suffix);
  switch (*suffix) {
    case 'k': case 'K': return static_cast<uint64_t>(number * 1024);
    case 'm': case 'M': return static_cast<uint64_t>(number * 1048576);
    case 'g': case 'G': return static_cast<uint64_t>(number * 1073741824);
  }
  return static_cast<uint64_t>(number);
}

// Addresses holds the free ranges of addresses and the taken ones.
class Addresses {
 public:
  Addresses() {
    const char* placement = std::getenv("FAKE_CUDA_VA");
    const bool given = placement != nullptr;
    never_again_ = given && std::strcmp(placement, "up") == 0;
    highest_ = given && std::strcmp(placement, "down") == 0;
    holes_[lowest_address] = end_of_addresses - lowest_address;
  }

  // take returns the address of a new range, or 0 if no hole is large enough.
  uint64_t take(uint64_t bytes) {
    bytes = round_up(bytes);
    if (highest_) {
      for (auto hole = holes_.rbegin(); hole != holes_.rend(); ++hole) {
        if (hole->second >= bytes) return carve(std::prev(hole.base()), hole->second - bytes, bytes);
      }
      return 0;
    }
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second >= bytes) return carve(hole, 0, bytes);
    }
    return 0;
  }

  // give makes a range a hole again, and joins it with the holes next to it.
  bool give(uint64_t address) {
    const auto range = taken_.find(address);
    if (range == taken_.end()) return false;
    const uint64_t bytes = range->second;
    taken_.erase(range);
    if (never_again_) return true;
    auto hole = holes_.emplace(address, bytes).first;
    if (const auto above = std::next(hole); above != holes_.end() && address + bytes == above->first) {
      hole->second += above->second;
      holes_.erase(above);
    }
    if (hole != holes_.begin()) {
      if (const auto below = std::prev(hole); below->first + below->second == address) {
        below->second += hole->second;
        holes_.erase(hole);
      }
    }
    return true;
  }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // bytes by address

  uint64_t carve(Ranges::iterator hole, uint64_t offset, uint64_t bytes) {
    const uint64_t begin = hole->first, rest = hole->second - bytes, address = begin + offset;
    holes_.erase(hole);
    if (rest > 0) holes_[offset == 0 ? begin + bytes : begin] = rest;
    taken_[address] = bytes;
    return address;
  }

  Ranges holes_, taken_;
  bool never_again_, highest_;
};

struct Card {
  std::mutex mutex;
  const uint64_t total = size_from("FAKE_CUDA_TOTAL", uint64_t{80} << 30);
  const uint64_t overhead = size_from("FAKE_CUDA_OVERHEAD", 0);
  uint64_t used = 0;
  Addresses addresses;
  std::map<uint64_t, uint64_t> malloced;  // bytes by address
  std::map<uint64_t, uint64_t> created;   // bytes by handle
  std::map<uint64_t, uint64_t> mapped;    // bytes by address
  uint64_t next_handle = 1;
  FILE* log = open_log();

  bool take(uint64_t bytes) {
    if (used + bytes + overhead > total) return false;
    used += bytes;
    return true;
  }

  static FILE* open_log() {
    const char* path = std::getenv("FAKE_CUDA_LOG");
    if (path == nullptr || *path == '\0') return nullptr;
    return std::strcmp(path, "-") == 0 ? stderr : std::fopen(path, "w");
  }

  __attribute__((format(printf, 2, 3))) void note(const char* format, ...) {
    if (log == nullptr) return;
    va_list values;
    va_start(values, format);
    std::vfprintf(log, format, values);
    va_end(values);
    std::fputc('\n', log);
    std::fflush(log);
  }
};

// card returns the card. It is made at the first call and never destroyed, so that static
// destructors can use it.
Card& card() {
  static Card* one = new Card;
  return *one;
}

using Lock = std::lock_guard<std::mutex>;

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT uint64_t card_malloc(uint64_t bytes) {
  Card& c = card();
  Lock lock(c.mutex);
  const uint64_t whole = round_up(bytes);
  if (!c.take(whole)) {
    c.note("cudaMalloc %lu -> out of memory", bytes);
    return 0;
  }
  const uint64_t address = c.addresses.take(whole);
  c.malloced[address] = whole;
  c.note("cudaMalloc %lu -> 0x%lx", bytes, address);
  return address;
}

EXPORT bool card_free(uint64_t address) {
  Card& c = card();
  Lock lock(c.mutex);
  c.note("cudaFree 0x%lx", address);
  const auto range = c.malloced.find(address);
  if (range == c.malloced.end()) return false;
  c.used -= range->second;
  c.malloced.erase(range);
  return c.addresses.give(address);
}

EXPORT uint64_t card_bytes_free() {
  Lock lock(card().mutex);
  return card().total - card().overhead - card().used;
}

EXPORT uint64_t card_bytes_total() { return card().total; }

EXPORT CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  Card& c = card();
  Lock lock(c.mutex);
  *address = c.addresses.take(bytes);
  c.note("cuMemAddressReserve %zu -> 0x%llx", bytes, *address);
  return *address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t) {
  Card& c = card();
  Lock lock(c.mutex);
  c.note("cuMemAddressFree 0x%llx", address);
  return c.addresses.give(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*, unsigned long long) {
  Card& c = card();
  Lock lock(c.mutex);
  if (bytes % granularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!c.take(bytes)) {
    c.note("cuMemCreate %zu -> out of memory", bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = c.next_handle++;
  c.created[*handle] = bytes;
  c.note("cuMemCreate %zu -> handle %llu", bytes, *handle);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Card& c = card();
  Lock lock(c.mutex);
  c.note("cuMemRelease handle %llu", handle);
  const auto memory = c.created.find(handle);
  if (memory == c.created.end()) return CUDA_ERROR_INVALID_VALUE;
  c.used -= memory->second;
  c.created.erase(memory);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle, unsigned long long) {
  Card& c = card();
  Lock lock(c.mutex);
  c.note("cuMemMap 0x%llx %zu handle %llu", address, bytes, handle);
  const bool known = c.created.count(handle) != 0;
  return known && c.mapped.emplace(address, bytes).second ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  Card& c = card();
  Lock lock(c.mutex);
  c.note("cuMemUnmap 0x%llx %zu", address, bytes);
  const auto range = c.mapped.find(address);
  if (range == c.mapped.end() || range->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  c.mapped.erase(range);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

EXPORT CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = granularity;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 1;  // it can do everything
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorString(CUresult result, const char** text) {
  thread_local char buffer[32];
  std::snprintf(buffer, sizeof buffer, "CUDA error %d", static_cast<int>(result));
  *text = buffer;
  return CUDA_SUCCESS;
}

// c10 looks up these functions before it uses the driver, but a replay never calls them. They are
// for work on the card, for memory of other processes and for several cards.
#define UNUSED(name, ...) \
  EXPORT CUresult name(__VA_ARGS__) { return CUDA_ERROR_NOT_SUPPORTED; }
#undef cuMemsetD32Async
#undef cuStreamWriteValue32
UNUSED(cuMemsetD32Async, CUdeviceptr, unsigned, size_t, CUstream)
UNUSED(cuStreamWriteValue32, CUstream, CUdeviceptr, cuuint32_t, unsigned)
UNUSED(cuMemExportToShareableHandle, void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long)
UNUSED(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType)
UNUSED(cuMulticastCreate, CUmemGenericAllocationHandle*, const CUmulticastObjectProp*)
UNUSED(cuMulticastAddDevice, CUmemGenericAllocationHandle, CUdevice)
UNUSED(cuMulticastBindMem, CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle, size_t, size_t, unsigned long long)

}  // extern "C"
