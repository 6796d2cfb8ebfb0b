package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// advice judges a log and returns the advice on its failed allocations.
func advice(t *testing.T, log string) []string {
	t.Helper()
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check == check.OutOfMemory {
			return f.Advice
		}
	}
	return nil
}

// TestAdvice gives advice on failed allocations. Each line must follow from the numbers of the log.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const (
		lacked = "the request lacked %s of %s, and the log shows no memory that a setting would give " +
			"back: take a smaller batch or model, or a larger card; vramsoak validate finds what fits " +
			"(docs/how-to/validate.md)"
		training = "training: gradient accumulation, activation checkpointing and mixed precision also " +
			"need less memory; how much is not known from this log: run vramsoak soak with and without " +
			"one, and vramsoak compare measures it"
		enough = "; that alone is enough for it"
	)
	oom := func(requested, total, free, middle, allocated, unused string) string {
		return fmt.Sprintf("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU 0 "+
			"has a total capacity of %s of which %s is free. %sOf the allocated memory %s is allocated by "+
			"PyTorch, and %s is reserved by PyTorch but unallocated.\n",
			requested, total, free, middle, allocated, unused)
	}
	leaking := func(files int) string {
		var b strings.Builder
		for i := range files { // 100 MiB a file
			fmt.Fprintf(&b, "[pipeline] file-start path=%d.wav\n[GPU Memory] After File: Allocated: "+
				"%dMB\n[pipeline] file-end path=%d.wav status=ok\n", i, 1024+i*100, i)
		}
		return b.String() + "[pipeline] file-start path=last.wav\n"
	}
	for _, c := range []struct {
		name, log string
		want      []string
	}{
		{
			"the cache holds more than the request",
			oom("512.00 MiB", "16.00 GiB", "100.00 MiB", "", "14.80 GiB", "900.00 MiB"),
			[]string{"fragmentation: 900 MiB is reserved and not allocated, more than the 512 MiB that " +
				"was asked for, but in pieces; set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
		},
		{ // 193 of 16,384 MiB: no setting of the allocator makes the work fit
			"a small request on a full device",
			oom("12.00 MiB", "16.00 GiB", "8.00 MiB", "", "15.40 GiB", "185.00 MiB"),
			[]string{"the device is full: of 16.0 GiB only 193 MiB is free, in pieces; take a smaller " +
				"batch or model, or a larger card; vramsoak validate finds what fits " +
				"(docs/how-to/validate.md)"},
		},
		{ // 16 - 2 - 10 = 4 GiB
			"something outside of the allocator",
			oom("3.00 GiB", "16.00 GiB", "2.00 GiB", "", "10.00 GiB", "0 bytes"),
			[]string{"4.00 GiB of the device is held outside of this program's allocator: a CUDA context " +
				"takes up to 696 MiB, the rest is other processes or libraries; nvidia-smi lists the " +
				"processes"},
		},
		{
			"data that was loaded before",
			"[pipeline] file-start path=a.wav\n[GPU Memory] Before Epoch: Allocated: 13.00GB | Reserved: " +
				"13.00GB | Total: 16.00GB\n" +
				oom("2.00 GiB", "16.00 GiB", "0.50 GiB", "", "15.00 GiB", "10.00 MiB"),
			[]string{
				"13.0 GiB of 16.0 GiB was allocated before the work on the file began (Before Epoch): if " +
					"that is data, bring it to the device batch by batch; if it is weights, take a smaller " +
					"number format",
				training,
			},
		},
		{
			"a file that holds the one before",
			"[pipeline] file-start path=a.wav\n[GPU Memory] Before Load: Allocated: 0.10GB | Reserved: " +
				"0.10GB | Total: 16.00GB\n[pipeline] file-end path=a.wav status=ok\n[pipeline] file-start " +
				"path=b.wav\n[GPU Memory] Before Load: Allocated: 9.00GB | Reserved: 9.00GB | Total: " +
				"16.00GB\n" + oom("8.00 GiB", "16.00 GiB", "6.50 GiB", "", "9.00 GiB", "10.00 MiB"),
			[]string{
				"9.00 GiB is still allocated when the file begins, and 102 MiB was when the first file " +
					"began: if that is no model that stays, something of the last file is held, often by the " +
					"variable of a loop: del it before the next file is loaded",
			},
		},
		{ // the device is full, but more room would not mend it
			"files of which each leaves more",
			began("3.00GB") + ended + began("5.70GB") + ended + began("8.40GB") +
				oom("112.00 MiB", "12.00 GiB", "48.00 MiB", "", "11.20 GiB", "248.00 MiB"),
			[]string{
				"3.00 GiB was allocated when the first file began, then 5.70 GiB, and 8.40 GiB when this " +
					"one did: each file leaves more. A list, dict or closure collects tensors on the device, " +
					"such as outputs, losses or views: keep x.cpu() or x.item() (docs/stories.md)",
			},
		},
		{ // the first file has no reading: it does not count
			"files of which each leaves more, and one is silent",
			"[pipeline] file-start path=x.wav\n[pipeline] file-end path=x.wav status=failed\n" +
				began("3.00GB") + ended + began("5.70GB") + ended + began("8.40GB") +
				oom("1.00 GiB", "12.00 GiB", "1.00 GiB", "", "8.00 GiB", "1.90 GiB"),
			[]string{
				"3.00 GiB was allocated when the first file began, then 5.70 GiB, and 8.40 GiB when this " +
					"one did: each file leaves more. A list, dict or closure collects tensors on the device, " +
					"such as outputs, losses or views: keep x.cpu() or x.item() (docs/stories.md)",
				"fragmentation: 1.90 GiB is reserved and not allocated, more than the 1.00 GiB that was " +
					"asked for, but in pieces; set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which " +
					"only postpones the failure",
			},
		},
		{
			"the level rose once, early",
			began("3.00GB") + ended + began("8.40GB") + ended + began("8.41GB") +
				oom("4.00 GiB", "12.00 GiB", "3.00 GiB", "", "8.50 GiB", "10.00 MiB"),
			[]string{heldOver},
		},
		{
			"the level rose once, late",
			began("3.00GB") + ended + began("3.00GB") + ended + began("8.41GB") +
				oom("4.00 GiB", "12.00 GiB", "3.00 GiB", "", "8.50 GiB", "10.00 MiB"),
			[]string{heldOver},
		},
		{ // 7.5 GiB before, 6 after: 1.5 of 7 are freed, which the log says were held
			"a cleanup that leaves the model",
			"[pipeline] file-start path=a.wav\n[GPU Memory] Before Whisper Cleanup: Allocated: 7.50GB | " +
				"Reserved: 8.00GB | Total: 16.00GB | allocated=8053063680 holds=7516192768\n[GPU Memory] " +
				"After Whisper Cleanup: Allocated: 6.00GB | Reserved: 8.00GB | Total: 16.00GB | " +
				"allocated=6442450944\n" +
				oom("2.00 GiB", "16.00 GiB", "0.50 GiB", "", "15.00 GiB", "10.00 MiB"),
			[]string{
				"first mend Whisper Cleanup: 5.50 GiB of 7.00 GiB stays allocated after it, so something " +
					"still refers to it; in Python, vramlog.freeing names what (docs/reference/vramlog.md)" +
					enough,
			},
		},
		{
			"the cache and what is free hold it together",
			oom("2.00 GiB", "16.00 GiB", "1.00 GiB", "", "13.00 GiB", "1.50 GiB"),
			[]string{"fragmentation: 1.50 GiB is reserved and not allocated, and with the 1.00 GiB left " +
				"that is enough for the 2.00 GiB that was asked for, but in pieces; set " +
				"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
		},
		{
			"the cache holds next to nothing",
			oom("2.00 GiB", "16.00 GiB", "1.00 GiB", "", "15.00 GiB", "3.00 MiB"),
			[]string{fmt.Sprintf(lacked, "1.00 GiB", "2.00 GiB")},
		},
		{ // 1020 of 1024 MiB: with 4 MiB of cache in pages of 20 MiB, nothing is won
			"the cache holds just what is missing",
			oom("1.00 GiB", "16.00 GiB", "1020.00 MiB", "", "15.00 GiB", "5.00 MiB"),
			[]string{fmt.Sprintf(lacked, "4.00 MiB", "1.00 GiB")},
		},
		{ // the map has one free block of 1 GiB: 0x200000 units of 512 bytes
			"the map shows a free block that is large enough",
			oom("512.00 MiB", "16.00 GiB", "100.00 MiB", "", "14.50 GiB", "1.00 GiB") +
				`[pipeline] segments at="out of memory" device=0 requested=536870912 unit=512 ` +
				"map=7f0000000000L:A200000F200000.\n",
			[]string{fmt.Sprintf(lacked, "412 MiB", "512 MiB")},
		},
		{ // 1 GiB is free on stream 1, and 100 MiB on stream 0
			"the free block is in the cache of another stream",
			oom("512.00 MiB", "16.00 GiB", "100.00 MiB", "", "14.40 GiB", "1.10 GiB") +
				`[pipeline] segments at="out of memory" device=0 requested=536870912 unit=512 ` +
				"map=7f0000000000L:A200000F32000;7f8000000000L@1:A200000F200000.\n",
			[]string{"the cache of stream 1 has a free block of 1.00 GiB, which the request could not " +
				"use, because it was on another stream: run all work on one stream, or set " +
				"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
		},
		{
			"other processes hold the device", // 16 - 1 - 5 = 10 GiB
			oom("2.00 GiB", "16.00 GiB", "1.00 GiB", "Process 7 has 10.00 GiB memory in use. Including "+
				"non-PyTorch memory, this process has 5.00 GiB memory in use. ", "4.50 GiB", "0 bytes"),
			[]string{"other processes hold 10.0 GiB of the 16.0 GiB: end them, or use a device of your own" +
				enough},
		},
		{
			"another library of the process holds it", // 15 - 4 = 11 GiB
			oom("2.00 GiB", "16.00 GiB", "1.00 GiB", "Including non-PyTorch memory, this process has "+
				"15.00 GiB memory in use. ", "4.00 GiB", "0 bytes"),
			[]string{"11.0 GiB of this process is dark memory (in use and not reserved by the allocator): " +
				"find the library of the process that holds it" + enough},
		},
		{
			"the program limits its allocator", // 4 GiB - 3.5 GiB are left, 9 GiB are free
			oom("1.00 GiB", "16.00 GiB", "9.00 GiB", "4.00 GiB allowed; ", "3.50 GiB", "0 bytes"),
			[]string{"raise the program's own limit: it allows its allocator 4.00 GiB of 16.0 GiB, and " +
				"9.00 GiB of the device was free (torch.cuda.set_per_process_memory_fraction)" + enough},
		},
		{
			"the request is larger than the program's limit",
			oom("6.00 GiB", "16.00 GiB", "15.00 GiB", "4.00 GiB allowed; ", "0 bytes", "0 bytes"),
			[]string{"raise the program's own limit: it allows its allocator 4.00 GiB of 16.0 GiB, and " +
				"15.0 GiB of the device was free (torch.cuda.set_per_process_memory_fraction)" + enough},
		},
		{
			"the request is larger than the device",
			oom("20.00 GiB", "16.00 GiB", "15.00 GiB", "", "100.00 MiB", "800.00 MiB"),
			[]string{"do the work of this request in smaller parts: it asked for 20.0 GiB at once, more " +
				"than all 16.0 GiB of the device, so no setting of the allocator makes it fit"},
		},
		{
			"a leak took it", // 19 x 100 MiB from the first file to the twentieth
			leaking(20) + oom("1.00 GiB", "4.00 GiB", "512.00 MiB", "", "2.85 GiB", "0 bytes"),
			[]string{"first mend the leak: the idle level grew by 1.86 GiB over 20 files, and the request " +
				"lacked only 512 MiB; until it is mended, start a new process every 10 files or fewer " +
				"(vramsoak soak --restart-every 10)"},
		},
		{ // 900 MiB of 64 GiB, and 10 GiB are missing
			"a leak took next to nothing of it",
			leaking(10) + oom("20.00 GiB", "64.00 GiB", "10.00 GiB", "", "53.00 GiB", "0 bytes"),
			[]string{fmt.Sprintf(lacked, "10.0 GiB", "20.0 GiB")},
		},
		{ // 4 GiB / 32 = 128 MiB an item, 24 of which are 3 GiB
			"a smaller batch fits",
			oom("4.00 GiB", "16.00 GiB", "3.00 GiB", "", "13.00 GiB", "0 bytes") + "Batch size: 32\n",
			[]string{"smaller batches: a batch of 32 asked for 4.00 GiB at once; if that grows with the " +
				"batch, a batch of 24 asks for 3.00 GiB, and 3.00 GiB were left"},
		},
		{
			"not even one item fits",
			oom("4.00 GiB", "16.00 GiB", "1.00 GiB", "", "15.00 GiB", "0 bytes") + "Batch size: 2\n",
			[]string{fmt.Sprintf(lacked, "3.00 GiB", "4.00 GiB")},
		},
		{ // 2 GiB at 8 and 4 GiB at 16: 256 MiB an item; (8 - 4) / 0.25 = 16 more fit in 8 GiB
			"the peaks of other batches",
			"[GPU Memory] Before Embedding (batch size 8): Allocated: 0.00GB | allocated=0\n" +
				"[GPU Memory] After Embedding (batch size 8): Allocated: 0.00GB | allocated=0 " +
				"peak=2147483648\n" +
				"[GPU Memory] Before Embedding (batch size 16): Allocated: 0.00GB | allocated=0\n" +
				"[GPU Memory] After Embedding (batch size 16): Allocated: 0.00GB | allocated=0 " +
				"peak=4294967296\n" +
				"[GPU Memory] Before Embedding (batch size 64): Allocated: 0.00GB | allocated=0\n" +
				oom("9.00 GiB", "8.00 GiB", "8.00 GiB", "", "0 bytes", "0 bytes"),
			[]string{
				"do the work of this request in smaller parts: it asked for 9.00 GiB at once, more than all " +
					"8.00 GiB of the device, so no setting of the allocator makes it fit",
				"smaller batches: Embedding took 2.00 GiB with a batch of 8 and 4.00 GiB with one of 16, " +
					"which is 256 MiB an item; so at most 32 fit in 8.00 GiB (it failed with 64)",
			},
		},
		{
			"training, and the program's own suggestion",
			"Epoch 3 start - Allocated: 1.23GB, Cached: 2.00GB, Max: 3.00GB\n" +
				oom("2.00 GiB", "16.00 GiB", "1.00 GiB", "", "15.00 GiB", "0 bytes") +
				"Suggested: batch_size=16\n",
			[]string{"the program itself suggests batch_size=16 (run.log:3)", training},
		},
		{
			"without numbers",
			"RuntimeError: CUDA failed with error out of memory\n",
			[]string{"the log does not say how much was asked for and how much was free: print the " +
				"allocator's whole message, and checkpoints, to get advice by numbers"},
		},
		{"without a failure", "[GPU Memory] A: Allocated: 1.00GB\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := advice(t, c.log)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(got) > 5 {
				t.Errorf("%d lines of advice", len(got))
			}
		})
	}
}

// began is the beginning of a file with this much memory allocated, and ended the end of a file.
func began(allocated string) string {
	return "[pipeline] file-start path=a.wav\n[GPU Memory] Before Load: Allocated: " + allocated +
		" | Reserved: " + allocated + " | Total: 12.00GB\n"
}

const heldOver = "8.41 GiB is still allocated when the file begins, and 3.00 GiB was when the " +
	"first file began: if that is no model that stays, something of the last file is held, often by " +
	"the variable of a loop: del it before the next file is loaded"

const ended = "[pipeline] file-end path=a.wav status=ok\n"
