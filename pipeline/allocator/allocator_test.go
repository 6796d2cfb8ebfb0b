package allocator_test

import (
	"errors"
	"testing"

	"vramsoak/pipeline/allocator"
)

// The oracle's example: five segments of 20 MiB hold two blocks of 9 MiB each. With four blocks freed, 46 MiB are free, and
// 18 MiB cannot be had. The figures and the message are what PyTorch's own library prints for it.
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
	want := "CUDA out of memory. Tried to allocate 18.00 MiB. GPU 0 has a total capacity of 100.00 MiB of which 0 bytes is free." +
		" Of the allocated memory 54.00 MiB is allocated by PyTorch, and 46.00 MiB is reserved by PyTorch but unallocated." +
		" If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid" +
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
		t.Errorf("address %#x, expected that of the segment that was given back", got)
	}
	s := a.Stats()
	if want := (allocator.Stat{Current: 66060288, Peak: 94371840}); s.Allocated != want {
		t.Errorf("allocated %v, expected %v", s.Allocated, want)
	}
	if want := (allocator.Stat{Current: 102760448, Peak: 104857600}); s.Reserved != want {
		t.Errorf("reserved %v, expected %v", s.Reserved, want)
	}
	if s.Retries != 1 || s.OOMs != 1 || s.DeviceMallocs != 6 || s.DeviceFrees != 1 {
		t.Errorf("retries %d, OOMs %d, mallocs %d, frees %d; expected 1, 1, 6, 1", s.Retries, s.OOMs, s.DeviceMallocs, s.DeviceFrees)
	}
}
