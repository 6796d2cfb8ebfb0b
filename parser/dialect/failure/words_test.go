package failure_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A wording is a line that a program prints, and what the record says that vramsoak reads in it:
// "oom" for a failed allocation, with the requested bytes if the line gives them, with "fallback"
// if the line says that the program goes on; "crash" for the death of a process; "" for nothing.
type wording struct{ line, want string }

// failures are true failures. The comment above each group names the source of its words.
var failures = []wording{
	// pytorch/pytorch: c10/cuda/CUDACachingAllocator.cpp, c10/cuda/CUDAException.cpp,
	// aten/src/ATen/mps/MPSAllocator.mm, aten/src/ATen/cuda/CUDABlas.cpp. The forks of the allocator
	// print the names of their devices.
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.00 GiB is free.", "oom 2147483648"},
	{"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 64.00 GiB of which 0 bytes is free.", "oom 1073741824"},
	{"torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 16.00 GiB.", "oom 1073741824"},
	{"RuntimeError: NPU out of memory. Tried to allocate 64.00 MiB (NPU 0; 64.00 GiB total capacity; 60.00 GiB already allocated)", "oom 67108864"},
	{"torch.mlu.OutOfMemoryError: MLU out of memory. Tried to allocate 512.00 MiB. MLU 0 has a total capacity of 47.00 GiB.", "oom 536870912"},
	{"RuntimeError: MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: 613.00 MB, max allowed: 18.00 GB). Tried to allocate 192.00 MB on private pool.", "oom 201326592"},
	{"RuntimeError: Invalid buffer size: 16.00 GiB", "oom 17179869184"},
	{"RuntimeError: CUDA error: out of memory", "oom"},
	{"torch.AcceleratorError: CUDA error: out of memory", "oom"},
	{"RuntimeError: HIP error: out of memory", "oom"},
	{"RuntimeError: CUDA driver error: out of memory", "oom"},
	{"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "oom"},
	{"RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`", "oom"},
	{"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "oom"},
	{"RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED", "oom"},
	{"torch._C._LinAlgError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`", "oom"},
	{"ERROR - asr - 11.wav: torch.OutOfMemoryError", "oom"},

	// NVIDIA/cudnn-frontend and cuDNN 9's cudnn_graph.h; ROCm/clr: rocclr/device/rocm/rocdevice.cpp.
	{"RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "oom"},
	{":0:rocdevice.cpp            :2875: 144 us: [pid:4711 tid:0x7f11] Callback: Queue 0x7f12 Aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources. This error may also occur when the core runtime library needs to spawn threads or create internal OS-specific events. Code: 0x1008 Available Free mem : 24 MB", "oom"},

	// ultralytics/ultralytics: ultralytics/utils/tal.py, ultralytics/engine/trainer.py.
	{"WARNING ⚠️ CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU", "oom fallback"},
	{"WARNING: CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU", "oom fallback"},
	{"WARNING ⚠️ CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).", "oom fallback"},

	// facebookresearch/detectron2: detectron2/utils/memory.py; open-mmlab/mmdetection:
	// mmdet/utils/memory.py.
	{"[07/01 12:00:00 d2.utils.memory]: Attempting to copy inputs of <function pairwise_iou at 0x7f88> to CPU due to CUDA OOM", "oom fallback"},
	{"2026-11-20 02:00:03,123 - mmdet - WARNING - Attempting to copy inputs of <function loss at 0x7f88> to FP16 due to CUDA OOM", "oom fallback"},

	// facebookresearch/fairseq: fairseq/trainer.py.
	{"| WARNING: ran out of memory in validation step, retrying batch", "oom fallback"},
	{"2026-11-20 02:00:03 | WARNING | fairseq.trainer | ran out of memory in validation step, retrying batch", "oom fallback"},
	{"2026-11-20 02:00:03 | WARNING | fairseq.trainer | attempting to recover from OOM in forward/backward pass", "oom"},
	{"2026-11-20 02:00:03 | ERROR | fairseq.trainer | OOM during optimization, irrecoverable", "oom"},

	// huggingface/accelerate: src/accelerate/utils/memory.py.
	{"RuntimeError: No executable batch size found, reached zero.", "oom"},

	// mosaicml/composer: composer/trainer/trainer.py.
	{"/opt/composer/trainer/trainer.py:240: RuntimeWarning: CUDA out of memory detected. Train microbatch size will be decreased from 16 -> 8.", "oom fallback"},
	{"RuntimeError: CUDA out of memory. The train loop failed with an internal microbatch of size 1.The GPU does not have enough memory to process even 1 sample during train.", "oom"},

	// comfyanonymous/ComfyUI: comfy/sd.py, comfy/ldm/modules/attention.py; forks print brackets.
	{"Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.", "oom fallback"},
	{"Warning: Ran out of memory when regular VAE encoding, retrying with tiled VAE encoding.", "oom fallback"},
	{"Warning: Encountered Out of Memory during VAE Encoding; Retrying with Tiled VAE Encoding...", "oom fallback"},
	{"out of memory error, increasing steps and trying again 2", "oom fallback"},
	{"[Out of Memory Error] emptying cache and trying again...", "oom fallback"},
	{"!!! Exception during processing !!! Allocation on device 0 would exceed allowed memory. (out of memory)", "oom"},

	// vllm-project/vllm: vllm/v1/core/kv_cache_utils.py, vllm/v1/worker/gpu_worker.py,
	// vllm/v1/worker/gpu_model_runner.py, csrc/cumem_allocator.cpp.
	{"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "oom"},
	{"(EngineCore_DP0 pid=4711) ERROR 06-02 05:17:18 [core.py:387] ValueError: To serve at least one request with the models's max seq len (40960), (10.00 GiB KV cache is needed, which is larger than the available KV cache memory (1.25 GiB).", "oom 10737418240"},
	{"ValueError: Free memory on device (12.50/24.00 GiB) on startup is less than desired GPU memory utilization (0.9, 21.50 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "oom 23085449216"},
	{"ValueError: Free memory on device cuda:1 (12.50/24.00 GiB) on startup is less than desired GPU memory utilization (0.9, 21.50 GiB).", "oom 23085449216"},
	{"RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.", "oom"},
	{"CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62", "oom"},

	// sgl-project/sglang: python/sglang/srt/mem_cache/common.py, managers/schedule_batch.py.
	{"[2026-11-20 02:00:03 TP0] Prefill out of memory. Try to lower your batch size.", "oom"},
	{"[2026-11-20 02:00:03 TP0] Decode out of memory. Try to lower your batch size.", "oom"},
	{"RuntimeError: Out of memory. Try to lower your batch size.", "oom"},
	{"RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.", "oom"},
	{"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "oom"},

	// NVIDIA/TensorRT-LLM: tensorrt_llm/_torch/pyexecutor/py_executor_creator.py. TensorRT itself has
	// closed source; these lines are in reports of its users.
	{"[11/20/2026-02:00:03] [TRT-LLM] [E] Executor creation failed due to insufficient GPU memory.", "oom"},
	{"[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory (/src/tllmBuffers.h:112)", "oom"},
	{"[E] [executionContext.cpp::initializeExecutionContext::625] Error Code 2: OutOfMemory (Requested size was 20132659200 bytes.)", "oom 20132659200"},
	{"[E] 2: [virtualMemoryBuffer.cpp::nvinfer1::StdVirtualMemoryBufferImpl::resizePhysical::140] Error Code 2: OutOfMemory (no further information)", "oom"},
	{"[E] 1: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)", "oom"},

	// microsoft/onnxruntime: onnxruntime/core/framework/bfc_arena.cc, core/providers/cuda/cuda_call.cc.
	{"Non-zero status code returned while running Cast node. bfc_arena.cc:342 onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Available memory of 536870912 is smaller than requested bytes of 1073741824", "oom 1073741824"},
	{"bfc_arena.cc:376 AllocateRawInternal Failed to allocate memory for requested buffer of size 1073741824", "oom 1073741824"},
	{"CUDA failure 2: out of memory ; GPU=0 ; hostname=n1 ; file=/onnxruntime/core/providers/cuda/cuda_allocator.cc ; line=47 ; expr=cudaMalloc((void**)&p, size);", "oom"},
	{"CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0 ; hostname=n1", "oom"},

	// tensorflow/tensorflow: tensorflow/core/common_runtime/bfc_allocator.cc; openxla/xla:
	// xla/stream_executor/device_memory_allocator.cc. The words of TPUs are in OpenXLA's error
	// reference (openxla.org/xla/errors) and in reports of its users.
	{"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.", "oom 1073741824"},
	{"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_train_step': Attempting to allocate 1.50G. That was not possible. There are 1.25G free.", "oom 1610612736"},
	{"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 50.00M. That was not possible. There are 27.50M free.; (0x0x0_HBM0)", "oom 52428800"},
	{"XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_f': Attempting to reserve 2.50G at the bottom of memory. That was not possible. There are 147.50M free, 0B reserved, and 147.50M reservable.", "oom 2684354560"},
	{"XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 16.50GiB (17716740096B) on device ordinal 0", "oom 17716740096"},
	{"RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.  Used 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.", "oom"},
	{"Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED", "oom"},

	// rapidsai/rmm: include/rmm/mr/device/pool_memory_resource.hpp.
	{"MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/include/rmm/mr/device/cuda_memory_resource.hpp:69: cudaErrorMemoryAllocation out of memory", "oom"},
	{"MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/include/rmm/mr/device/pool_memory_resource.hpp:424: Maximum pool size exceeded", "oom"},
	{"RuntimeError: RMM failure at: /opt/include/rmm/mr/device/pool_memory_resource.hpp:276: Maximum pool size exceeded", "oom"},
	{"[error] RMM failure at: /opt/pool_memory_resource.hpp:276: Maximum pool size exceeded (failed to allocate 1.000000 GiB)", "oom 1073741824"},

	// cupy/cupy: cupy/cuda/memory.pyx; OpenNMT/CTranslate2: src/cuda/utils.h; numba/numba:
	// numba/cuda/cudadrv/driver.py; PaddlePaddle/Paddle: paddle/phi/core/memory/allocation;
	// apache/mxnet: src/storage/pooled_storage_manager.h.
	{"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,073,741,824 bytes (allocated so far: 2,147,483,648 bytes).", "oom 1073741824"},
	{"cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorMemoryAllocation: out of memory", "oom"},
	{"RuntimeError: CUDA failed with error out of memory", "oom"},
	{"RuntimeError: cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED", "oom"},
	{"numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", "oom"},
	{"ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 2.000000GB memory on GPU 0, 28.000000GB memory has been allocated and available memory is only 1.000000GB.", "oom 2147483648"},
	{"MXNetError: cudaMalloc retry failed: out of memory", "oom"},

	// mindspore-ai/mindspore: mindspore/ccsrc/runtime; triton-inference-server/core:
	// src/cuda_memory_manager.cc and triton-inference-server/backend: src/backend_memory.cc.
	{"[ERROR] DEVICE(4711,7f88,python):2026-11-20-02:00:03.123.456 [mindspore/ccsrc/runtime/graph_scheduler/actor/memory_manager_actor.cc:66] Device(id:0) memory isn't enough and alloc failed, kernel name: Default/Conv2D-op1, alloc size: 1073741824B.", "oom 1073741824"},
	{"RuntimeError: Device memory isn't enough and alloc failed, actor name: kernel_actor, alloc size: 1073741824", "oom 1073741824"},
	{"W1120 02:00:03.123456 4711 memory.cc:134] failed to allocate CUDA memory with byte size 1073741824 on GPU 0: CNMEM_STATUS_OUT_OF_MEMORY, falling back to pinned system memory", "oom 1073741824 fallback"},

	// NVIDIA/nccl: src/include/alloc.h, src/include/checks.h.
	{"n1:4711:4712 [0] /nccl/src/include/alloc.h:205 NCCL WARN Cuda failure 2 'out of memory'", "oom"},
	{"n1:4711:4712 [0] /nccl/src/include/alloc.h:205 NCCL WARN Failed to CUDA calloc async 2432 bytes", "oom 2432"},
	{"n1:4711:4712 [0] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 536870912 bytes", "oom 536870912"},

	// ggml-org/llama.cpp: ggml/src/ggml-cuda, ggml-sycl, ggml-metal, ggml-vulkan, src/llama-model.cpp,
	// src/llama-context.cpp; ml-explore/mlx: mlx/backend/metal.
	{"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 0: cudaMalloc failed: out of memory", "oom 1073741824"},
	{"CUDA error: out of memory", "oom"},
	{"ROCm error: out of memory", "oom"},
	{"ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 1073741824 Bytes of memory on device", "oom 1073741824"},
	{"alloc: can't allocate 889986048 Bytes of memory on device/GPU", "oom 889986048"},
	{"llama_model_load: error loading model: unable to allocate CUDA0 buffer", "oom"},
	{"graph_reserve: failed to allocate compute buffers", "oom"},
	{"llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers", "oom"},
	{"ggml_vulkan: Device memory allocation of size 1073741824 failed: ErrorOutOfDeviceMemory", "oom 1073741824"},
	{"error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)", "oom"},
	{"libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)", "oom"},
	{"RuntimeError: [metal::malloc] Attempting to allocate 14302248960 bytes which is greater than the maximum allowed buffer size of 9534832640 bytes.", "oom 14302248960"},
	{`time=2026-11-20T02:00:03Z level=ERROR source=sched.go:455 msg="error loading llama server" error="llama runner process has terminated: error loading model: unable to allocate CUDA0 buffer"`, "oom"},

	// Theano/libgpuarray: src/gpuarray_buffer_cuda.c; the CANN runtime of Ascend; intel/
	// intel-extension-for-tensorflow: itex/core/devices/bfc_allocator.cc; tensorflow/tensorflow:
	// stream_executor/rocm/rocm_driver.cc; NVIDIA's samples; ExtremeFLOW/neko; ggml-vulkan.cpp.
	{"Error allocating 33554432 bytes of device memory (out of memory). Driver report 21364736 bytes free and 11715084288 bytes total", "oom 33554432"},
	{"EL0004: [PID: 553] 2026-11-20-02:00:13.065.712 Failed to allocate memory.", "oom"},
	{"        alloc device memory failed, runtime result = 207001[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]", "oom"},
	{"ERROR 04-09 21:56:46 [diffusion_worker.py:452]         Call rtMalloc fail, purpose: page caching, type = 2, size:3221291008, device_id:0[FUNC:Alloc][FILE:device_allocator.cc][LINE:72]", "oom 3221291008"},
	{"2026-11-20 02:00:55.926325: E itex/core/devices/bfc_allocator.cc:98] Allocator ran out of memory trying to allocate 117964800 Bytes (rounded to 117964800 Bytes)", "oom 117964800"},
	{"2026-11-20 02:00:11.303639: E tensorflow/stream_executor/rocm/rocm_driver.cc:601] failed to allocate 7.50G (8053063680 bytes) from device: hipError_t(1002)", "oom 8053063680"},
	{"cudaMalloc failed!", "oom"},
	{"cudaMalloc failed for points", "oom"},
	{"*** ERROR: Memory allocation on device failed ***", "oom"},
	{"cuDSS: device memory allocation failed", "oom"},
	{"permutohedral_lattice/src/DeviceMemoryAllocator.h:68] GPU memory allocation failed (might be due to insufficient memory)", "oom"},
	{"ggml_vulkan: Device memory allocation of size 118497280 failed.\nggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "oom 118497280"},

	// Programs in their own words, as public repositories print them.
	{"[OOM] skip video due to CUDA OOM: a.mp4", "oom"},
	{"[OOM Warning] Skipping batch 12 due to CUDA OOM.", "oom"},
	{"Job '7' failed due to CUDA OOM", "oom"},
	{"OOM detected, reducing batch_size to 4", "oom fallback"},
	{"[!] GPU OOM DETECTED! All tiers failed.", "oom"},
	{"WARNING - GPU out of memory detected during NLSQ optimization.", "oom"},
	{"CUDA Out of Memory detected for 'resnet50' with batch size 64!", "oom"},
	{"ERROR - asr - not enough GPU memory to load large-v3", "oom"},
	{"ERROR - asr - insufficient VRAM for large-v3", "oom"},
	{"ERROR - asr - ran out of CUDA memory in file 11.wav", "oom"},
	{"ERROR - asr - failed to allocate 2.00 GiB on the GPU", "oom 2147483648"},
	{"ERROR - asr - OOM at step 12", "oom"},
	{"ERROR - asr - GPU memory exhausted", "oom"},
	{"ERROR - asr - CUDA OOM detected. Consider:", "oom"},
	{"OOM during encode; retrying with batch_size=4", "oom fallback"},
	{"OOM in batch 3, skipping...", "oom"},
	{"OOM with batch size 8. Halving batch size.", "oom fallback"},
	{"OOM at 4096 tokens - try smaller chunk size", "oom"},
	{"OOM detected! Retrying with smaller batch...", "oom fallback"},
	{"OOM on batch starting at a.wav, skipping 3 files.", "oom"},
	{"WARNING - lime - OOM — halved max_batch to 4", "oom fallback"},
	{"[OOM] reducing block from 256 -> 128", "oom fallback"},
	{"[OOM] bs=8 -> 4. Retrying...", "oom fallback"},
	{"[OOM] CUDA out of memory at iteration 3 (batch_size=8). Splitting batch and retrying.", "oom fallback"},
	{"      [OOM] restart 3 encountered CUDA OOM; aborting current trial", "oom"},
	{"SAM3 fell back to CPU due to GPU OOM", "oom fallback"},
	{"✗ Batch failed: OOM - reducing batch size", "oom fallback"},
	{"CUDA out of memory! Reducing the batch size may help.", "oom"},
	{"ERROR: CUDA out of memory: try a smaller batch", "oom"},
	{"WARNING - handling CUDA out of memory in a.wav", "oom"},
	{"WARNING - will retry a.wav after CUDA out of memory", "oom"},
	{"Batch 12 causes CUDA out of memory", "oom"},
	{"CUDA out of memory handler triggered", "oom"},
	{"CUDA out of memory recovery failed", "oom"},
	{"CUDA out of memory on file 3", "oom"},
	{"rank 0 CUDA out of memory", "oom"},
	{"4711123 RuntimeError: CUDA error: out of memory", "oom"},
	{"RuntimeError: Not enough VRAM on GPU 0 to pin expert 7", "oom"},
	{"com.nvidia.spark.rapids.jni.GpuRetryOOM: GPU OutOfMemory", "oom"},

	// The Linux kernel: mm/oom_kill.c; SchedMD/slurm: src/slurmd/slurmstepd, src/srun;
	// kubernetes/kubernetes: kubectl describe; GNU time; docker compose.
	{"Killed", "crash"},
	{"/bin/bash: line 1:  4711 Killed                  python run.py", "crash"},
	{"[12345.678901] Out of memory: Killed process 4711 (python) total-vm:8388608kB, anon-rss:7340032kB", "crash"},
	{"[12345.678901] Memory cgroup out of memory: Killed process 4711 (python) total-vm:8388608kB", "crash"},
	{"[12345.678901] Out of memory: Kill process 4711 (python) score 912 or sacrifice child", "crash"},
	{"[12345.678901] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", "crash"},
	{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of your processes may have been killed by the cgroup out-of-memory handler.", "crash"},
	{"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.", "crash"},
	{"srun: error: n1: task 0: Out Of Memory", "crash"},
	{"slurmstepd: error: Exceeded job memory limit at some point.", "crash"},
	{"      Reason:       OOMKilled", "crash"},
	{"Command terminated by signal 9", "crash"},
	{"worker-1 exited with code 137", "crash"},

	// ray-project/ray: src/ray/raylet/node_manager.cc, python/ray/exceptions.py; pytorch/pytorch:
	// torch/utils/data/_utils/signal_handling.py, torch/distributed/elastic.
	{"ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "crash"},
	{"(raylet) [2026-11-20 02:00:03,445 E 395 395] (raylet) node_manager.cc:3049: 10 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: e5d9)", "crash"},
	{"RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.", "crash"},
	{"subprocess.CalledProcessError: Command '['python', 'run.py']' died with <Signals.SIGKILL: 9>.", "crash"},
	{"E1120 02:00:03.123000 4711 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 0 (pid: 4712) of binary: /usr/bin/python", "crash"},
}

// TestFailures: each true failure gives exactly one record, of the right kind and size.
func TestFailures(t *testing.T) {
	right := 0
	for _, f := range failures {
		if got := summary(t, f.line); got != f.want {
			t.Errorf("got %q, want %q: %s", got, f.want, f.line)
			continue
		}
		right++
	}
	t.Logf("%d of %d failures are read", right, len(failures))
}

// TestPrefixes: a failure counts behind the prefix of a container, a launcher or a logger, behind a
// progress bar without a line break between them, and in colours.
func TestPrefixes(t *testing.T) {
	for _, prefix := range []string{
		"", "[rank3]: ", "[default1]:", "3: ", "[1,0]<stderr>:", "worker-1  | ", "(train pid=4711) ",
		"2026-11-20T02:00:03.123456789Z ", "2026-11-20T02:00:03.123456789Z stderr F ",
		"Nov 20 02:00:03 n1 run.sh[4711]: ", "[pod/trainer-0/trainer] ",
		" 45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]",
		"      1/100      8.12G      1.234      2.345        312        640:  45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]",
		"Epoch 3:  45%|████▌     | 105/233 [00:34<00:41,  3.10it/s, loss=1.2, lr=1e-5]",
		"Map:   0%|          | 0/1000 [00:00<?, ? examples/s]",
		"105it [00:34,  3.10it/s]",
		" 45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]\r 46%|████▌     | 106/233 [00:34<00:41,  3.10it/s]\r",
		"105/233 [=====>.......................] - ETA: 41s - loss: 1.2000 ",
		"Training ━━━━━━━━━━╸━━━━━━━━━━ 105/233  45% 0:00:41 ",
		"\x1b[31m", "\x1b[1;31m\x1b[0m\x1b[36m[rank0]:\x1b[0m ",
	} {
		for _, f := range failures {
			if got := summary(t, prefix+f.line); got != f.want {
				t.Errorf("got %q, want %q: %q", got, f.want, prefix+f.line)
			}
		}
	}
	for _, prefix := range []string{
		"2026-11-20 02:00:03,123 - asr.worker - ERROR - ", "ERROR:root:", "ERROR: ",
		"2026-11-20 02:00:03.123 | ERROR    | asr.run:main:41 - ",
		"(EngineCore_DP0 pid=964370) ERROR 03-09 09:32:24 [core.py:708] ",
		"\x1b[1;31mERROR\x1b[0m \x1b[36m[rank0]:\x1b[0m ",
	} {
		for _, f := range failures {
			if f.want == "crash" || hasLogger.MatchString(f.line) {
				continue
			}
			if got := summary(t, prefix+f.line); got != f.want {
				t.Errorf("got %q, want %q: %q", got, f.want, prefix+f.line)
			}
		}
	}
}

// hasLogger matches the lines of failures that have a logger's prefix of their own.
var hasLogger = regexp.MustCompile(`^(?:WARN|ERROR|W\d|time=|\S+ \S+ \| |\| |\[\d|\[E|\(|\d{4}-|.{0,9}:\d)`)

var builtIn = sync.OnceValue(func() *scan.Dialects { return scan.NewDialects(dialect.BuiltIn()) })

// summary returns what the built-in dialects read in a log, in the form of wording.want. Several
// failed allocations or crashes give several words.
func summary(t *testing.T, log string) string {
	t.Helper()
	var words []string
	fallback := false
	for batch, err := range scan.Batches(source.New(strings.NewReader(log+"\n")), "run.log", builtIn()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Entries {
			switch r := batch.Entries[i].Record(batch.Line).(type) {
			case record.OutOfMemory:
				words = append(words, "oom")
				if r.HasRequested {
					words = append(words, fmt.Sprint(r.Requested.Bytes))
				}
				fallback = fallback || r.NamesFallback
			case record.Crash:
				words = append(words, "crash")
			}
		}
	}
	if fallback {
		words = append(words, "fallback")
	}
	return strings.Join(words, " ")
}
