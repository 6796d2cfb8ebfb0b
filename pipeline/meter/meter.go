package meter

import (
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/pipeline/allocator"
)

// A Device is the memory in which a pipeline works: a [GPU] or the [Host].
type Device interface {
	// Read returns at least the allocated, the reserved and the total memory, in exact bytes.
	Read() (record.Reading, error)
	// Trim gives cached memory that nobody uses back to the system, like torch.cuda.empty_cache.
	Trim()
	// Lane identifies the device in log lines.
	Lane() record.Lane
}

// An OutOfMemoryError is an allocation that a device refused. Its message has the form of PyTorch's
// newest out-of-memory message, so that tools which read PyTorch's message also read this one.
type OutOfMemoryError struct {
	Requested int64 // bytes; 0 if unknown
	Device    int
	Reading   record.Reading // Allocated, Reserved and Total at that time
}

func (e *OutOfMemoryError) Error() string {
	r := e.Reading
	allocated, reserved, total := r.Bytes(record.Allocated), r.Bytes(record.Reserved),
		r.Bytes(record.Total)
	requested := "an unknown size"
	if e.Requested > 0 {
		requested = allocator.FormatSize(e.Requested)
	}
	return fmt.Sprintf("out of memory. Tried to allocate %s. Device %d has a total capacity of "+
		"%s of which %s is free. "+
		"Of the allocated memory %s is allocated, and %s is reserved but unallocated.",
		requested, e.Device, allocator.FormatSize(total),
		allocator.FormatSize(max(0, total-reserved)),
		allocator.FormatSize(allocated), allocator.FormatSize(max(0, reserved-allocated)))
}
