package meter

/*
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Every page is written: memory that is only promised shows in no reading of the system's, and a
// memset to zero after a malloc is what compilers turn into a calloc that writes nothing.
static void *touched(size_t n) {
	void *p = malloc(n);
	if (p) memset(p, 0xa5, n);
	return p;
}
*/
import "C"

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"vramsoak/parser/record"
)

// A Host is glibc's allocator in this process, read as PyTorch's caching allocator is:
//
//	allocated  uordblks + hblkhd  chunks in use, and blocks that have a mapping of their own
//	reserved   arena + hblkhd     what the allocator holds from the system
//
// mallinfo2 (glibc 2.33) sums over the arenas of all threads. It counts chunks in a thread's cache
// as in use: up to seven of a size, a few KiB in all. Go's own heap is not in it.
type Host struct {
	total int64
}

// A Malloc is how the C allocator works while it is a [Host].
type Malloc string

const (
	// MallocFixed sets two of the allocator's options, so that what is measured is the pipeline and
	// not glibc's adaption to it. The mapping threshold stays at its initial 128 KiB. By default
	// glibc raises it up to 32 MiB whenever a mapped block is freed, so that a buffer that had a
	// mapping of its own for the first file lies in the heap for later ones, where a small survivor
	// above it keeps its pages reserved: over 60 files through whisper.cpp the idle level's
	// reserved went from 17 to 86 MB within six files by default, and to 13 MB with the threshold
	// fixed. And threads share one arena. Which thread runs a cgo call is up to Go's scheduler, and
	// an arena's holes stay reserved when its thread never runs again.
	MallocFixed Malloc = "fixed"
	// MallocDefault leaves the allocator as it is, and so shows how memory fragments in it.
	MallocDefault Malloc = "default"
)

// OpenHost prepares the C allocator to be read, and must run before the allocations to be measured.
// A process has one allocator: what was once fixed stays so.
func OpenHost(m Malloc) (*Host, error) {
	switch m {
	case MallocFixed:
		C.mallopt(C.M_MMAP_THRESHOLD, 128<<10)
		C.mallopt(C.M_ARENA_MAX, 1)
	case MallocDefault:
	default:
		return nil, fmt.Errorf("expected the C allocator fixed or default, found %q", m)
	}
	total, err := HostMemory()
	if err != nil {
		return nil, err
	}
	return &Host{total}, nil
}

// Read implements [Device]. Total is the machine's memory, or what the control group allows where
// that is less.
func (h *Host) Read() (record.Reading, error) {
	info := C.mallinfo2()
	var r record.Reading
	r.Set(record.Allocated, record.Exact(int64(info.uordblks+info.hblkhd)))
	r.Set(record.Reserved, record.Exact(int64(info.arena+info.hblkhd)))
	r.Set(record.Total, record.Exact(h.total))
	return r, nil
}

// Trim implements [Device] by malloc_trim. Reserved falls by the heap's free top; free pages
// between chunks in use go back to the system too, but stay reserved, as a partly used segment does
// in PyTorch.
func (h *Host) Trim() { C.malloc_trim(0) }

// Lane implements [Device].
func (h *Host) Lane() record.Lane { return record.Lane{} }

// A Block is memory of a host. It is not the garbage collector's: who allocates it frees it.
type Block struct {
	p unsafe.Pointer
	n int64
}

// Alloc returns n bytes of touched memory. More than the device has left is an [*OutOfMemoryError],
// and so the machine is not driven into swapping by what would not fit on a GPU either.
func (h *Host) Alloc(n int64) (*Block, error) {
	if n <= 0 {
		return nil, fmt.Errorf("expected to allocate a positive number of bytes, found %d", n)
	}
	r, err := h.Read()
	if err != nil {
		return nil, err
	}
	var p unsafe.Pointer
	if n <= h.total-r.Bytes(record.Allocated) {
		p = C.touched(C.size_t(n))
	}
	if p == nil {
		return nil, &OutOfMemoryError{Requested: n, Reading: r}
	}
	return &Block{p, n}, nil
}

// Len is the block's size in bytes, 0 after Free.
func (b *Block) Len() int64 { return b.n }

// Floats is the block as 32-bit floats. They are gone after Free.
func (b *Block) Floats() []float32 {
	if b.p == nil {
		return nil
	}
	return unsafe.Slice((*float32)(b.p), b.n/4)
}

// Free gives the block back to the allocator. Freeing it again does nothing.
func (b *Block) Free() {
	C.free(b.p)
	b.p, b.n = nil, 0
}

// HostMemory is the machine's memory in bytes, or what the control group allows where that is less.
func HostMemory() (int64, error) { return hostTotal("/proc", "/sys/fs/cgroup") }

// hostTotal is MemTotal, or the least memory.max of the process's control group (version 2) and
// those above it.
func hostTotal(proc, cgroups string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0, err
	}
	kib, err := fieldKiB(data, "MemTotal:")
	if err != nil {
		return 0, fmt.Errorf("%s/meminfo: %w", proc, err)
	}
	total := kib * record.KiB
	membership, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if errors.Is(err, fs.ErrNotExist) {
		return total, nil
	} else if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(membership)) {
		// Version 2 has one line, "0::/user.slice/...".
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for group = filepath.Clean("/" + group); ; group = filepath.Dir(group) {
			// The root group has no limit file, and groups outside a container's view have none to
			// be seen.
			if data, err := os.ReadFile(filepath.Join(cgroups, group, "memory.max")); err == nil {
				if limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10,
					64); err == nil {
					total = min(total, limit) // "max" is no number and no limit
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return total, nil
}

// fieldKiB finds a line "MemTotal:  24612345 kB" and returns its number.
func fieldKiB(data []byte, name string) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 && f[0] == name {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("expected a line %s, found none", name)
}
