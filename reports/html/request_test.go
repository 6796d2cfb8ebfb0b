package html

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser/record"
)

// TestUnusualRequest: Decoding takes at most 7,000 - 3,000 = 4,000 MiB in 9 of 10 files, which is
// 3.91 GiB. In file 7 it asks for 14.5 GiB, which is 14,848 MiB, and has taken 500 MiB before.
func TestUnusualRequest(t *testing.T) {
	var log strings.Builder
	for i := range 10 {
		fmt.Fprintf(&log, "[pipeline] file-start path=%02d.wav\n", i+1)
		reading := func(name string, allocated int) {
			fmt.Fprintf(&log, "[GPU Memory] %s: Allocated: %d.00MB | Reserved: 7000.00MB | "+
				"Total: 16384.00MB\n", name, allocated)
		}
		reading("Before Decoding", 3000)
		if i == 6 {
			log.WriteString("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.50 GiB. " +
				"GPU 0 has a total capacity of 16.00 GiB of which 12.20 GiB is free. Of the allocated " +
				"memory 3500.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but " +
				"unallocated.\n" +
				"[pipeline] file-end path=07.wav status=oom\n")
			continue
		}
		reading("Before Decoding Cleanup", 6000)
		reading("After Decoding Cleanup", 3000)
		reading("After Decoding", 3000)
		fmt.Fprintf(&log, "[pipeline] file-end path=%02d.wav status=ok\n", i+1)
	}
	page := judged(t, strings.NewReader(log.String()), "run.log")
	lacks(t, top(t, written(t, page)), "out of memory in file 7", "What to do next",
		"Look at file 7 (07.wav) first: Decoding needs at least 15.0 GiB there, and took at most "+
			"3.91 GiB in each of the other 9 files")
	lacks(t, top(t, written(t, page)), "<dt>Device</dt><dd>device 0, 16.0 GiB</dd>")
	e := newEncoder(page.Timeline, page.Report, page.Collected)
	for _, v := range e.doc.Events {
		// 16 GiB - 12.2 GiB were in use, so that the request reaches above the device.
		if v.Kind == "oom" && (v.Level != 38<<30/10 || v.Request != 14848<<20) {
			t.Errorf("the chart marks a request of %d bytes at %d", v.Request, v.Level)
		}
		if v.Kind == "oom" && v.Text !=
			"out of memory: 14.5 GiB requested, 3.42 GiB allocated, 12.2 GiB free" {
			t.Errorf("the event says %q", v.Text)
		}
		if v.Kind == "failed" {
			t.Errorf("the end of the file counts its failed allocation again: %q", v.Text)
		}
	}
}

// TestInUse: what was in use is the largest amount that the message shows.
func TestInUse(t *testing.T) {
	const gib = 1 << 30
	reading := func(of map[record.Quantity]int64) (r record.Reading) {
		for q, n := range of {
			r.Set(q, record.Size{Bytes: n * gib})
		}
		return r
	}
	for _, c := range []struct {
		of   map[record.Quantity]int64
		want int64
	}{
		{nil, 0},
		{map[record.Quantity]int64{record.Allocated: 4}, 4},
		{map[record.Quantity]int64{record.Allocated: 4, record.Used: 5}, 5},
		{map[record.Quantity]int64{record.Allocated: 4, record.Total: 24, record.Free: 1}, 23},
		{map[record.Quantity]int64{record.Allocated: 4, record.Free: 1}, 4},
	} {
		if got := inUse(&record.OutOfMemory{Reading: reading(c.of)}); got != c.want*gib {
			t.Errorf("%v: %d bytes are in use, want %d GiB", c.of, got, c.want)
		}
	}
}
