// Package meter reads how much memory of a device is in use.
//
// A pipeline measures its own memory with one of two devices. A [GPU] reads the NVIDIA driver
// through NVML. A [Host] reads the C allocator of this process, for machines without a GPU. C++
// code that is called through cgo uses this allocator, so a soak without a GPU still measures real
// memory:
//
//	host, err := meter.OpenHost(meter.MallocFixed)
//	r, err := host.Read() // allocated, reserved, total, to the byte
//
// A harness watches other processes from outside: their memory on GPUs with [View.Use], their host
// memory with [RSS], and the memory of whole GPUs with [View.Occupied].
package meter
