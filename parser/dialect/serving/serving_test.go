package serving_test

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/serving"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

var all = []*scan.Dialect{
	&serving.TensorRT, &serving.VLLM, &serving.SGLang, &serving.GGML, &serving.Ollama,
	&serving.ComfyUI,
}

// TestVLLM and the tests of the other programs: a buffer is read with its program's unit, on the
// device or rank that the line names. Host memory, estimates, sums and program source are not
// read. A size that was cut off is an error.
func TestVLLM(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"a buffer of one rank", `
(Worker_TP1 pid=1160) INFO 03-09 09:32:16 [gpu_model_runner.py:4338] Model loading took 5.75 GiB memory and 2.56 seconds
`, `
1 checkpoint "model loading" rank1 buffer=5888MiB
`},
		{"two kinds of parallelism give no rank", `
(Worker_DP1_TP3 pid=9) INFO 03-09 09:32:20 [gpu_worker.py:424] Available KV cache memory: 14.5 GiB
`, `
1 checkpoint "KV cache" buffer=14848MiB
`},
		{"GB is 1<<30, as GiB is", `
INFO 12-06 17:07:09 model_runner.py:1077] Loading model weights took 0.25 GB
`, `
1 checkpoint "model loading" buffer=256MiB
`},
		{"the memory profile, without what it only wants to use", `
the current vLLM instance can use total_gpu_memory (47.50GiB) x gpu_memory_utilization (0.78) = 37.05GiB
model weights take 0.50GiB; non_torch_memory takes 0.25GiB; PyTorch activation peak memory takes 1.75GiB; the rest of the memory reserved for KV Cache is 34.50GiB.
`, `
1 checkpoint "memory profiling" total=48640MiB
2 checkpoint "model weights" buffer=512MiB
2 checkpoint "non-torch memory" buffer=256MiB
2 checkpoint "activation peak" buffer=1792MiB
2 checkpoint "KV cache" buffer=35328MiB
`},
		{"a negative difference is a change", `
Total non KV cache memory: 16.75GiB; torch peak memory increase: 1.50GiB; non-torch forward increase memory: -15.25GiB; weights memory: 15.25GiB.
`, `
1 checkpoint "activation peak" buffer=1536MiB
1 change "non-torch memory" buffer=-15616MiB
1 checkpoint "model weights" buffer=15616MiB
`},
		{"too little memory to start", `
ValueError: Free memory on device cuda:1 (2.5/121.75 GiB) on startup is less than desired GPU memory utilization (0.08, 9.75 GiB). Decrease ...
`, `
1 out-of-memory gpu1 requested=9984MiB total=124672MiB free=2560MiB
`},
		{"a torn size", `
INFO 03-09 [gpu_model_runner.py:4338] Model loading took 5.7
`, `
1 unreadable: expected a size such as 5.79 GiB, found "Model loading took 5.7"
`},
		{"a time, program source, a quoted error", `
Model loading took 5.75 seconds
    "Model loading took %.4f GiB and %.6f seconds", m.consumed_memory / GiB_bytes,
    raise ValueError("No available memory for the cache blocks. Try increasing ")
`, ``},
	})
}

func TestGGML(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"buffers by their backend", `
load_tensors:        CUDA2 model buffer size = 17931.50 MiB
load_tensors:   CPU_Mapped model buffer size =   315.30 MiB
llama_kv_cache:      CUDA3 KV buffer size =   320.00 MiB
llama_kv_cache: size =  640.00 MiB ( 32768 cells,  40 layers,  1/1 seqs), K (f16):  320.00 MiB
llama_context:  CUDA_Host  output buffer size =     0.58 MiB
load_tensors:   CUDA_Split model buffer size = 17931.50 MiB
`, `
1 checkpoint "CUDA2 model buffer" gpu2 buffer=18802540544B
3 checkpoint "CUDA3 KV buffer" gpu3 buffer=320MiB
`},
		{"the MB of whisper.cpp are decimal", `
whisper_model_load:        CUDA0 total size =   147.50 MB
whisper_backend_init_gpu: using CUDA1 backend
whisper_init_state: kv self size  =   18.75 MB
`, `
1 checkpoint "CUDA0 model buffer" buffer=147500000B
3 checkpoint "kv self" gpu1 buffer=18750000B
`},
		{"whisper.cpp on the CPU", `
whisper_backend_init_gpu: no GPU found
whisper_init_state: kv self size  =   18.75 MB
`, ``},
		{"the breakdown at the end, and a projected one", `
llama_memory_breakdown_print: |   - CUDA1 (RTX 3090)    | 24135 = 1234 + (6187 =  4924 +     512 +     751) +       16714 |
llama_memory_breakdown_print: |   - Host                |                  439 =   225 +     136 +      78                |
common_params_fit_impl: getting device memory data for initial parameters:
llama_memory_breakdown_print: |   - CUDA1 (RTX 3090)    | 24135 = 1234 + (6187 =  4924 +     512 +     751) +       16714 |
`, `
1 checkpoint "memory breakdown" gpu1 total=24135MiB free=1234MiB buffer=6187MiB
4 checkpoint "memory breakdown" gpu1 total=24135MiB free=1234MiB
`},
		{"a torn size, and other programs' words", `
load_tensors:        CUDA2 model buffer size = 179
the download total size = 12 MB
CUDA2 ring buffer size = 12 frames
`, `
1 unreadable: expected a size such as 5.79 GiB, found " buffer size = 179"
`},
	})
}

