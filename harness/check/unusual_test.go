package check_test

import (
	"fmt"
	"strings"
	"testing"
)

// decoded returns the log of a file: Decoding begins at a level and has reserved and allocated this
// much, in MiB, before its cleanup.
func decoded(name string, from, allocated, reserved int) string {
	reading := func(at string, allocated, reserved int) string {
		return fmt.Sprintf("[GPU Memory] %s: Allocated: %d.00MB | Reserved: %d.00MB | Total: "+
			"16384.00MB\n", at, allocated, reserved)
	}
	return "[pipeline] file-start path=" + name + "\n" + reading("Before Decoding", from, from) +
		reading("Before Decoding Cleanup", allocated, reserved) +
		reading("After Decoding Cleanup", from, from) + reading("After Decoding", from, from) +
		"[pipeline] file-end path=" + name + " status=ok\n"
}

// failing returns the log of a file in which Decoding begins at a level and cannot have what it
// asks for. The level, what was free and what was allocated are in MiB.
func failing(name string, from int, asked string, free, allocated int) string {
	return fmt.Sprintf("[pipeline] file-start path=%s\n[GPU Memory] Before Decoding: Allocated: "+
		"%d.00MB | Reserved: %d.00MB | Total: 16384.00MB\ntorch.OutOfMemoryError: CUDA out of memory. "+
		"Tried to allocate %s. GPU 0 has a total capacity of 16.00 GiB of which %d.00 MiB is free. Of "+
		"the allocated memory %d.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "+
		"unallocated.\n[pipeline] file-end path=%s status=failed\n",
		name, from, from, asked, free, allocated, name)
}

