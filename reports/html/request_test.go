package html

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnusualRequest: Decoding takes at most 7,000 - 3,000 = 4,000 MiB in 9 of 10 files, which is
// 3.91 GiB. In file 7 it asks for 14.5 GiB at once, which is 14,848 MiB.
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
				"[pipeline] file-end path=07.wav status=failed\n")
			continue
		}
		reading("Before Decoding Cleanup", 6000)
		reading("After Decoding Cleanup", 3000)
		reading("After Decoding", 3000)
		fmt.Fprintf(&log, "[pipeline] file-end path=%02d.wav status=ok\n", i+1)
	}
	page := judged(t, strings.NewReader(log.String()), "run.log")
	lacks(t, top(t, written(t, page)), "out of memory in file 7", "What to do next",
		"Look at file 7 (07.wav) first: Decoding asked for 14.5 GiB at once there, and took at most "+
			"3.91 GiB in each of the other 9 files")
	e := newEncoder(page.Timeline, page.Report, page.Collected)
	for _, v := range e.doc.Events {
		if v.Kind == "oom" && (v.Level != 3000<<20 || v.Request != 14848<<20) {
			t.Errorf("the chart marks a request of %d bytes at %d", v.Request, v.Level)
		}
	}
}
