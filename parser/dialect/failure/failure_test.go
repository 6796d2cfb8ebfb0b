package failure_test

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/failure"
	"vramsoak/parser/scan"
)

// TestOutOfMemory: only the message of an allocation that failed on a device gives a record. The
// record has the message's sizes, in whichever order and unit they are printed.
func TestOutOfMemory(t *testing.T) {
	dialecttest.Run(t, []*scan.Dialect{&failure.OutOfMemory}, []dialecttest.Case{
		{"PyTorch's sizes, reserved being allocated and unallocated", `
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 63.50 GiB of which 18.50 MiB is free. Of the allocated memory 1.50 GiB is allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but unallocated.
`, `
1 out-of-memory gpu1 rank3 requested=512MiB allocated=1536MiB reserved=1792MiB total=65024MiB free=19398656B
`},
		{"the program's own limit", `
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 450.00 MiB. GPU 0 has a total capacity of 140.00 GiB of which 81.00 GiB is free. Including non-PyTorch memory, this process has 16.50 GiB memory in use. 16.00 GiB allowed; Of the allocated memory 14.00 GiB is allocated by PyTorch, and 1.50 GiB is reserved by PyTorch but unallocated.
`, `
1 out-of-memory requested=450MiB allowed=16384MiB allocated=14336MiB reserved=15872MiB total=143360MiB free=82944MiB used=16896MiB
`},
		{"the program's own limit, of cudaMallocAsync", `
Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 4.50 GiB
Requested               : 160.00 MiB
Device limit            : 6.00 GiB
Free (according to CUDA): 512.00 MiB
PyTorch limit (set by user-supplied memory fraction)
                        : 4.00 GiB
`, `
1 out-of-memory requested=160MiB allowed=4096MiB allocated=4608MiB total=6144MiB free=512MiB
`},
		{"no limit, of cudaMallocAsync", `
Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 4.50 GiB
Requested               : 160.00 MiB
Device limit            : 6.00 GiB
Free (according to CUDA): 512.00 MiB
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB
`, `
1 out-of-memory requested=160MiB allocated=4608MiB total=6144MiB free=512MiB
`},
		{"a message that a terminal broke", `
CUDA out of memory. Tried to allocate 226.00 MiB (GPU 1; 2.00 GiB total capacity;
838.00 MiB already allocated; 122.00 MiB free; 944.00 MiB reserved in total by PyTorch)
`, `
1 out-of-memory gpu1 requested=226MiB allocated=838MiB reserved=944MiB total=2048MiB free=122MiB
`},
		{"a torn message, and the next record behind it", `
CUDA out of memory. Tried to allocate
[GPU Memory] A: Allocated: 1.00GB (1.0%) | 512.00 MiB free
`, `
1 out-of-memory requested=0MiB
`},
		{"commas in numbers", `
cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,600,000,000 bytes (allocated so far: 2,281,701,376 bytes).
`, `
1 out-of-memory requested=1600000000B reserved=2176MiB
`},
		{"ggml: the reason and the buffer are one failure", `
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 1: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 1073741824
ggml_gallocr_reserve_n: failed to allocate CUDA_Host buffer of size 1073741824
`, `
1 out-of-memory gpu1 requested=1024MiB
`},
		{"host memory, advice, source, a count, a test, a transcript", `
torch: DefaultCPUAllocator: not enough memory: you tried to allocate 512 bytes.
OOM when allocating tensor with shape[1] by allocator cpu
To avoid CUDA out of memory, reduce the batch size.
    if "CUDA out of memory" in str(e):
CUDA out of memory: 0
tests/test_oom.py::test_message[CUDA out of memory] PASSED              [ 75%]
[00:00:03.400 --> 00:07:42.600]  so my notebook said CUDA out of memory again
INFO - asr - will retry on torch.OutOfMemoryError
* Fixed: CUDA out of memory on long files
INFO - offloaded the text encoder out of VRAM
`, ``},
		{"a failure in the value of a dict", `
{'status': 'error', 'error': 'CUDA out of memory. Tried to allocate 20.00 MiB'}
`, `
1 out-of-memory requested=20MiB
`},
	})
}

