// Package allocator is an exact model of PyTorch's CUDA caching allocator. It needs no GPU. The
// same calls give the same addresses, statistics, segments, failures and messages as in PyTorch
// 2.6.0.
//
//	dev := allocator.NewDevice(allocator.DeviceConfig{Total: 16 << 30})
//	conf, err := allocator.ParseConfig(os.Getenv("PYTORCH_CUDA_ALLOC_CONF"))
//	a := allocator.New(dev, conf)
//	b, err := a.Malloc(1<<30, 0) // *OutOfMemoryError: PyTorch's message, and its numbers
//	a.Free(b)
//	a.EmptyCache()               // torch.cuda.empty_cache()
//	a.Stats().Reserved.Peak      // torch.cuda.max_memory_reserved()
//	a.Snapshot()                 // torch.cuda.memory_snapshot()
//
// The rules and constants are those of the native backend in PyTorch v2.6.0,
// c10/cuda/CUDACachingAllocator.cpp and c10/cuda/CUDAAllocatorConfig.cpp. The comment of a function
// here names the PyTorch function that it models. A [Device] models the driver: it counts the
// card's memory and places segments at addresses. Addresses matter: among free blocks of the same
// size, PyTorch uses the one with the lowest address.
//
// Three tests check that the model is exact. make oracle replays traces twice: with PyTorch's own
// library on a fake driver, and with package trace on the model. Both must print the same bytes.
// TestRecorded compares the model with snapshots recorded on real cards. TestInvariants checks the
// allocator's sums after every operation.
//
// Not modelled: the cudaMallocAsync backend, sharing between processes, private pools and CUDA
// graphs.
//
// The model stops where PyTorch itself goes wrong:
//
//   - If a program changes max_split_size_mb while it runs, PyTorch may later free a part of a
//     segment as if the part were the whole segment. The model then returns a [*DriverError],
//     because the driver returns an error to PyTorch. If the part is the first one of the segment,
//     PyTorch gets no error and goes on, although some memory is then in use and free at once.
//   - With max_split_size_mb, PyTorch 2.6.0 reads the size of a block after it has deleted the
//     block (release_available_cached_blocks). The model uses the size that the block had, because
//     this number is nearly always still in memory. The library may crash instead; with
//     GLIBC_TUNABLES=glibc.malloc.tcache_count=65535 glibc leaves the size intact.
//
// Only one goroutine at a time may use an Allocator and its Device.
package allocator
