package allocator

import "slices"

// Placement is the rule by which the modelled driver chooses the address of a segment. The rule of
// the real driver is not documented. Addresses matter only because PyTorch uses, among free blocks
// of the same size, the one with the lowest address.
type Placement int

// The placements that the modelled driver knows.
const (
	FirstFit Placement = iota // the lowest hole that is large enough
	Up                        // each segment above all earlier ones; no address is used twice
	Down                      // the highest hole that is large enough
)

const (
	grain     = 2 << 20                    // cudaMalloc and cuMemCreate give whole pages of 2 MiB
	lowestVA  = uint64(0x7f0000000000)     // the lowest address
	highestVA = uint64(0x7fff00000000) * 8 // the end of all addresses
)

// A DeviceConfig describes a card and its driver.
type DeviceConfig struct {
	Total     int64 // bytes that CUDA reports as the card's memory
	Overhead  int64 // bytes never available: contexts, other processes
	Placement Placement
	// If PendingEvents is true, events of other streams are done only after a synchronization, as
	// if these streams were always busy. Otherwise events are done at once.
	PendingEvents bool
}

// A Device models a card's memory and its driver: cudaMalloc, cudaFree, and the cuMem calls of
// expandable segments.
type Device struct {
	config DeviceConfig
	used   int64  // bytes taken from Total
	holes  []hole // free address ranges, in the order of their addresses; no two touch

	// recorded is the number of the last recorded event, and synced the number of the last event
	// that is known to be done.
	recorded, synced uint64
}

type hole struct{ addr, size uint64 }

// NewDevice returns a device on which nothing is allocated.
func NewDevice(c DeviceConfig) *Device {
	return &Device{config: c, holes: []hole{{lowestVA, highestVA - lowestVA}}}
}

// Free returns the bytes that cudaMemGetInfo reports as free.
func (d *Device) Free() int64 { return d.config.Total - d.config.Overhead - d.used }

// Total returns the bytes that cudaMemGetInfo reports as total.
func (d *Device) Total() int64 { return d.config.Total }

// malloc models cudaMalloc. It takes size bytes, rounded up to whole pages of 2 MiB. ok is false if
// the device has not enough memory or addresses left.
func (d *Device) malloc(size int64) (addr uint64, ok bool) {
	size = pages(size)
	if !d.take(size) {
		return 0, false
	}
	return d.reserve(uint64(size))
}

// free models cudaFree for an address that malloc returned for size bytes. It waits for the device.
func (d *Device) free(addr uint64, size int64) {
	d.synchronize()
	size = pages(size)
	d.used -= size
	d.unreserve(addr, uint64(size))
}

// take models cuMemCreate: it takes size bytes, a multiple of 2 MiB, from the device's free memory.
// It returns false if the device has less free memory.
func (d *Device) take(size int64) bool {
	if size > d.Free() {
		return false
	}
	d.used += size
	return true
}

// give models cuMemRelease: it gives size bytes back to the device.
func (d *Device) give(size int64) { d.used -= size }

// reserve models cuMemAddressReserve: it reserves size bytes of the address space. ok is false if
// no hole in the address space is large enough.
func (d *Device) reserve(size uint64) (addr uint64, ok bool) {
	if d.config.Placement == Down {
		for i := len(d.holes) - 1; i >= 0; i-- {
			if h := &d.holes[i]; h.size >= size {
				h.size -= size
				addr = h.addr + h.size
				if h.size == 0 {
					d.holes = slices.Delete(d.holes, i, i+1)
				}
				return addr, true
			}
		}
		return 0, false
	}
	for i := range d.holes {
		if h := &d.holes[i]; h.size >= size {
			addr = h.addr
			h.addr += size
			h.size -= size
			if h.size == 0 {
				d.holes = slices.Delete(d.holes, i, i+1)
			}
			return addr, true
		}
	}
	return 0, false
}

// unreserve models cuMemAddressFree: it makes addresses free again.
func (d *Device) unreserve(addr, size uint64) {
	if d.config.Placement == Up {
		return
	}
	i, _ := slices.BinarySearchFunc(d.holes, addr, func(h hole, addr uint64) int {
		if h.addr < addr {
			return -1
		}
		return 1
	})
	before := i > 0 && d.holes[i-1].addr+d.holes[i-1].size == addr
	after := i < len(d.holes) && addr+size == d.holes[i].addr
	switch {
	case before && after:
		d.holes[i-1].size += size + d.holes[i].size
		d.holes = slices.Delete(d.holes, i, i+1)
	case before:
		d.holes[i-1].size += size
	case after:
		d.holes[i].addr, d.holes[i].size = addr, size+d.holes[i].size
	default:
		d.holes = slices.Insert(d.holes, i, hole{addr, size})
	}
}

// record models cudaEventRecord. It returns the event's number.
func (d *Device) record() uint64 { d.recorded++; return d.recorded }

// done models cudaEventQuery. It reports whether the event is done.
func (d *Device) done(event uint64) bool { return !d.config.PendingEvents || event <= d.synced }

// synchronize models cudaDeviceSynchronize: all recorded events are done afterwards.
func (d *Device) synchronize() { d.synced = d.recorded }

// pages rounds a size up to whole pages of 2 MiB.
func pages(size int64) int64 { return (size + grain - 1) / grain * grain }
