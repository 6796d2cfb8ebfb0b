package meter

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"vramsoak/parser/record"
)

// TestMallocDefaultFragments checks that freed memory stays reserved with the C allocator's default
// options, but not with MallocFixed. As in the second file of a batch, it allocates a buffer for
// the second time and then a small block. By default the second buffer lies in the heap. When it is
// freed, the small block behind it keeps the buffer's memory reserved. The test measures in a child
// process, so that other tests do not change the heap.
func TestMallocDefaultFragments(t *testing.T) {
	const child, buffer = "METER_TEST_MALLOC", 8 << 20
	if m := os.Getenv(child); m != "" {
		fmt.Printf("stay %d\n", fragment(t, Malloc(m), buffer))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for m, most := range map[Malloc]bool{MallocFixed: false, MallocDefault: true} {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestMallocDefaultFragments$")
		// These environment variables would set the allocator's options too.
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "MALLOC_") || strings.HasPrefix(v, "GLIBC_TUNABLES=")
		}), child+"="+string(m))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", m, err, out)
		}
		var stays int64
		_, text, _ := strings.Cut(string(out), "stay ")
		if _, err := fmt.Sscan(text, &stays); err != nil {
			t.Fatalf("%s: found %q", m, out)
		}
		if (stays > buffer/2) != most {
			t.Errorf("%s: %[3]d of the %[2]d bytes of a freed buffer stay reserved", m, buffer, stays)
		}
	}
	if _, err := OpenHost("jemalloc"); err == nil ||
		err.Error() != `expected the C allocator fixed or default, found "jemalloc"` {
		t.Errorf("found %v", err)
	}
}

// fragment allocates and frees a buffer twice. It returns how many bytes more are reserved but
// unallocated after the second time than after the first.
func fragment(t *testing.T, m Malloc, buffer int64) int64 {
	runtime.LockOSThread() // other threads may use other arenas of the C allocator
	h, err := OpenHost(m)
	if err != nil {
		t.Fatal(err)
	}
	alloc := func(n int64) *Block {
		b, err := h.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	unused := func() int64 {
		r, err := h.Read()
		if err != nil {
			t.Fatal(err)
		}
		return r.Bytes(record.Reserved) - r.Bytes(record.Allocated)
	}
	first := alloc(buffer)
	first.Free()
	before := unused()
	second := alloc(buffer)
	survivor := alloc(1 << 10)
	defer survivor.Free()
	second.Free()
	return unused() - before
}
