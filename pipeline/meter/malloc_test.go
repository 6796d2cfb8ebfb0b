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

// A buffer, freed, and then again with something small behind it, as the file after the first does:
// by default the second buffer lies in the heap, where the small thing keeps its room reserved. The
// child process has the allocator to itself.
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
		// Which say how the allocator works, too.
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
			t.Errorf("%s: of a buffer of %d bytes %d stay reserved", m, buffer, stays)
		}
	}
	if _, err := OpenHost("jemalloc"); err == nil ||
		err.Error() != `expected the C allocator fixed or default, found "jemalloc"` {
		t.Errorf("found %v", err)
	}
}

// fragment returns how many bytes stay reserved and unallocated for a buffer that was freed.
func fragment(t *testing.T, m Malloc, buffer int64) int64 {
	runtime.LockOSThread() // else each call may have an arena of its own
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
