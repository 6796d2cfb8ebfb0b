package allocator_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"vramsoak/pipeline/allocator"
)

// TestFreeEnoughButNotInOnePiece: five segments of 20 MiB hold two blocks of 9 MiB each. After four
// blocks are freed, 46 MiB are free, but an allocation of 18 MiB fails. PyTorch's own library
// printed the expected figures and the message for these calls.
func TestFreeEnoughButNotInOnePiece(t *testing.T) {
	dev := allocator.NewDevice(allocator.DeviceConfig{Total: 100 << 20})
	a := allocator.New(dev, allocator.Config{})
	var blocks [11]allocator.Block
	for i := 1; i <= 10; i++ {
		var err error
		if blocks[i], err = a.Malloc(9<<20, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{2, 3, 6, 7} {
		a.Free(blocks[i])
	}
	_, err := a.Malloc(18<<20, 0)
	oom, ok := errors.AsType[*allocator.OutOfMemoryError](err)
	if !ok {
		t.Fatalf("Malloc of 18 MiB: %v, expected out of memory", err)
	}
	want := "CUDA out of memory. Tried to allocate 18.00 MiB. GPU 0 has a total capacity of " +
		"100.00 MiB of which 0 bytes is free." +
		" Of the allocated memory 54.00 MiB is allocated by PyTorch, and 46.00 MiB is reserved " +
		"by PyTorch but unallocated." +
		" If reserved but unallocated memory is large try setting " +
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid" +
		" fragmentation.  See documentation for Memory Management " +
		" (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
	if got := err.Error(); got != want {
		t.Errorf("message\n%s\nexpected\n%s", got, want)
	}
	if oom.LargestFree != 11<<20 {
		t.Errorf("largest free block %d, expected %d", oom.LargestFree, 11<<20)
	}

	a.Free(blocks[1])
	a.EmptyCache()
	b, err := a.Malloc(18<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Address(b); got != 0x7f0000000000 {
		t.Errorf("address %#x, expected that of the freed segment", got)
	}
	s := a.Stats()
	if want := (allocator.Stat{Current: 66060288, Peak: 94371840}); s.Allocated != want {
		t.Errorf("allocated %v, expected %v", s.Allocated, want)
	}
	if want := (allocator.Stat{Current: 102760448, Peak: 104857600}); s.Reserved != want {
		t.Errorf("reserved %v, expected %v", s.Reserved, want)
	}
	if s.Retries != 1 || s.OOMs != 1 || s.DeviceMallocs != 6 || s.DeviceFrees != 1 {
		t.Errorf("retries %d, OOMs %d, mallocs %d, frees %d; expected 1, 1, 6, 1", s.Retries,
			s.OOMs, s.DeviceMallocs, s.DeviceFrees)
	}
}

// TestBadUse: wrong arguments give an error or have no effect.
func TestBadUse(t *testing.T) {
	a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 100 << 20}),
		allocator.Config{})
	for _, size := range []int64{-1, math.MinInt64} {
		if _, err := a.Malloc(size, 0); !isType[*allocator.SizeError](err) {
			t.Errorf("Malloc(%d): %v", size, err)
		}
	}
	for _, size := range []int64{math.MaxInt64, 1<<62 + 1, 1 << 62, 1 << 50, 101 << 20} {
		if _, err := a.Malloc(size, 0); !isType[*allocator.OutOfMemoryError](err) {
			t.Errorf("Malloc(%d): %v", size, err)
		}
	}
	none, err := a.Malloc(0, 0)
	if none != 0 || err != nil {
		t.Errorf("Malloc(0) gives %d, %v", none, err)
	}
	b, err := a.Malloc(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.Free(b)
	for _, h := range []allocator.Block{none, b, 77, math.MaxUint32} {
		a.RecordStream(h, 3)
		a.Free(h)
		if a.Address(h) != 0 || a.Size(h) != 0 {
			t.Errorf("block %d has %d bytes at %#x", h, a.Size(h), a.Address(h))
		}
	}
	for _, f := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if err := a.SetMemoryFraction(f); err == nil {
			t.Errorf("SetMemoryFraction(%g): expected an error", f)
		}
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestOversizePart: if max_split_size_mb is set after a segment was split, PyTorch calls cudaFree
// for a part of the segment, and ends with the driver's error. The model must return this error.
func TestOversizePart(t *testing.T) {
	a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 100 << 20}),
		allocator.Config{})
	big, err := a.Malloc(60_000_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.Free(big)
	if _, err = a.Malloc(5_000_000, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Configure("max_split_size_mb:30"); err != nil {
		t.Fatal(err)
	}
	if _, err = a.Malloc(80_000_000, 0); !isType[*allocator.DriverError](err) {
		t.Errorf("Malloc: %v, expected an error of the driver", err)
	}
	if got := a.LargestFree(); got != 55817216 {
		t.Errorf("the largest free block has %d bytes, expected 55817216", got)
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

// TestFormatSize compares FormatSize with the output of c10::CachingDeviceAllocator::format_size.
func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1024: "1024 bytes", 1025: "1.00 KiB", 1 << 20: "1024.00 KiB",
		1<<20 + 1: "1.00 MiB",
		1 << 30:   "1024.00 MiB", 1<<30 + 1: "1.00 GiB", 25165824000: "23.44 GiB", 5632: "5.50 KiB",
	} {
		if got := allocator.FormatSize(bytes); got != want {
			t.Errorf("%d bytes: %q, expected %q", bytes, got, want)
		}
	}
}

// TestStreamOrder: a streamTable lists streams in the order of PyTorch's hash table. The expected
// orders were printed by a program that uses PyTorch's c10/util/flat_hash_map.h.
func TestStreamOrder(t *testing.T) {
	data, err := os.ReadFile("testdata/stream-order.txt")
	if err != nil {
		t.Fatal(err)
	}
	o := allocator.NewOrder()
	for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		op, arg, _ := strings.Cut(line, " ")
		var s allocator.Stream
		if op == "insert" || op == "erase" {
			if _, err := fmt.Sscan(arg, &s); err != nil {
				t.Fatalf("testdata/stream-order.txt:%d: %v", n+1, err)
			}
		}
		switch op {
		case "insert":
			o.Insert(s)
		case "erase":
			o.Erase(s)
		case "clear":
			o.Clear()
		case "order":
			if got := strings.Trim(fmt.Sprint(o.Streams()), "[]"); got != arg {
				t.Fatalf("testdata/stream-order.txt:%d: %s", n+1, got)
			}
		case "#":
		default:
			t.Fatalf("testdata/stream-order.txt:%d: expected insert, erase, clear or order, found %q", n+1,
				op)
		}
	}
}
