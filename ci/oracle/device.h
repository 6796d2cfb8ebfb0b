// The memory of the card that the fake driver (driver.cpp) and the fake runtime (runtime.cpp)
// share.
//
// Environment variables set it up:
//
//   FAKE_CUDA_TOTAL     memory of the card, with a suffix K, M or G; the default is 80G
//   FAKE_CUDA_OVERHEAD  memory that no allocation gets, like the context of a process; the default
//                       is 0
//   FAKE_CUDA_VA        which addresses an allocation gets: firstfit (the lowest that fit), up (no
//                       address twice) or down (the highest that fit)
//   FAKE_CUDA_LOG       a file that gets one line for each call that allocates or frees memory; - is
//                       standard error
#pragma once
#include <cstdint>

extern "C" {
// card_malloc does the work of cudaMalloc. It returns the address, or 0 if the memory does not
// suffice.
uint64_t card_malloc(uint64_t bytes);
// card_free does the work of cudaFree. It returns false if nothing is allocated at the address.
bool card_free(uint64_t address);
uint64_t card_bytes_free();
uint64_t card_bytes_total();
}
