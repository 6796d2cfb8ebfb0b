// Package allocator models PyTorch's CUDA caching allocator exactly: the same calls give the same
// addresses, statistics, segments, failures and messages as PyTorch 2.6.0 gives on a card, without
// a card.
//
//	dev := allocator.NewDevice(allocator.DeviceConfig{Total: 16 << 30})
//	conf, err := allocator.ParseConfig(os.Getenv("PYTORCH_CUDA_ALLOC_CONF"))
//	a := allocator.New(dev, conf)
//	b, err := a.Malloc(1<<30, 0) // *OutOfMemoryError: PyTorch's message, and what it is made of
//	a.Free(b)
//	a.EmptyCache()               // torch.cuda.empty_cache()
//	a.Stats().Reserved.Peak      // torch.cuda.max_memory_reserved()
//	a.Snapshot()                 // torch.cuda.memory_snapshot()
//
// The rules and the constants are those of the native backend in PyTorch v2.6.0,
// c10/cuda/CUDACachingAllocator.cpp and c10/cuda/CUDAAllocatorConfig.cpp; each function here names
// the one there that it follows. What they stand on, the driver, is a [Device]: it counts the
// card's memory and places segments at addresses, which matters because blocks of one size are
// taken from the lowest address.
//
// That it is exact is tested in three ways: against PyTorch's own library on a fake driver, whose
// lines package trace prints to the last byte (make oracle); against snapshots recorded on real
// cards (TestRecorded); and by what must add up after every operation (TestWhatItKeepsAddsUp).
//
// Not modelled: the cudaMallocAsync backend, sharing between processes, private pools and CUDA
// graphs.
//
// Where PyTorch itself goes wrong, the model stops: it gives a [*DriverError] where
// max_split_size_mb is set while a process runs and a part of a segment is then given back as if it
// were the whole; PyTorch ends there with the driver's error, or, if it was the segment's first
// part, goes on with memory that is in use and free at once. With max_split_size_mb PyTorch 2.6.0
// also reads the size of a block after it deleted it (release_available_cached_blocks); the model
// takes the size that the block had, which is nearly always still there. The library may crash
// instead: glibc leaves it be with GLIBC_TUNABLES=glibc.malloc.tcache_count=65535.
//
// An Allocator and its Device are for one goroutine at a time.
package allocator
