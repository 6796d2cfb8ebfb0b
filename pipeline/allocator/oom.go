package allocator

import (
	"fmt"
	"strconv"
)

// An OutOfMemoryError says that an allocation failed even after the allocator had released its
// cache. PyTorch raises torch.cuda.OutOfMemoryError. All sizes are in bytes, at the time of the
// failure.
type OutOfMemoryError struct {
	Size int64 // the caller's request
	// Requested is the size of the segment that the allocator asked the driver for, as in PyTorch's
	// message.
	Requested   int64
	Stream      Stream // the stream of the request
	Fraction    bool   // a memory fraction was set
	Allowed     int64  // the limit of that fraction
	DeviceTotal int64
	DeviceFree  int64
	Allocated   int64
	Reserved    int64
	// LargestFree is the size of the largest free block in the pool of the request.
	LargestFree int64
}

// Error returns PyTorch's message word for word.
func (e *OutOfMemoryError) Error() string {
	return e.Facts() +
		" If reserved but unallocated memory is large try setting" +
		" PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation." +
		"  See documentation for Memory Management " +
		" (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
}

// Request returns the beginning of PyTorch's message, such as "CUDA out of memory. Tried to
// allocate 2.00 GiB".
func (e *OutOfMemoryError) Request() string {
	return "CUDA out of memory. Tried to allocate " + FormatSize(e.Requested)
}

// Facts returns PyTorch's message without its last sentences, the advice to set
// PYTORCH_CUDA_ALLOC_CONF.
func (e *OutOfMemoryError) Facts() string {
	allowed := ""
	if e.Fraction {
		allowed = FormatSize(e.Allowed) + " allowed; "
	}
	return e.Request() +
		". GPU 0 has a total capacity of " + FormatSize(e.DeviceTotal) +
		" of which " + FormatSize(e.DeviceFree) + " is free. " + allowed +
		"Of the allocated memory " + FormatSize(e.Allocated) + " is allocated by PyTorch, and " +
		FormatSize(e.Reserved-e.Allocated) + " is reserved by PyTorch but unallocated."
}

// FormatSize prints a number of bytes as PyTorch's messages do, such as "2.00 GiB" (PyTorch's
// c10::CachingDeviceAllocator::format_size).
func FormatSize(bytes int64) string {
	in := func(unit float64, name string) string {
		return strconv.FormatFloat(float64(bytes)/unit, 'f', 2, 64) + name
	}
	switch {
	case bytes <= 1<<10:
		return strconv.FormatInt(bytes, 10) + " bytes"
	case bytes <= 1<<20:
		return in(1<<10, " KiB")
	case bytes <= 1<<30:
		return in(1<<20, " MiB")
	}
	return in(1<<30, " GiB")
}

// A SizeError is the error for an allocation of a negative size.
type SizeError struct{ Size int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("cannot allocate %d bytes: expected 0 or more", e.Size)
}

// A DriverError is an error of a CUDA call other than out of memory. PyTorch raises the driver's
// error, and the process cannot go on. The cause is a bug of PyTorch, or an exhausted address
// space.
type DriverError struct{ Call, Reason string }

func (e *DriverError) Error() string { return "CUDA error: " + e.Call + ": " + e.Reason }
