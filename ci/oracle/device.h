// The card that the fake driver (driver.cpp) and the fake runtime (runtime.cpp) share: what memory it has, and which.
//
// It is set up by the environment:
//
//   FAKE_CUDA_TOTAL     memory of the card, with a suffix K, M or G; 80G
//   FAKE_CUDA_OVERHEAD  how much of it nobody can have, as the context of a process; 0
//   FAKE_CUDA_VA        where memory comes to lie: firstfit (the lowest hole), up (no address twice), down (the highest)
//   FAKE_CUDA_LOG       a file for one line a call that takes or gives memory; - is standard error
#pragma once
#include <cstdint>

extern "C" {
// card_malloc is cudaMalloc: the address, 0 where there is not memory enough.
uint64_t card_malloc(uint64_t bytes);
// card_free is cudaFree: false where nothing was allocated at the address.
bool card_free(uint64_t address);
uint64_t card_bytes_free();
uint64_t card_bytes_total();
}
