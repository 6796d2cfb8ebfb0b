package meter

/*
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// touched allocates n bytes and writes every page, because the system counts only pages that were
// written. It does not write zeros: compilers turn a malloc with a memset to zero into a calloc,
// which writes nothing.
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
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"vramsoak/parser/record"
)

// A Host is the allocator of the C library glibc in this process, read as if it were PyTorch's
// caching allocator. The readings are these fields of mallinfo2 (glibc 2.33):
//
//	allocated  uordblks + hblkhd  chunks in use, and blocks with a mapping of their own
//	reserved   arena + hblkhd     what the allocator holds from the system
//
// The fields are sums over the arenas of all threads. Freed chunks in a thread's cache still count
// as in use: up to seven chunks of each size, a few KiB in all. Go's own heap does not count.
type Host struct {
	total int64
}

// A Malloc says with which options the C allocator works while a [Host] reads it.
type Malloc string

const (
	// MallocFixed sets two of the allocator's options, so that the readings show what the pipeline
	// does, and not how glibc adapts to it.
	//
	// The size from which a block gets its own memory mapping stays at the initial 128 KiB. By
	// default glibc raises this size, up to 32 MiB, whenever a mapped block is freed. A buffer that
	// had its own mapping for the first file then lies in the heap for later files. There, a single
	// small block behind the buffer keeps the buffer's pages reserved after the buffer is freed.
	// Over 60 files through whisper.cpp, the memory reserved between files went from 17 to 86 MB
	// within six files by default, and to 13 MB with the size fixed.
	//
	// All threads share one arena. Otherwise Go's scheduler would decide which thread runs a cgo call,
	// and free memory in an arena would stay reserved if its thread never ran again.
	MallocFixed Malloc = "fixed"
	// MallocDefault leaves the allocator as it is, to show how memory fragments in it.
	MallocDefault Malloc = "default"
)

// OpenHost prepares the C allocator to be read. Call it before the allocations to be measured. A
// process has only one C allocator, so MallocFixed stays in effect until the process ends.
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

// Read implements [Device]. Total is the machine's memory, or the limit of the process's control
// group if that is lower.
func (h *Host) Read() (record.Reading, error) {
	info := C.mallinfo2()
	var r record.Reading
	r.Set(record.Allocated, record.Exact(int64(info.uordblks+info.hblkhd)))
	r.Set(record.Reserved, record.Exact(int64(info.arena+info.hblkhd)))
	r.Set(record.Total, record.Exact(h.total))
	return r, nil
}

// Trim implements [Device] with malloc_trim. Reserved falls by the free memory at the top of the
// heap. Free pages between chunks in use return to the system too, but still count as reserved,
// like a partly used segment in PyTorch.
func (h *Host) Trim() { C.malloc_trim(0) }

// Lane implements [Device].
func (h *Host) Lane() record.Lane { return record.Lane{} }

// A Block is host memory that Go's garbage collector does not manage. The caller of Alloc must free
// it.
type Block struct {
	p unsafe.Pointer
	n int64
}

// Alloc returns n bytes of memory, and writes to each page. If less than n bytes of the total are
// left, it returns an [*OutOfMemoryError], so that the machine does not begin to swap.
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

// Len returns the block's size in bytes, or 0 after Free.
func (b *Block) Len() int64 { return b.n }

// Floats returns the block's memory as 32-bit floats. The floats must not be used after Free.
func (b *Block) Floats() []float32 {
	if b.p == nil {
		return nil
	}
	return unsafe.Slice((*float32)(b.p), b.n/4)
}

// Free returns the block to the allocator. Freeing it again does nothing.
func (b *Block) Free() {
	C.free(b.p)
	b.p, b.n = nil, 0
}

// HostMemory returns the machine's memory in bytes, or the limit of this process's control group if
// that is lower.
func HostMemory() (int64, error) { return hostTotal(procFolder, cgroupFolder, "self") }

// procFolder and cgroupFolder are where the kernel shows processes and control groups.
const (
	procFolder   = "/proc"
	cgroupFolder = "/sys/fs/cgroup"
)

// hostTotal returns MemTotal in bytes, or the lowest memory.max of a process's control group
// (version 2) and the groups above it. proc and cgroups are the folders [procFolder] and
// [cgroupFolder], and of is the process's folder in proc.
func hostTotal(proc, cgroups, of string) (int64, error) {
	total, err := fileKiB(filepath.Join(proc, "meminfo"), "MemTotal:")
	if err != nil {
		return 0, err
	}
	if limit := lowest(proc, cgroups, of, "memory.max"); limit > 0 {
		total = min(total, limit)
	}
	return total, nil
}

// groups ranges over the folders of a process's control group (version 2) and of the groups above
// it. Inside a container, the groups outside the container are not visible.
func groups(proc, cgroups, of string) iter.Seq[string] {
	return func(yield func(string) bool) {
		membership, err := os.ReadFile(filepath.Join(proc, of, "cgroup"))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(membership)) {
			// Version 2 has one line, "0::/user.slice/...".
			group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
			if !ok {
				continue
			}
			for group = filepath.Clean("/" + group); ; group = filepath.Dir(group) {
				if !yield(filepath.Join(cgroups, group)) {
					return
				}
				if group == "/" {
					break
				}
			}
		}
	}
}

// fileKiB returns the bytes in a line of a file such as "MemTotal: 24612345 kB".
func fileKiB(path, name string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	kib, err := fieldKiB(data, name)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return kib * record.KiB, nil
}

// fieldKiB returns the number in a line such as "MemTotal: 24612345 kB".
func fieldKiB(data []byte, name string) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 && f[0] == name {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("expected a line %s, found none", name)
}