// onlyBegun returns a log without the checkpoints that end Decoding.
func onlyBegun(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "] After Decoding: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestPeakBeforeInnerStage: the peak that the Before of an inner stage prints is of the outer
// stage: Outer takes up to 9,000 - 1,000 = 8,000 MiB, which is 7.81 GiB.
func TestPeakBeforeInnerStage(t *testing.T) {
	t.Parallel()
	reading := func(at string, allocated, peak int) string {
		return fmt.Sprintf("[GPU Memory] %s: Allocated: %d.00MB | Reserved: %d.00MB | Peak: %d.00MB\n", at,
			allocated, allocated, peak)
	}
	for _, c := range []struct {
		asked string
		want  bool
	}{{"7000.00 MiB", false}, {"9000.00 MiB", true}} {
		log := ""
		for i := range 4 {
			log += fmt.Sprintf("[pipeline] file-start path=%d.wav\n", i+1) +
				reading("Before Outer", 1000, 1000) + reading("Before Inner", 1000, 9000) +
				reading("After Inner", 1000, 2000) + reading("After Outer", 1000, 2000) +
				fmt.Sprintf("[pipeline] file-end path=%d.wav status=ok\n", i+1)
		}
		log += "[pipeline] file-start path=long.wav\n" + reading("Before Outer", 1000, 1000) +
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + c.asked + ". GPU 0 has a " +
			"total capacity of 16.00 GiB of which 8.40 GiB is free.\n" +
			"[pipeline] file-end path=long.wav status=failed\n"
		got := strings.Join(advice(t, log), "\n")
		if said := strings.Contains(got, "took at most 7.81 GiB in each of"); said != c.want {
			t.Errorf("%s: the advice is\n%s", c.asked, got)
		}
		if !c.want && strings.Contains(got, "took at most") {
			t.Errorf("%s: the advice is\n%s", c.asked, got)
		}
	}
}

// TestUnusualInput: Decoding takes between 3,000 and 4,000 MiB of 16 GiB in the usual files, by
// what they allocate and what they reserve.
func TestUnusualInput(t *testing.T) {
	t.Parallel()
	usual := ""
	for i := range 5 {
		usual += decoded(fmt.Sprintf("%d.wav", i+1), 3000, 6000, 7000)
	}
	unbounded := strings.ReplaceAll(usual, "Decoding Cleanup", "Beam Search") // frees unseen
	for _, c := range []struct{ name, log, want, not string }{
		{ // 7000 - 3000 = 4000 MiB = 3.91 GiB
			"a long recording", usual + failing("long.wav", 3000, "14.50 GiB", 13000, 3000),
			"look at file 6 (long.wav) first: Decoding asked for 14.5 GiB at once there, and took at " +
				"most 3.91 GiB in each of the other 5 files; what was left is enough for those: split " +
				"such an input, or refuse it before the batch", "usual",
		},
		{ // 10,240 + (9,000 - 3,000) = 16,240 MiB = 15.86 GiB, and 7,000 + 6,000 MiB were available
			"a long recording that fails late", usual + failing("long.wav", 3000, "10.00 GiB", 7000, 9000),
			"look at file 6 (long.wav) first: Decoding needs at least 15.9 GiB there, and took at most " +
				"3.91 GiB in each of the other 5 files; what was left is enough for those", "usual",
		},
		{ // 3,000 MiB were left for what took up to 4,000
			"a long recording on a device that another process fills",
			usual + failing("long.wav", 3000, "10.00 GiB", 3000, 3000),
			"look at file 6 (long.wav) first: Decoding asked for 10.0 GiB at once there, and took at " +
				"most 3.91 GiB in each of the other 5 files", "what was left is enough",
		},
		{ // 1,024 + (5,500 - 4,000) = 2,524 MiB = 2.46 GiB; 3,000 MiB = 2.93 GiB
			"a usual file", usual + failing("6.wav", 4000, "1.00 GiB", 200, 5500),
			"file 6 (6.wav) is a usual input: Decoding needed 2.46 GiB there, and took up to 2.93 GiB in " +
				"the other 5 files; so look for what holds the memory now, not at this file", "look at file",
		},
		// 3,500 MiB may be usual: the files reserved enough for it, and their checkpoints show less.
		{"between the two", usual + failing("6.wav", 3000, "3500.00 MiB", 200, 3000), "", "file 6"},
		{
			"what the stage took is gone before its last checkpoint",
			unbounded + failing("long.wav", 3000, "14.50 GiB", 13000, 3000), "", "file 6",
		},
		{
			"too few files",
			decoded("1.wav", 3000, 6000, 7000) + decoded("2.wav", 3000, 6000, 7000) +
				failing("long.wav", 3000, "14.50 GiB", 13000, 3000), "", "file 3",
		},
		{ // a peak bounds the need more tightly: 6,500 - 3,000 = 3,500 MiB = 3.42 GiB
			"printed peaks",
			strings.ReplaceAll(usual, "After Decoding: ", "After Decoding: Peak: 6500.00MB | ") +
				failing("long.wav", 3000, "14.50 GiB", 13000, 3000),
			"took at most 3.42 GiB in each of the other 5 files", "usual",
		},
		{ // the stage has no After: 7,000 - 3,000 MiB are the most that a file takes
			"a stage that only its cleanup ends", strings.ReplaceAll(onlyBegun(usual), "Decoding", "Load") +
				onlyBegun(failing("long.wav", 3000, "14.50 GiB", 13000, 3000)),
			"look at file 6 (long.wav) first: it asked for 14.5 GiB at once, and each of the other 5 " +
				"files took at most 3.91 GiB in all; what was left is enough for those", "usual",
		},
		{ // the files would have shown it: 3,500 MiB may be what one of them took
			"no more than a file takes", onlyBegun(usual) +
				onlyBegun(failing("long.wav", 3000, "3500.00 MiB", 200, 3000)), "", "file 6",
		},
		{ // what Search reserved may be gone when Decoding begins
			"a stage without a cleanup before it", strings.ReplaceAll(onlyBegun(usual),
				"[GPU Memory] Before Decoding: ", "[GPU Memory] Before Search: Allocated: 3000.00MB | "+
					"Reserved: 3000.00MB\n[GPU Memory] Before Decoding: ") +
				onlyBegun(failing("long.wav", 3000, "14.50 GiB", 13000, 3000)), "", "file 6",
		},
	} {
		got := strings.Join(advice(t, c.log), "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: the advice is\n%s\nwant %q", c.name, got, c.want)
		}
	}
}

// TestAdviceWithoutSizes: the first message gives no sizes. Those of the second one contradict it:
// more was free than was asked for. The first one is explained as well as it can be.
func TestAdviceWithoutSizes(t *testing.T) {
	t.Parallel()
	log := "[pipeline] file-start path=a.wav\n[GPU Memory] Before Load: Allocated: 1.00GB | Reserved: " +
		"1.00GB | Total: 16.00GB\nRuntimeError: CUDA error: out of memory\n[pipeline] file-end " +
		"path=a.wav status=failed\n[pipeline] file-start path=b.wav\ntorch.OutOfMemoryError: CUDA out " +
		"of memory. Tried to allocate 10.00 MiB. GPU 0 has a total capacity of 16.00 GiB of which 2.00 " +
		"GiB is free.\n[pipeline] file-end path=b.wav status=failed\n"
	got := strings.Join(advice(t, log), "\n")
	if !strings.Contains(got, "the log does not say how much was asked for") {
		t.Errorf("the advice is %q", got)
	}
}
