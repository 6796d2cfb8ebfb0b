package meter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

func openHost(t *testing.T) *Host {
	t.Helper()
	h, err := OpenHost(MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func read(t *testing.T, d Device) (allocated, reserved int64) {
	t.Helper()
	r, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r.Bytes(record.Allocated), r.Bytes(record.Reserved)
}

// slack is the number of bytes that threads of Go's runtime may allocate if they start during the
// test.
const slack = 32 << 10

// TestHostCountsWhatIsAllocated: a chunk takes 8 bytes more than its size, rounded up to a multiple
// of 16. A block with its own mapping takes whole pages.
func TestHostCountsWhatIsAllocated(t *testing.T) {
	h := openHost(t)
	for _, n := range []int64{64 << 10, 1 << 20, 100 << 20} {
		before, reservedBefore := read(t, h)
		block, err := h.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		during, reserved := read(t, h)
		if grown := during - before; grown < n || grown > n+4096+16+slack {
			t.Errorf("%d bytes allocated: the ledger grew by %d", n, grown)
		}
		if reserved < during {
			t.Errorf("reserved %d is less than allocated %d", reserved, during)
		}
		if got := int64(len(block.Floats())); got != n/4 || block.Len() != n {
			t.Errorf("a block of %d bytes has %d floats and a length of %d", n, got, block.Len())
		}
		block.Free()
		block.Free() // does nothing
		h.Trim()
		after, reservedAfter := read(t, h)
		if after-before > slack {
			t.Errorf("%d bytes freed: the ledger still has %d of them", n, after-before)
		}
		if reservedAfter-reservedBefore > 256<<10 {
			t.Errorf("%d bytes freed and trimmed: %d stay reserved", n,
				reservedAfter-reservedBefore)
		}
	}
}

// TestHostSumsThreads: the readings count the blocks that several threads allocate, also after
// these threads have ended.
func TestHostSumsThreads(t *testing.T) {
	h := openHost(t)
	const threads, blocks, n = 8, 16, 100 << 10
	before, _ := read(t, h)
	held := make([][]*Block, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			// The thread stays locked, so it ends with the goroutine. The blocks stay allocated.
			runtime.LockOSThread()
			for range blocks {
				block, err := h.Alloc(n)
				if err != nil {
					t.Error(err)
					return
				}
				held[i] = append(held[i], block)
			}
		})
	}
	wg.Wait()
	during, _ := read(t, h)
	if want, got := int64(threads*blocks*n), during-before; got < want-slack ||
		got > want+want/100+slack {
		t.Errorf("%d threads allocated %d bytes: the ledger grew by %d", threads, want, got)
	}
	for _, thread := range held {
		for _, block := range thread {
			block.Free()
		}
	}
	if after, _ := read(t, h); after-before > slack {
		t.Errorf("freed from another thread: %d bytes stay allocated", after-before)
	}
}

func TestHostRefusesMoreThanThereIs(t *testing.T) {
	h := openHost(t)
	_, err := h.Alloc(2 * h.total)
	oom, ok := errors.AsType[*OutOfMemoryError](err)
	if !ok {
		t.Fatalf("twice the device: expected an OutOfMemoryError, found %v", err)
	}
	if oom.Requested != 2*h.total || oom.Reading.Bytes(record.Total) != h.total {
		t.Errorf("wrong sizes: %+v", oom)
	}
	if _, err := h.Alloc(0); err == nil {
		t.Error("0 bytes: expected an error")
	}
}

func TestOutOfMemoryErrorReadsAsPyTorchs(t *testing.T) {
	err := &OutOfMemoryError{Requested: 46<<30 + 717<<20}
	err.Reading.Set(record.Allocated, record.Exact(51<<20+205<<10))
	err.Reading.Set(record.Reserved, record.Exact(54<<20+307<<10))
	err.Reading.Set(record.Total, record.Exact(24<<30))
	want := "out of memory. Tried to allocate 46.70 GiB. Device 0 has a total capacity of 24.00 " +
		"GiB of which 23.95 GiB is free. " +
		"Of the allocated memory 51.20 MiB is allocated, and 3.10 MiB is reserved but unallocated."
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	var found int
	for rec, readErr := range parser.Read(strings.NewReader("2026-11-20T02:00:03.123Z ERROR: "+
		err.Error()+"\n"), "log") {
		if readErr != nil {
			t.Fatal(readErr)
		}
		o, ok := rec.(record.OutOfMemory)
		if !ok {
			t.Fatalf("expected an OutOfMemory, found %#v", rec)
		}
		found++
		if o.Requested.Low() > err.Requested || o.Requested.High() < err.Requested ||
			o.Bytes(record.Total) != 24<<30 {
			t.Errorf("the parser reads other sizes: %+v", o)
		}
	}
	if found != 1 {
		t.Errorf("the parser finds %d OutOfMemory records", found)
	}
	if got := (&OutOfMemoryError{}).Error(); !strings.Contains(got,
		"Tried to allocate an unknown size. Device 0") {
		t.Errorf("no size known: %s", got)
	}
}

func TestHostTotalIsTheLeastLimit(t *testing.T) {
	const memTotal = 16 << 30
	for _, test := range []struct {
		name   string
		group  string            // /proc/self/cgroup
		limits map[string]string // group to memory.max
		want   int64
	}{
		{"no groups", "", nil, memTotal},
		{"no limit", "0::/job\n", map[string]string{"job": "max\n"}, memTotal},
		{"own limit", "0::/job\n", map[string]string{"job": "1073741824\n"}, 1 << 30},
		{
			"limit above", "0::/a/b/c\n",
			map[string]string{"a": "2147483648\n", "a/b/c": "max\n"},
			2 << 30,
		},
		{"container's root", "0::/\n", map[string]string{".": "536870912\n"}, 512 << 20},
		{"more than there is", "0::/job\n", map[string]string{"job": "1099511627776\n"}, memTotal},
		{"version 1", "4:memory:/job\n", map[string]string{"job": "1073741824\n"}, memTotal},
		{"outside the view", "0::/../../system\n", nil, memTotal},
	} {
		t.Run(test.name, func(t *testing.T) {
			proc, groups := t.TempDir(), t.TempDir()
			put := func(path, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			put(filepath.Join(proc, "meminfo"),
				"MemTotal:       16777216 kB\nMemFree:         1234 kB\n")
			if test.group != "" {
				put(filepath.Join(proc, "self/cgroup"), test.group)
			}
			for group, limit := range test.limits {
				put(filepath.Join(groups, group, "memory.max"), limit)
			}
			got, err := hostTotal(proc, groups, "self")
			if err != nil || got != test.want {
				t.Errorf("expected %d, found %d, %v", test.want, got, err)
			}
		})
	}
	if _, err := hostTotal(t.TempDir(), t.TempDir(), "self"); err == nil {
		t.Error("no meminfo: expected an error")
	}
}

func TestRSSFollowsTouchedMemory(t *testing.T) {
	h := openHost(t)
	before, err := RSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const n = 64 << 20
	block, err := h.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	defer block.Free()
	during, err := RSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if grown := during - before; grown < n-(4<<20) || grown > n+(32<<20) {
		t.Errorf("%d bytes touched: the resident set grew by %d", n, grown)
	}
	if _, err := RSS(1 << 30); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("no such process: found %v", err)
	}
}