func TestOllama(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"a buffer on a device, not on the CPU", `
time=2026-04-02T13:12:02.143Z level=INFO source=ggml.go:1 msg="model weights" device=CUDA1 size="13.5 GiB"
time=2026-04-02T13:12:02.143Z level=INFO source=ggml.go:1 msg="model weights" device=CPU size="13.5 GiB"
`, `
1 checkpoint "CUDA1 model weights" gpu1 buffer=13824MiB
`},
		{"available memory, not the required estimate", `
time=... msg="new model will fit in available VRAM in single GPU, loading" model=x gpu=GPU-f7223551 parallel=4 available=25302532096 required="6.5 GiB"
`, `
1 checkpoint "available for a new model GPU-f7223551" free=25302532096B
`},
		{"free memory, not what is left of it after a reserve", `
time=... msg="gpu memory" id=GPU-f7223551 library=CUDA available="23.1 GiB" free="23.5 GiB" minimum="457.0 MiB"
`, `
1 checkpoint "gpu memory GPU-f7223551" free=24064MiB
`},
		{"a torn line", `
time=... msg="model weights" device=CUDA1 size="13.
`, `
1 unreadable: expected a size such as "13.3 GiB" in the fields of "model weights", found "msg=\"model weights\" device=CUDA1 size=\"13."
`},
		{"two lines torn into one", `
time=... msg="model weights" device=CUDA1 size="13.5 GiB" time=... msg="kv cache" device=CUDA0 size="2.0 GiB"
`, `
1 checkpoint "CUDA1 model weights" gpu1 buffer=13824MiB
1 checkpoint "CUDA0 kv cache" buffer=2048MiB
`},
	})
}

func TestSGLang(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"a step: free memory, and what it took", `
[2026-08-01 23:39:39 TP1] Load weight end. elapsed=109.33 s, type=LagunaForCausalLM, avail mem=47.75 GB, mem usage=67.50 GB.
`, `
1 checkpoint "Load weight end" rank1 free=48896MiB buffer=69120MiB
`},
		{"the pieces of a cache, not the sum of caches", `
[2026-08-01 23:40:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 148717, K size: 10.25 GB, V size: 10.25 GB
[2026-08-01 23:40:01] SWAKVPool mem usage: 28.93 GB, swa size: 12
`, `
1 checkpoint "KV cache" buffer=20992MiB
`},
		{"a torn size", `
[2026-08-01 23:37:50] Load weight begin. avail mem=115.
`, `
1 unreadable: expected a size such as 5.79 GiB, found "avail mem=115."
`},
		{"words of another program", `
avail mem=12 GB
    f"Load weight begin. avail mem={x:.2f} GB"
`, ``},
	})
}

