// Replays a trace through PyTorch's own CUDACachingAllocator. After every operation, it prints the
// allocator's statistics.
//
//   replay [-q] [-t] [-s] TRACE     TRACE is a file, or - for standard input
//
//   -q  no line for each operation
//   -t  a line for each segment that is allocated, freed, mapped or unmapped, and for each failed
//       allocation
//   -s  no snapshot at the end
//
// A trace has one operation a line; # begins a comment:
//
//   a ID SIZE [STREAM]  allocate           f ID         free
//   s ID STREAM         recordStream       y            cudaDeviceSynchronize
//   e                   emptyCache         r            resetPeakStats
//   F FRACTION          setMemoryFraction  c CONF       setAllocatorSettings
//   S                   print a snapshot
//
// EXIT STATUS: 0 replayed; 2 a trace that cannot be read; 3 PyTorch refused an operation.
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <unordered_map>

// libtorch_cuda.so normally gives c10 a function that reports whether a context exists. This
// program does not load that library, so it gives c10 a function that always returns true.
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*has)(DeviceIndex));
}

// PyTorch 2.6.0 reads the size of a block after it has deleted the block
// (release_available_cached_blocks: "release_block(*cur, context); totalReleased +=
// (*cur)->size;"). Mostly the size is still in memory. Sometimes it is not, and PyTorch crashes. So
// that a trace gives the same result every time, this operator frees the memory of a deleted object
// a little later.
void operator delete(void* memory) noexcept {
  static void* waiting[16];
  static unsigned next = 0;
  std::free(waiting[next]);
  waiting[next] = memory;
  next = (next + 1) % 16;
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using Stats = c10::CachingDeviceAllocator::DeviceStats;
using Statistics = c10::CachingDeviceAllocator::StatArray;

constexpr int device = 0;

struct Options {
  bool quiet = false, segments = false, snapshot = true;
  const char* trace = nullptr;
};

// stream_of returns a cudaStream_t for a small number of the trace. It is an aligned pointer.
cudaStream_t stream_of(uint64_t number) { return reinterpret_cast<cudaStream_t>(number * 16); }

void print(const char* name, const Statistics& statistics) {
  const auto& of_both_pools = statistics[0];
  std::printf(" %s=%ld/%ld", name, of_both_pools.current, of_both_pools.peak);
}

void print_stats() {
  const Stats stats = caching::get()->getDeviceStats(device);
  print("alloc", stats.allocated_bytes);
  print("resv", stats.reserved_bytes);
  print("act", stats.active_bytes);
  print("insplit", stats.inactive_split_bytes);
  print("req", stats.requested_bytes);
  print("nseg", stats.segment);
  print("nact", stats.active);
  print("ninsplit", stats.inactive_split);
  std::printf(" retries=%ld ooms=%ld dmalloc=%ld dfree=%ld oversz=%ld/%ld\n", stats.num_alloc_retries, stats.num_ooms,
              stats.num_device_alloc, stats.num_device_free, stats.oversize_allocations.current, stats.oversize_segments.current);
}

void print_snapshot() {
  const auto snapshot = caching::get()->snapshot();
  size_t free, total;
  cudaMemGetInfo(&free, &total);
  std::printf("SNAPSHOT segments=%zu device_free=%zu device_total=%zu\n", snapshot.segments.size(), free, total);
  for (const auto& segment : snapshot.segments) {
    std::printf("  SEG 0x%zx size=%zu alloc=%zu active=%zu stream=%p %s%s\n", segment.address, segment.total_size, segment.allocated_size,
                segment.active_size, static_cast<void*>(segment.stream), segment.is_large ? "large" : "small",
                segment.is_expandable ? " expandable" : "");
    size_t offset = 0;
    for (const auto& block : segment.blocks) {
      const char* state = block.allocated ? "allocated" : block.active ? "active_pending_free" : "inactive";
      std::printf("    +%zu size=%zu req=%zu %s\n", offset, block.size, block.requested_size, state);
      offset += block.size;
    }
  }
}

void print_segment_event(const caching::TraceEntry& entry) {
  const char* name;
  switch (entry.action_) {
    case caching::TraceEntry::SEGMENT_ALLOC: name = "SEGMENT_ALLOC"; break;
    case caching::TraceEntry::SEGMENT_FREE: name = "SEGMENT_FREE"; break;
    case caching::TraceEntry::SEGMENT_MAP: name = "SEGMENT_MAP"; break;
    case caching::TraceEntry::SEGMENT_UNMAP: name = "SEGMENT_UNMAP"; break;
    case caching::TraceEntry::OOM: name = "OOM"; break;
    default: return;
  }
  std::printf("    > %s 0x%zx %zu stream=%p\n", name, entry.addr_, entry.size_, static_cast<void*>(entry.stream_));
}

// A BadTrace is the error for an operation that cannot be carried out.
struct BadTrace : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A Result holds what is printed about an operation, besides the statistics.
struct Result {
  void* pointer = nullptr;
  std::string out_of_memory;  // PyTorch's message
  bool skipped = false;
};

class Replay {
 public:
  Result run(const char* line) {
    Result result;
    char* rest = nullptr;
    const char operation = *line;
    const auto number = [&rest] { return std::strtoull(rest, &rest, 10); };
    rest = const_cast<char*>(line) + 1;
    switch (operation) {
      case 'a': {
        const uint64_t id = number(), bytes = number(), stream = number();
        allocate(id, bytes, stream, result);
        break;
      }
      case 'f': {
        const auto block = live_.find(number());
        if (block == live_.end()) {  // its allocation failed
          result.skipped = true;
          break;
        }
        result.pointer = block->second;
        live_.erase(block);
        caching::raw_delete(result.pointer);
        break;
      }
      case 's': {
        const uint64_t id = number(), stream = number();
        const auto block = live_.find(id);
        if (block == live_.end()) throw BadTrace("expected the id of a live block");
        result.pointer = block->second;
        record_stream(result.pointer, stream);
        break;
      }
      case 'e': caching::emptyCache(); break;
      case 'r': caching::resetPeakStats(device); break;
      case 'y': cudaDeviceSynchronize(); break;
      case 'F': caching::setMemoryFraction(std::strtod(rest, nullptr), device); break;
      case 'c': caching::setAllocatorSettings(rest + std::strspn(rest, " ")); break;
      case 'S': print_snapshot(); break;
      default: throw BadTrace("expected an operation: a, f, s, y, e, r, F, c or S");
    }
    return result;
  }

  size_t live() const { return live_.size(); }
  uint64_t ooms() const { return ooms_; }

 private:
  void allocate(uint64_t id, uint64_t bytes, uint64_t stream, Result& result) {
    if (live_.count(id) != 0) throw BadTrace("expected the id of no live block");
    try {
      result.pointer = caching::raw_alloc_with_stream(bytes, stream_of(stream));
      live_.emplace(id, result.pointer);
    } catch (const c10::OutOfMemoryError& error) {
      ooms_++;
      result.out_of_memory = error.what_without_backtrace();
    }
  }

  // recordStream needs a DataPtr, whose destructor frees the memory. release_context prevents that.
  static void record_stream(void* pointer, uint64_t stream) {
    auto* allocator = caching::get();
    c10::DataPtr data(pointer, pointer, allocator->raw_deleter(), c10::Device(c10::kCUDA, device));
    allocator->recordStream(data, c10::cuda::getStreamFromExternal(stream_of(stream), device));
    data.release_context();
  }

  std::unordered_map<uint64_t, void*> live_;
  uint64_t ooms_ = 0;
};

void print_result(const char* line, const Result& result) {
  std::printf("%-24s", line);
  if (result.skipped) {
    std::printf(" not live (skipped)\n");
    return;
  }
  if (!result.out_of_memory.empty()) {
    std::printf(" OOM");
  } else if (result.pointer != nullptr) {
    std::printf(" 0x%zx", reinterpret_cast<size_t>(result.pointer));
  }
  print_stats();
  if (!result.out_of_memory.empty()) {
    // The rest of the message is advice, which is always the same.
    const std::string facts = result.out_of_memory.substr(0, result.out_of_memory.find(" If reserved"));
    std::printf("    ! %s\n", facts.c_str());
  }
}

int replay(const Options& options, FILE* trace) {
  c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
  caching::init(1);
  if (options.segments) caching::attachAllocatorTraceTracker(print_segment_event);

  Replay replay;
  uint64_t operations = 0, number = 0;
  char* line = nullptr;
  size_t capacity = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (ssize_t length; (length = getline(&line, &capacity, trace)) >= 0;) {
    number++;
    if (length > 0 && line[length - 1] == '\n') line[length - 1] = '\0';
    const char* operation = line + std::strspn(line, " ");
    if (*operation == '\0' || *operation == '#') continue;
    operations++;
    if (options.segments && !options.quiet) std::printf("%s\n", line);
    try {
      const Result result = replay.run(operation);
      if (!options.quiet) print_result(line, result);
    } catch (const BadTrace& error) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s:%lu: %s, found \"%s\"\n", options.trace, number, error.what(), line);
      return 2;
    } catch (const c10::Error& error) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s:%lu: \"%s\": %s\n", options.trace, number, line, error.what_without_backtrace());
      return 3;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("END live=%zu", replay.live());
  print_stats();
  if (options.snapshot) print_snapshot();
  std::fprintf(stderr, "%lu events, %lu out of memory, %.3f s, %.0f events/s, allocator %s\n", operations, replay.ooms(), seconds,
               static_cast<double>(operations) / seconds, caching::get()->name().c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i++) {
    const std::string argument = arguments[i];
    if (argument == "-q") {
      options.quiet = true;
    } else if (argument == "-t") {
      options.segments = true;
    } else if (argument == "-s") {
      options.snapshot = false;
    } else {
      options.trace = arguments[i];
    }
  }
  if (options.trace == nullptr) {
    std::fputs("usage: replay [-q] [-t] [-s] TRACE\n", stderr);
    return 2;
  }
  FILE* trace = std::strcmp(options.trace, "-") == 0 ? stdin : std::fopen(options.trace, "r");
  if (trace == nullptr) {
    std::perror(options.trace);
    return 2;
  }
  int status;
  try {
    status = replay(options, trace);
  } catch (const c10::Error& error) {  // of PYTORCH_CUDA_ALLOC_CONF, read at the first call
    std::fprintf(stderr, "%s\n", error.what_without_backtrace());
    status = 3;
  }
  std::fflush(stdout);
  _exit(status);  // without destructors, because those of c10 expect a driver
}