// TestOwnWords: if a program reports a failure in its own words near the allocator's message, the
// two are one failure. What the own words say about a fallback is kept.
func TestOwnWords(t *testing.T) {
	const allocator = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB\n"
	dialecttest.Run(t, []*scan.Dialect{&failure.OutOfMemory}, []dialecttest.Case{
		{"behind the allocator's message", allocator + "OOM detected, reducing batch_size to 4\n", `
1 out-of-memory requested=512MiB
2 event fallback "OOM detected, reducing batch_size to 4"
`},
		{"behind it, without a fallback", allocator + "ERROR - OOM at step 12\n", `
1 out-of-memory requested=512MiB
`},
		{"before a traceback with the message", "ERROR - OOM at step 12\n" +
			"Traceback (most recent call last):\n" + strings.Repeat("  File \"run.py\", line 7\n", 20) +
			allocator, `
23 out-of-memory requested=512MiB
`},
		{"far from it", allocator + strings.Repeat("step\n", 9) + "ERROR - OOM at step 12\n", `
1 out-of-memory requested=512MiB
11 out-of-memory requested=0MiB
`},
		{"alone", "GPU OOM on a.wav\n", `
1 out-of-memory requested=0MiB
`},
		{"with the device", "ERROR - not enough GPU memory on device 3\n", `
1 out-of-memory gpu3 requested=0MiB
`},
		{"one failure in several lines", `
n1:4711:4712 [0] include/alloc.h:185 NCCL WARN Cuda failure 2 'out of memory'
n1:4711:4712 [0] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 536870912 bytes
ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 1073741824 Bytes of memory on device
ggml_gallocr_reserve_n: failed to allocate SYCL0 buffer of size 1073741824
llama_model_load: error loading model: unable to allocate SYCL0 buffer
`, `
1 out-of-memory requested=0MiB
3 out-of-memory requested=1024MiB
`},
	})
}

// TestCrash: a program's death in the words of its runtime gives a crash. An error that the
// program caught or quoted gives no crash. Neither does an end on request, such as Ctrl-C.
func TestCrash(t *testing.T) {
	const traceback = "Traceback (most recent call last):\n" +
		"  File \"run.py\", line 7, in <module>\n    work()\n"
	dialecttest.Run(t, []*scan.Dialect{&failure.Crash}, []dialecttest.Case{
		{"a traceback's last line", traceback + "ValueError: no audio\n", `
1 crash "ValueError: no audio"
`},
		{
			"the last of a chain",
			traceback + "KeyError: 'a'\n\n" +
				"During handling of the above exception, another exception occurred:\n\n" +
				traceback + "ValueError: no audio\n", `
8 crash "ValueError: no audio"
`,
		},
		{
			"an interrupt, an allocation, and an error that the logger goes on after",
			traceback + "KeyboardInterrupt\n" + traceback + "RuntimeError: CUDA out of memory. Tried\n" +
				"2026-11-20 02:00:03 - ERROR - failed\n" + traceback + "ValueError: no audio\n" +
				"2026-11-20 02:00:04 - INFO - next file\n", ``,
		},
		{
			"a traceback behind a progress bar",
			" 45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]" + traceback + "ValueError: no audio\n", `
1 crash "ValueError: no audio"
`,
		},
		{"signals as shells, make, Slurm and the kernel name them", `
./run.sh: line 3:  4711 Segmentation fault      (core dumped) python run.py
make: *** [Makefile:3: soak] Killed
slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch.
[12345.678901] Out of memory: Killed process 4711 (python) total-vm:8388608kB
`, `
1 crash "./run.sh: line 3:  4711 Segmentation fault      (core dumped) python run.py"
2 crash "make: *** [Makefile:3: soak] Killed"
3 crash "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch."
4 crash "Out of memory: Killed process 4711 (python) total-vm:8388608kB"
`},
		{"the same words in other text", `
Killed 3 tasks that were no longer needed
./run.sh: line 12:  4711 Killed                  nvidia-smi dmon -s u > gpu.csv
[00:00:03.400 --> 00:07:42.600]  Killed
Detected 3 speakers
the panic: a report
`, ``},
		{"a message of the runtime, only at its beginning", `
panic: runtime error: index out of range [3] with length 3
INFO - the last panic: runtime error
`, `
1 crash "panic: runtime error: index out of range [3] with length 3"
`},
	})
}