func TestTensorRT(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"the device's level and the change, not the host's", `
[03/02/2023-11:33:45] [TRT] [I] [MemUsageChange] Init CUDA: CPU +291, GPU -2, now: CPU 2635, GPU 1410 (MiB)
`, `
1 checkpoint "Init CUDA" used=1410MiB
1 change "Init CUDA" used=-2MiB
`},
		{"a record that a logger broke", `
[TRT] [I] [MemUsageChange] Init cuDNN: CPU +1, GPU -5, now: CPU 2008, GPU
3895 (MiB)
`, `
1 checkpoint "Init cuDNN" used=3895MiB
1 change "Init cuDNN" used=-5MiB
`},
		{"a torn record", `
[TRT] [I] [MemUsageChange] Init cuDNN: CPU +1, GPU -5, now: CP
`, `
1 unreadable: expected the memory of the CPU and of the GPU in MiB, found "[MemUsageChange] Init cuDNN: CPU +1, GPU -5, now: CP"
`},
		{"documentation, and an engine's needs with a unit", `
[MemUsageChange] NAME: CPU +N, GPU +N, now: CPU N, GPU N (MiB)
Total Activation Memory: 22 MiB
`, ``},
		{"exact bytes", `
[I] [TRT] Total Activation Memory: 22118400
`, `
1 checkpoint "activation memory" buffer=22118400B
`},
	})
}

func TestComfyUI(t *testing.T) {
	dialecttest.Run(t, all, []dialecttest.Case{
		{"what is loaded, not what is usable or on the host", `
Requested to load Lumina2
loaded partially; 3139.50 MB usable, 2595.50 MB loaded, 9143.50 MB offloaded, lowvram patches: 0
`, `
2 checkpoint "Lumina2 loaded" buffer=2721579008B
`},
		{"a model on the host", `
loaded completely;  7672.25 MB loaded, full load: True
CLIP/text encoder model load device: cpu, offload device: cpu, current: cpu, dtype: torch.float16
`, ``},
		{"a torn line", `
loaded partially; 3139.50 MB usable, 2595.99 MB lo
`, `
1 unreadable: expected how much is loaded, such as 2595.99 MB loaded, found "loaded partially; 3139.50 MB usable, 2595.99 MB lo"
`},
		{"words of other programs", `
loaded partially
loaded completely in 3.5 s
0 models unloaded.
`, ``},
	})
}

// TestHeldBuffer: HeldBuffer names only buffers that a program holds at the same time. Otherwise
// their sum would be too large.
func TestHeldBuffer(t *testing.T) {
	const model, cache = "CUDA2 model buffer", "CUDA1 kv cache"
	for _, c := range []struct {
		dialect, name string
		q             record.Quantity
		want          string
		repeat        serving.Repeat
		ok            bool
	}{
		{serving.VLLM.Name, "model loading", record.Buffer, "model weights", serving.RepeatSame, true},
		{serving.VLLM.Name, "model weights", record.Buffer, "model weights", serving.RepeatSame, true},
		{serving.VLLM.Name, "on startup", record.Free, "", 0, false},
		{serving.GGML.Name, model, record.Buffer, model, serving.RepeatOrSecond, true},
		{serving.GGML.Name, "memory breakdown", record.Buffer, "", 0, false},
		{serving.Ollama.Name, cache, record.Buffer, cache, serving.RepeatNewList, true},
		{serving.ComfyUI.Name, "model loaded", record.Buffer, "", 0, false},
	} {
		r := record.Checkpoint{Header: record.Header{Dialect: c.dialect}, Name: c.name}
		r.Set(c.q, record.Exact(1))
		name, repeat, ok := serving.HeldBuffer(&r)
		if ok != c.ok || ok && (name != c.want || repeat != c.repeat) {
			t.Errorf("%s %q: got %q, %d, %t", c.dialect, c.name, name, repeat, ok)
		}
		r.Set(record.Total, record.Exact(2))
		if _, _, ok := serving.HeldBuffer(&r); ok {
			t.Errorf("%s %q: the sum of a table is taken for a buffer", c.dialect, c.name)
		}
	}
}

// TestIsBeforeLoad: a reading of free or total memory is from before a load only if the program
// prints it at that time and the line names the device.
func TestIsBeforeLoad(t *testing.T) {
	for _, c := range []struct {
		dialect, name string
		q             record.Quantity
		want          bool
	}{
		{serving.GGML.Name, "CUDA3", record.Free, true},
		{serving.GGML.Name, "CUDA3", record.Buffer, false},
		{serving.Ollama.Name, "inference compute", record.Total, true},
		{serving.Ollama.Name, "memory available, device 2 of 2", record.Free, false},
		{serving.VLLM.Name, "on startup", record.Free, false},
	} {
		r := record.Checkpoint{Header: record.Header{Dialect: c.dialect}, Name: c.name}
		r.Set(c.q, record.Exact(1))
		if got := serving.IsBeforeLoad(&r); got != c.want {
			t.Errorf("%s %q: got %t", c.dialect, c.name, got)
		}
	}
}
