package check_test

import (
	"testing"

	"vramsoak/harness/check"
)

const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"

// TestWordsOfAFailure: some programs do not print "CUDA out of memory" but have other words for a
// failed allocation. The first list holds such words. The second list holds lines that only look
// like them.
func TestWordsOfAFailure(t *testing.T) {
	t.Parallel()
	for _, log := range []string{
		"Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    run()\n" +
			"torch.OutOfMemoryError",
		"ERROR - asr - 11.wav: torch.cuda.OutOfMemoryError",
		"failed: <class 'torch.OutOfMemoryError'>",
		"ERROR - asr - cannot handle 11.wav: OutOfMemoryError",
		"ERROR - asr - caught torch.OutOfMemoryError",
		"ERROR: ran out of GPU memory",
		"ERROR: out of VRAM while loading large-v3",
		"ERROR: CUDA OOM on file 11.wav",
		"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
		"ValueError: The model's max seq len (131072) is larger than the maximum number of tokens " +
			"that can be stored in KV cache (28000). " +
			"Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.",
		"ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 13285000000",
		"llama_kv_cache_init: failed to allocate buffer for kv cache",
		"ggml_metal_buffer: error: failed to allocate buffer, size = 1024.00 MiB",
		`time=2024-01-01T00:00:00Z level=ERROR msg="error loading" ` +
			`error="llama runner process has terminated: cudaMalloc failed: out of memory"`,
		`level=error msg="transcription failed" err="CUDA error: out of memory"`,
		"{'status': 'error', 'error': 'CUDA out of memory. Tried to allocate 20.00 MiB'}",
		"pyopencl.MemoryError: clEnqueueNDRangeKernel failed: MEM_OBJECT_ALLOCATION_FAILURE",
		oom + "Falling back to sequential extraction is disabled",
		"WARNING - asr - OOM on 11.wav, skipping",
		" 45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]CUDA error: out of memory",
		"CUDA out of memory! Reducing the batch size may help.",
		oom + "OOM detected, skipping batch 12",
		oom + "work\nCUDA OutOfMemoryError in TaskAlignedAssigner, using CPU",
		oom + "hint: Attempting GPU recovery and retry with smaller batch may help",
	} {
		if verdict, _ := outOfMemoryOf(t, log+"\n"); verdict != check.Fail {
			t.Errorf("got %s, want fail: %q", verdict, log)
		}
	}
	for _, log := range []string{
		"    except torch.cuda.OutOfMemoryError:",
		"  File \"t.py\", line 7\n    raise torch.OutOfMemoryError",
		"from torch.cuda import OutOfMemoryError",
		"java.lang.OutOfMemoryError",
		"INFO - asr - will retry on torch.OutOfMemoryError",
		"INFO - asr - handler for OutOfMemoryError",
		"tests/oom.py::test_OutOfMemoryError",
		"handle out of GPU memory: true",
		"INFO - asr - guarding against out of VRAM",
		"ggml_gallocr_reserve_n: failed to allocate CUDA_Host buffer of size 13285000000",
		"if you run out of GPU memory, take a smaller batch",
		"a ring buffer of size 4096 was made",
		"failed to allocate CPU buffer of size 4096",
		`raise RuntimeError(error="CUDA error: out of memory")`,
		oom + "Falling back to sequential extraction",
		"CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU",
		"Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.",
		oom + "OOM detected, reducing batch_size to 4",
		"CUDA out of memory handler installed",
		"max retries after CUDA out of memory = 3",
	} {
		if verdict, _ := outOfMemoryOf(t, log+"\n"); verdict != check.Pass {
			t.Errorf("got %s, want pass: %q", verdict, log)
		}
	}
	// ggml prints the reason first and what the memory was for in the next line. Both lines are one
	// failure, so one fallback pardons both.
	log := "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 13285.50 MiB on device 0: " +
		"cudaMalloc failed: out of memory\n" +
		"ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 13930856448\n" +
		"Falling back to sequential extraction\n"
	if verdict, line := outOfMemoryOf(t, log); verdict != check.Pass || line != 1 {
		t.Errorf("got %s in line %d, want pass: a pardon of the failure in line 1", verdict, line)
	}
}
