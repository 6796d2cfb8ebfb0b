package failure_test

import "testing"

// healthy are lines with the words of failures that report no failure: settings, help, counts,
// advice, tests, program source and what a model heard.
var healthy = []string{
	// Settings and the configurations that programs print at their start.
	"oom_retries=0",
	"max_oom_retries: 3",
	"  on_cuda_out_of_memory: retry",
	"retries on CUDA out of memory: 3",
	"max retries after CUDA out of memory = 3",
	"CUDA out of memory: retry",
	"CUDA out of memory handling: enabled",
	"CUDA out of memory handler installed",
	"CUDA out of memory protection is on",
	"INFO - asr - GPU out of memory recovery enabled (max 3 retries)",
	"GPU OOM policy: skip",
	"OOM handler: enabled",
	"OOM retries: 0",
	"OOM recovery enabled",
	"oom_handler=<function handle_oom at 0x7f11>",
	`{"retry_on_oom": true, "oom_backoff": 0.5}`,
	"Namespace(batch=8, on_oom='skip', oom_retries=2)",
	"TrainingArguments(auto_find_batch_size=True, torch_empty_cache_steps=None)",
	"simulate CUDA out of memory: false",
	"INFO - will fall back to CPU upon CUDA out of memory",
	"INFO - asr - guarding against CUDA OOM",
	"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # against CUDA out of memory",
	"RAY_memory_monitor_refresh_ms=0 disables the OOM killer",
	"systemd: OOMPolicy=continue",
	"oom_score_adj: 500",
	"vm.panic_on_oom = 0",

	// Counts, in summaries and metrics.
	"num_ooms: 0",
	"0 OOM errors",
	"OOM errors: 0",
	"OOMs: 0",
	"CUDA OOM: 0",
	"0 CUDA OOM, 60 files",
	"No OOM in 60 files",
	"0 CUDA out of memory, 60 ok",
	"Number of CUDA out of memory events: 0",
	"CUDA out of memory count = 0",
	"CUDA out of memory so far: 0",
	"Files that ran out of GPU memory: 0",
	"ok=60 failed=0 oom=0",
	"Completed: 60\nFailed: 0\nAborted: 0\nKilled: 0",
	"| Aborted | 0 |",
	"| cuda_out_of_memory | 0 |",
	"train | {\"epoch\": 1, \"train_ooms\": \"0\", \"train_wall\": \"12\"}",
	`container_oom_events_total{container="trainer"} 0`,
	"oom_kill 0",
	"| Metric       | Cur Usage  |\n| CUDA OOMs: 0            |        cudaMalloc retries: 0         |",
	`            "OOMKilled": false,`,
	"slurm: Detected 0 oom-kill events in StepId=7.batch.",
	"worker-1 exited with code 0",

	// Help, documentation and advice.
	"  --oom-retries N       what to do on a CUDA out of memory error (default: 3)",
	"  --skip-oom            skip files that cause CUDA OOM",
	"  --cpu-offload         use this if the GPU runs out of memory",
	"Tip: lower --batch-size to reduce the risk of CUDA OOM",
	"Hint: set max_split_size_mb to reduce fragmentation and CUDA out of memory errors",
	"UserWarning: a context of 131072 tokens is likely to cause CUDA out of memory",
	"UserWarning: large batches often lead to GPU OOM",
	"WARNING 11-20 02:00:03 arg_utils.py:957] The model has a long context length (131072). This may cause OOM errors during the initial memory profiling phase.",
	"INFO 11-20 02:00:03 worker.py:267] Setting max_model_len lower helps against CUDA out of memory",
	"UserWarning: a long context often causes CUDA out of memory",
	"This avoids CUDA out of memory on long files",
	"Loading in 8 bit so that the GPU does not run out of memory",
	"We recommend fp16 for GPUs with 8 GB to prevent OOM",
	"See https://example.org/docs/cuda-out-of-memory for details",
	"## Troubleshooting: CUDA out of memory",
	"- CUDA out of memory: lower the batch size",
	"Q: What does CUDA out of memory mean?",
	"Quantization saves memory where you would see not enough GPU memory",
	"Checking whether there is not enough GPU memory for large-v3 ... ok, enough",
	"If the process exits with code 137 it was OOMKilled",

	// Program source, in tracebacks, notebooks and diffs.
	`    if "CUDA out of memory" in str(e):`,
	`    except torch.cuda.OutOfMemoryError as e:`,
	`    print(f"[OOM] skip video due to CUDA OOM: {path}")`,
	`    logger.warning("CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU")`,
	`+    except torch.OutOfMemoryError:`,
	`    raise RuntimeError("No executable batch size found, reached zero.")`,
	`        warnings.warn("Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.")`,
	"  File \"memory.py\", line 7, in handle_cuda_oom",
	"run.py:12: # CUDA OOM: go on with half of the batch",
	"from accelerate.utils.memory import is_oom_error, should_reduce_batch_size",
	"class OutOfMemoryError(RuntimeError):",
	"case CNMEM_STATUS_OUT_OF_MEMORY:",
	"CUDNN_STATUS_ALLOC_FAILED = 2",
	"registered handler for CUDNN_STATUS_ALLOC_FAILED",

	// Tests, commits and release notes.
	"tests/test_oom.py::test_cuda_oom_is_handled PASSED                       [ 50%]",
	"test_gpu_out_of_memory ... ok",
	"--- PASS: TestOOM (0.01s)",
	"a1b2c3d Handle CUDA OOM on long files (#12)",
	"* Fixed: CUDA OOM on long files",
	"Fixes a CUDA out of memory in the decoder",
	"Simulating CUDA out of memory ... recovered as expected",
	"self-test: CUDA out of memory is caught: ok",

	// Other programs' healthy lines with such words.
	"[W] [TRT] Tactic Device request: 2218MB Available: 2189MB. Device memory is insufficient to use tactic.",
	"[W] [TRT] Skipping tactic 3 due to insufficient memory on requested size of 2218 detected for tactic 4.",
	"ggml_cuda_host_malloc: failed to allocate 512.00 MiB of pinned memory: out of memory",
	"ggml_vulkan: Failed to allocate pinned memory.\nggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
	"cudaMalloc failed: no CUDA-capable device is detected",
	"Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains",
	"KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.98",
	"[NeMo I 2026-11-20 02:00:05 oomptimizer:349] OOMptimizer found batch size 32",
	"Batch size 16 failed, trying batch size 8",
	"moved the encoder out of device memory",
	"offloaded the text encoder out of CUDA memory",
	"INFO - freed everything out of GPU memory",
	"Invalid buffer size: 0",
	"I was out of memory cards, so we left the room OOM",
	`{"text": " CUDA OOM again", "start": 0.0, "end": 2.0}`,
	"[00:00:03.400 --> 00:07:42.600]  and then it said insufficient GPU memory",
	"Killed 3 stale workers",
	"Error: Aborted",
	"Alice - Killed",
	"INFO - not enough VRAM for the large model: the small one is used",
	"  Config: small only (gpt-oss-20b) — not enough VRAM for large model",
	"46 GPU OOM under co-placement, 65 cuts",
	"  [OOM] big.txt - file too large",
	"memory_limit_mb=4096  # OOM at 4 GB otherwise",
	"INFO - watching for OOM on rank 3",
	"There is enough GPU memory: 12.00 GiB free",
	"GPU memory check: not enough memory = False",
}

// TestHealthy: lines that only mention failures give no failed allocation and no crash.
func TestHealthy(t *testing.T) {
	right := 0
	for _, line := range healthy {
		if got := summary(t, line); got != "" {
			t.Errorf("got %q, want nothing: %s", got, line)
			continue
		}
		right++
	}
	t.Logf("%d of %d healthy lines give nothing", right, len(healthy))
}
