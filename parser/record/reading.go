package record

import (
	"fmt"
	"iter"
	"strings"
)

// A Quantity names one kind of memory reading.
type Quantity uint8

// The quantities, in PyTorch's words (torch.cuda.memory_stats).
const (
	Allocated     Quantity = iota // bytes handed out by the allocator
	Reserved                      // bytes the allocator holds from the driver ("cached" in older logs)
	Total                         // bytes of the device
	Free                          // total minus allocated, or the free memory that the driver reports
	Peak                          // largest allocated since the program last reset it
	PeakReserved                  // largest reserved since the program last reset it
	Active                        // allocated, plus freed blocks that a CUDA stream may still use
	InactiveSplit                 // free pieces of blocks that are partly in use
	Used                          // bytes in use according to the driver (NVML)
	Holds                         // bytes that the next cleanup should free
	Buffer                        // bytes of one buffer or model, which are only a part of allocated
	Pinned                        // page-locked host memory of the process, in bytes
	Quantities                    // the number of quantities
)

// QuantityKeys holds the key of each quantity in the lines that vramsoak writes.
var QuantityKeys = [Quantities]string{
	"allocated", "reserved", "total", "free", "peak", "peak_reserved", "active", "inactive_split",
	"used", "holds", "buffer", "pinned",
}

// String returns the quantity's key: "inactive_split".
func (q Quantity) String() string { return QuantityKeys[q] }

// QuantityByKey maps each key in [QuantityKeys] to its quantity.
var QuantityByKey = func() map[string]Quantity {
	m := make(map[string]Quantity, Quantities)
	for q := range Quantities {
		m[q.String()] = q
	}
	return m
}()

// ParseQuantity returns the quantity with the given key, such as "peak_reserved".
func ParseQuantity(key string) (Quantity, error) {
	if q, ok := QuantityByKey[key]; ok {
		return q, nil
	}
	return 0, fmt.Errorf("expected a quantity (%s), found %q",
		strings.Join(QuantityKeys[:], ", "), key)
}

// A Reading holds the quantities that one line gives. The zero value holds no quantities. Most
// lines give at most four, so a Reading has room for five. A line with more needs an allocation.
type Reading struct {
	// slots says where each quantity's size is stored. It has four bits for each quantity: the
	// number of the quantity's slot, or 0 if the line does not give the quantity. Slots 1 to 5
	// are the elements of sizes, slots 6 and above those of overflow. The four highest bits of
	// slots count the slots in use.
	slots uint64
	sizes [readingSizes]Size
	// overflow is nil if no slot above 5 is in use. Copies of a Reading share the array. So Set
	// makes a new array and never writes into the old one.
	overflow *[Quantities - readingSizes]Size
}

const readingSizes = 5

const _ = 15 - Quantities // fails to compile if a slot number does not fit into four bits

// slot returns the number of a quantity's slot, from 1, or 0 if the line does not give the
// quantity.
func (r *Reading) slot(q Quantity) uint64 { return r.slots >> (4 * q) & 15 }

// Get returns the size of a quantity, and false if the line does not give this quantity.
func (r *Reading) Get(q Quantity) (Size, bool) {
	place := r.slot(q)
	if i := place - 1; i < readingSizes {
		return r.sizes[i], true
	}
	if place == 0 {
		return Size{}, false
	}
	return r.overflow[place-1-readingSizes], true
}

// Cache returns the memory that the allocator holds as a cache: reserved minus allocated. ok is
// false if the line lacks one of these two quantities.
func (r *Reading) Cache() (s Size, ok bool) {
	allocated, ok := r.Get(Allocated)
	reserved, hasReserved := r.Get(Reserved)
	if !ok || !hasReserved {
		return Size{}, false
	}
	if reserved.Bytes < allocated.Bytes {
		return Size{}, true
	}
	return Size{
		Bytes: reserved.Bytes - allocated.Bytes, Resolution: reserved.Resolution + allocated.Resolution,
	}, true
}

// Has reports whether the line gave a quantity.
func (r *Reading) Has(q Quantity) bool { return r.slot(q) != 0 }

// Bytes returns a quantity in bytes, or 0 if the line does not give the quantity.
func (r *Reading) Bytes(q Quantity) int64 {
	s, _ := r.Get(q)
	return s.Bytes
}

// Set sets the size of a quantity.
func (r *Reading) Set(q Quantity, s Size) {
	place := r.slot(q)
	if place == 0 {
		place = r.slots>>60 + 1
		r.slots += 1<<60 | place<<(4*q)
	}
	if place <= readingSizes {
		r.sizes[place-1] = s
		return
	}
	var overflow [Quantities - readingSizes]Size
	if r.overflow != nil {
		overflow = *r.overflow
	}
	overflow[place-1-readingSizes] = s
	r.overflow = &overflow
}

// SameSizes reports whether two readings have the same quantities with the same sizes. Do not
// compare readings with the operator ==. It returns false if their quantities were set in
// different orders.
func (r *Reading) SameSizes(other *Reading) bool {
	if r.Len() != other.Len() {
		return false
	}
	for q, s := range r.All() {
		if o, ok := other.Get(q); !ok || o != s {
			return false
		}
	}
	return true
}

// Len returns the number of quantities that the line gave.
func (r *Reading) Len() int { return int(r.slots >> 60) }

// All ranges over the quantities that the line gave, in the order of their constants.
func (r *Reading) All() iter.Seq2[Quantity, Size] {
	return func(yield func(Quantity, Size) bool) {
		for q := range Quantities {
			if s, ok := r.Get(q); ok && !yield(q, s) {
				return
			}
		}
	}
}
