package dialect

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// TestPrints: prints that are common in people's own scripts are read.
func TestPrints(t *testing.T) {
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"allocated", "GPU memory allocated: 1.25 GB\n", `
1 checkpoint "GPU memory" allocated=1280MiB
`},
		{"reserved", "GPU memory reserved: 2.00 GB\n", `
1 checkpoint "GPU memory" reserved=2048MiB
`},
		{"the peak", "Max memory allocated: 1.5 GB\n", `
1 checkpoint "GPU memory" peak=1536MiB
`},
		{"the peak of the card", "Peak GPU memory: 3.25 GB\n", `
1 checkpoint "GPU memory" peak=3328MiB
`},
		{"VRAM", "Peak VRAM: 3.5 GB\n", `
1 checkpoint "GPU memory" peak=3584MiB
`},
		{"words in another order", "Allocated memory: 512.5 MB\n", `
1 checkpoint "GPU memory" allocated=537395200B
`},
		{"a name before a dash", "Model loaded - GPU memory allocated: 1.25 GB\n", `
1 checkpoint "Model loaded" allocated=1280MiB
`},
		{"a name in the label", `
GPU Memory Before A: 1.25GB allocated
GPU Memory After A: 0.25GB allocated, 0.5GB reserved
`, `
1 checkpoint "Before A" allocated=1280MiB
2 checkpoint "After A" allocated=256MiB reserved=512MiB
`},
		{"an emoji", "🧹 Before X: Allocated: 0.25GB | Reserved: 0.50GB\n", `
1 checkpoint "Before X" allocated=256MiB reserved=512MiB
`},
		{"a logger's prefix", `
2026-01-10 02:14:07,123 - pipeline.gpu - INFO - After X - GPU memory allocated: 1.25 GB
INFO:root:GPU memory allocated = 1.25 GB
[After Y] GPU memory allocated: 1.25 GB
[Step 10] GPU memory allocated: 1.25 GB
`, `
1 checkpoint "After X" allocated=1280MiB
2 checkpoint "GPU memory" allocated=1280MiB
3 checkpoint "After Y" allocated=1280MiB
4 checkpoint "Step" allocated=1280MiB
`},
		{"upper and lower case, and units", `
GPU MEMORY ALLOCATED: 1.25 GIB
gpu memory allocated=1.25gb
GPU Memory Allocated : 1280 MiB
Gpu memory allocated: 1,342,177,280 bytes
GPU memory allocated (GB): 1.25
GPU memory allocated [MB] = 1280
GPU memory allocated: 1310720 KB
gpu memory allocated is 1.25 GB
`, `
1 checkpoint "GPU memory" allocated=1280MiB
2 checkpoint "GPU memory" allocated=1280MiB
3 checkpoint "GPU memory" allocated=1280MiB
4 checkpoint "GPU memory" allocated=1280MiB
5 checkpoint "GPU memory" allocated=1280MiB
6 checkpoint "GPU memory" allocated=1280MiB
7 checkpoint "GPU memory" allocated=1280MiB
8 checkpoint "GPU memory" allocated=1280MiB
`},
		{"several quantities", `
GPU memory allocated: 1.25 GB, reserved: 2.00 GB
After A | GPU memory allocated 1.25 GB | max allocated 1.5 GB
CUDA memory: allocated=1.25GB reserved=2GB peak=3GB
GPU 1: memory allocated: 1.25 GB (5.2%), memory reserved: 2.00 GB (8.3%)
cuda:2 memory used: 1.5 GB / 24 GB
[GPU] memory used 1.5 GiB of 24 GiB
VRAM used: 9.25/16.0GB
RAM: 12.0 GB | VRAM used: 1.5 GB | Disk: 20 GB
GPU memory - used: 1.25 GB, reserved: 2.00 GB
CUDA Memory: 1.25GB allocated / 2.0GB reserved
GPU 3 memory: 1.25 GB used, 22.75 GB free
rank 2: GPU memory allocated: 1.25 GB
Epoch [1/10] GPU memory allocated: 1.25 GB
step 100: loss=0.5, gpu_mem=1.25GB
[VRAM][load] alloc=1280MB, reserved=2048MB, peak=3072MB
         After forward: allocated  1280.00 MiB, reserved  2048.00 MiB, total VRAM 24576.00 MiB
-> Initial GPU memory allocated: 1.25 GB
`, `
1 checkpoint "GPU memory" allocated=1280MiB reserved=2048MiB
2 checkpoint "After A" allocated=1280MiB peak=1536MiB
3 checkpoint "GPU memory" allocated=1280MiB reserved=2048MiB peak=3072MiB
4 checkpoint "GPU memory" gpu1 allocated=1280MiB reserved=2048MiB
5 checkpoint "GPU memory" gpu2 total=24576MiB used=1536MiB
6 checkpoint "GPU memory" total=24576MiB used=1536MiB
7 checkpoint "GPU memory" total=16384MiB used=9472MiB
8 checkpoint "GPU memory" used=1536MiB
9 checkpoint "GPU memory" allocated=1280MiB reserved=2048MiB
10 checkpoint "GPU memory" allocated=1280MiB reserved=2048MiB
11 checkpoint "GPU memory" gpu3 free=23296MiB used=1280MiB
12 checkpoint "GPU memory" rank2 allocated=1280MiB
13 checkpoint "Epoch" allocated=1280MiB
14 checkpoint "step" allocated=1280MiB
15 checkpoint "load" allocated=1280MiB reserved=2048MiB peak=3072MiB
16 checkpoint "After forward" allocated=1280MiB reserved=2048MiB total=24576MiB
17 checkpoint "GPU memory" allocated=1280MiB
`},
		{"a block of lines", `
GPU memory allocated: 1.25 GB
GPU memory reserved: 2.00 GB
Max memory allocated: 1.5 GB
GPU memory allocated: 1.0 GB
GPU memory reserved: 2.00 GB
loss 0.1
GPU memory after loading:
  Allocated: 0.25 GB
  Reserved: 0.5 GB
Memory status after cleanup:
GPU memory allocated: 0.25 GB
GPU memory cached: 0.5 GB
`, `
1 checkpoint "GPU memory" allocated=1280MiB reserved=2048MiB peak=1536MiB
4 checkpoint "GPU memory" allocated=1024MiB reserved=2048MiB
8 checkpoint "after loading" allocated=256MiB reserved=512MiB
11 checkpoint "after cleanup" allocated=256MiB reserved=512MiB
`},
		{"the moment", `
GPU memory allocated before training: 1.25 GB
GPU memory allocated: 1.25 GB after epoch 3
After loading the model, GPU memory allocated: 1.25 GB
File 3 (of 8) done - Max memory allocated: 1.25 GB
After the expected warm-up - GPU memory allocated: 1.25 GB
Model loaded (fp16) - GPU 1 - GPU memory allocated: 1.25 GB
Peak GPU memory during training: 3.25 GB
GPU memory after cleanup: 0.25 GB
VRAM before load = 512 MiB
Epoch 3/10 | loss: 0.5 | GPU memory allocated: 1.25 GB
`, `
1 checkpoint "before training" allocated=1280MiB
2 checkpoint "after epoch 3" allocated=1280MiB
3 checkpoint "After loading the model" allocated=1280MiB
4 checkpoint "File 3 (of 8) done" peak=1280MiB
5 checkpoint "After the expected warm-up" allocated=1280MiB
6 checkpoint "Model loaded (fp16)" gpu1 allocated=1280MiB
7 checkpoint "during training" peak=3328MiB
8 checkpoint "after cleanup" allocated=256MiB
9 checkpoint "before load" allocated=512MiB
10 checkpoint "Epoch" allocated=1280MiB
`},
		{"calls of PyTorch", `
torch.cuda.memory_allocated()=1342177280
torch.cuda.max_memory_allocated(0): 1342177280
torch.cuda.memory_reserved: 1.25 GB
`, `
1 checkpoint "GPU memory" allocated=1280MiB
2 checkpoint "GPU memory" reserved=1280MiB peak=1280MiB
`},
		{"several devices in a line", `
GPU 0: 7.25 GB allocated | GPU 1: 0.50 GB allocated
Before A: GPU 0: 7.25 GB allocated | GPU 1: 0.50 GB allocated
GPU 0: 7.25 GB allocated, 8 GB reserved | GPU 1: 0.50 GB allocated, 1 GB reserved
cuda:0 memory used=1.25GB cuda:1 memory used=2.50GB
GPU 2 memory allocated: 1.25 GB, GPU 3 memory allocated: 2.5 GB after cleanup
GPU 0: 7.25/24.00 GB used, GPU 1: 0.50/24.00 GB used
GPU 1: 7.25 GB allocated | GPU 2: 0.50 GB reserved
gpu=0 allocated_mb=512 gpu=1 allocated_mb=100
allocated_mb=512 gpu=0 allocated_mb=100 gpu=1
{"gpus": [{"index": 0, "gpu_memory_used_mb": 512}, {"index": 1, "gpu_memory_used_mb": 100}]}
{"index": 7, "gpu_memory_used_mb": 512}
rank 0: GPU memory allocated: 1 GB | rank 1: GPU memory allocated: 2 GB
GPU 0: 1 GB allocated | GPU 1: 2 GB allocated | GPU 2: 3 GB allocated
gpu mem usage before=3GB after=1GB
`, `
1 checkpoint "GPU memory" allocated=7424MiB
1 checkpoint "GPU memory" gpu1 allocated=512MiB
2 checkpoint "Before A" allocated=7424MiB
2 checkpoint "Before A" gpu1 allocated=512MiB
3 checkpoint "GPU memory" allocated=7424MiB reserved=8192MiB
3 checkpoint "GPU memory" gpu1 allocated=512MiB reserved=1024MiB
4 checkpoint "GPU memory" used=1280MiB
4 checkpoint "GPU memory" gpu1 used=2560MiB
5 checkpoint "after cleanup" gpu2 allocated=1280MiB
5 checkpoint "after cleanup" gpu3 allocated=2560MiB
6 checkpoint "GPU memory" total=24576MiB used=7424MiB
6 checkpoint "GPU memory" gpu1 total=24576MiB used=512MiB
7 checkpoint "GPU memory" gpu1 allocated=7424MiB
7 checkpoint "GPU memory" gpu2 reserved=512MiB
8 checkpoint "GPU memory" allocated=512MiB
8 checkpoint "GPU memory" gpu1 allocated=100MiB
9 checkpoint "GPU memory" allocated=512MiB
9 checkpoint "GPU memory" gpu1 allocated=100MiB
10 checkpoint "GPU memory" used=512MiB
10 checkpoint "GPU memory" gpu1 used=100MiB
11 checkpoint "GPU memory" used=512MiB
12 checkpoint "GPU memory" allocated=1024MiB
12 checkpoint "GPU memory" rank1 allocated=2048MiB
13 checkpoint "GPU memory" allocated=1024MiB
13 checkpoint "GPU memory" gpu1 allocated=2048MiB
13 checkpoint "GPU memory" gpu2 allocated=3072MiB
14 checkpoint "before" allocated=3072MiB
14 checkpoint "after" allocated=1024MiB
`},
		{"several moments in a line", `
GPU memory used before: 1.5 GB, after: 0.5 GB
GPU memory: 1.5 GB used, after cleanup: 0.5 GB
GPU memory before: 1.5 GB used, 2 GB reserved, after: 0.5 GB used, 1 GB reserved
GPU memory allocated before: 1.5 GB, reserved before: 2 GB
`, `
1 checkpoint "before" used=1536MiB
1 checkpoint "after" used=512MiB
2 checkpoint "GPU memory" used=1536MiB
2 checkpoint "after cleanup" used=512MiB
3 checkpoint "before" allocated=1536MiB reserved=2048MiB
3 checkpoint "after" allocated=512MiB reserved=1024MiB
4 checkpoint "before" allocated=1536MiB reserved=2048MiB
`},
		{"the device in brackets behind the size", `
GPU memory allocated: 1GB (GPU 0), 2GB (GPU 1)
GPU memory: 1 GB allocated (GPU 0), 2 GB allocated (GPU 1)
After A: GPU memory allocated: 1 GB [cuda:2]
GPU memory allocated: 1 GB (rank 1), 2 GB (rank 2), 3 GB (rank 3)
GPU memory allocated: 1 GB on GPU 1
GPU memory allocated: 1 GB on cuda:1 after A
GPU memory: 1 GB allocated on GPU 1
`, `
1 checkpoint "GPU memory" allocated=1024MiB
1 checkpoint "GPU memory" gpu1 allocated=2048MiB
2 checkpoint "GPU memory" allocated=1024MiB
2 checkpoint "GPU memory" gpu1 allocated=2048MiB
3 checkpoint "After A" gpu2 allocated=1024MiB
4 checkpoint "GPU memory" rank1 allocated=1024MiB
4 checkpoint "GPU memory" rank2 allocated=2048MiB
4 checkpoint "GPU memory" rank3 allocated=3072MiB
5 checkpoint "GPU memory" gpu1 allocated=1024MiB
6 checkpoint "after A" gpu1 allocated=1024MiB
7 checkpoint "GPU memory" gpu1 allocated=1024MiB
`},
		{"the level of a logger is no name", `
[2026-11-20 02:00:03,123] [gpu_memory] [INFO] - allocated: 1.25 GB
gpu_memory - INFO - allocated: 1.25 GB
2026-11-20 02:00:03,123 - gpu_memory - INFO - allocated: 1.25 GB
[gpu_memory] [INFO] - After X - allocated: 1.25 GB
`, `
1 checkpoint "GPU memory" allocated=1280MiB
2 checkpoint "GPU memory" allocated=1280MiB
3 checkpoint "GPU memory" allocated=1280MiB
4 checkpoint "After X" allocated=1280MiB
`},
		{"words behind a total", `
VRAM before unload: 8.25 GB of 24.00 GB used
VRAM: 8.25 GB / 24.00 GB used
VRAM after load: 8.25/24.00 GB in use
VRAM used: 8.25 GB of 24.00 GB used
VRAM after load: 8.25GB (of 24GB) used
VRAM used: 8.25 GB / 24 GB peak 9 GB
GPU memory: 8.25 GB allocated of 24.00 GB total
GPU memory: 15 GB of 24.00 GB free, 9 GB used
8.25 GB of 24.00 GB VRAM used
epoch
GPU memory: 1.5 GB allocated of 2 GB reserved
`, `
1 checkpoint "before unload" total=24576MiB used=8448MiB
2 checkpoint "GPU memory" total=24576MiB used=8448MiB
3 checkpoint "after load" total=24576MiB used=8448MiB
4 checkpoint "GPU memory" total=24576MiB used=8448MiB
5 checkpoint "after load" total=24576MiB used=8448MiB
6 checkpoint "GPU memory" total=24576MiB peak=9216MiB used=8448MiB
7 checkpoint "GPU memory" allocated=8448MiB total=24576MiB
8 checkpoint "GPU memory" total=24576MiB free=15360MiB used=9216MiB
9 checkpoint "GPU memory" total=24576MiB used=8448MiB
11 checkpoint "GPU memory" allocated=1536MiB reserved=2048MiB
`},
		{"a failure in the line", `
GPU memory allocated: 1.25 GB CUDA out of memory. Tried to allocate 2.00 GiB.
`, `
1 out-of-memory requested=2048MiB
1 checkpoint "GPU memory" allocated=1280MiB
`},
		{"two writers in one line", `
GPU memory allocated: 1.25 GB | GPU memory allocated: 1.5 GB
`, `
1 checkpoint "GPU memory" allocated=1280MiB
1 checkpoint "GPU memory" allocated=1536MiB
`},
	})
}

// TestFields: fields with the unit in the key are read, in the forms of logfmt, of structlog and of
// JSON.
func TestFields(t *testing.T) {
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"bare fields", `
allocated_mb=512.5
gpu_mem_gb=1.25
vram_used_bytes=1342177280
gpu_memory_allocated_mb: 1280
cuda_memory_reserved_gb=1.25
gpu_peak_memory_gib=1.25
max_memory_allocated_mib=1280
gpuMemoryAllocatedMB=1280
train/gpu_mem_allocated_gb=1.25
`, `
1 checkpoint "GPU memory" allocated=537395200B
2 checkpoint "GPU memory" allocated=1280MiB
3 checkpoint "GPU memory" used=1280MiB
4 checkpoint "GPU memory" allocated=1280MiB
5 checkpoint "GPU memory" reserved=1280MiB
6 checkpoint "GPU memory" peak=1280MiB
7 checkpoint "GPU memory" peak=1280MiB
8 checkpoint "GPU memory" allocated=1280MiB
9 checkpoint "GPU memory" allocated=1280MiB
`},
		{"JSON", `
{"checkpoint": "After A", "allocated_mb": 512, "reserved_mb": 1024}
{"ts":"2026-01-10T02:14:07Z","level":"info","event":"After B","allocated_mb":"512","gpu":1}
{"allocated_mb": 512, "reserved_mb": null, "message": "After \"C\"", "rank": 3}
{"step": 17, "gpu_memory_allocated_gb": 1.25}
{"stage": "Before D", "gpu": {"allocated_bytes": 1342177280, "reserved_bytes": 2147483648}}
{"event": "memory", "step": 4, "allocated_mb": 512}
{'msg': 'After E', 'allocated_mb': 512}
{"message": "After F - GPU memory allocated: 1.25 GB", "level": "info"}
`, `
1 checkpoint "After A" allocated=512MiB reserved=1024MiB
2 checkpoint "After B" gpu1 allocated=512MiB
3 checkpoint "After \"C\"" rank3 allocated=512MiB
4 checkpoint "step" allocated=1280MiB
5 checkpoint "Before D" allocated=1280MiB reserved=2048MiB
6 checkpoint "step" allocated=512MiB
7 checkpoint "After E" allocated=512MiB
8 checkpoint "After F" allocated=1280MiB
`},
		{"logfmt and structlog", `
event="After A" allocated_mb=512 reserved_mb=1024
ts=2026-01-10T02:14:07Z level=info msg="After B" allocated_mb=512 reserved_mb=1024
2026-01-10 02:14:07 [info     ] After C                        allocated_mb=512 reserved_mb=1024
allocated_mb=512 checkpoint="After D"
2026-01-10 02:14:07 [info     ] Model loaded                   step=3 allocated_mb=512
checkpoint=After_E allocated_mb=512 device=cuda:1
step=7 allocated_mb=512
level=info msg="gpu memory" stage=before allocated_bytes=1342177280 reserved_bytes=2147483648
stage=after_x allocated_mb=512.0 reserved_mb=1024.0
mode=peak allocated_mb=512
`, `
1 checkpoint "After A" allocated=512MiB reserved=1024MiB
2 checkpoint "After B" allocated=512MiB reserved=1024MiB
3 checkpoint "After C" allocated=512MiB reserved=1024MiB
4 checkpoint "After D" allocated=512MiB
5 checkpoint "Model loaded" allocated=512MiB
6 checkpoint "After_E" gpu1 allocated=512MiB
7 checkpoint "step" allocated=512MiB
8 checkpoint "before" allocated=1280MiB reserved=2048MiB
9 checkpoint "after_x" allocated=512MiB reserved=1024MiB
10 checkpoint "GPU memory" allocated=512MiB
`},
	})
}

// TestPrintNearMisses: healthy lines that are not a reading of GPU memory give nothing.
func TestPrintNearMisses(t *testing.T) {
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{{"near misses", `
Disk allocated: 12.0 GB
Disk space reserved: 5 GB, allocated: 6 GB
Allocated: 10 GB
Storage: Allocated: 10 GB | Reserved: 2 GB
Host memory allocated: 12.0 GB
CPU memory allocated: 12.0 GB
CPU: Allocated memory: 512.3 MB, Reserved memory: 600 MB
System memory reserved: 2.00 GB
Shared memory allocated: 64 MB
Pinned memory allocated: 64 MB
RAM used: 12 GB / 64 GB
RAM: memory used: 12 GB
Memory used: 12 GB
Memory usage: 12.5 GB
Peak memory: 4.305 GB
Peak memory usage: 812 MB
Maximum resident memory: 812 MB
JVM heap: Allocated memory: 512.3 MB
Executor memory reserved: 2 GB
Redis: memory cached: 3 GB
Cached memory: 3 GB
Model size: 1.23 GB
Model memory: 1.23 GB
model.safetensors: 100%|####| 1.23GB/1.23GB [00:10<00:00, 123MB/s]
Downloading 1.25 GB allocated to shard 3
Downloaded 2.5 GB in 12 s
File size: 1.23 GB
Checkpoint saved: 512 MB
GPU KV cache size: 1.25 GB
KV cache memory: 3.0 GB
GPU memory for KV cache: 3.0 GB
GPU memory limit: 20 GB
GPU memory required: 3.2 GB
GPU memory utilization: 0.9
gpu_memory_utilization=0.9
gpu_memory_limit_gb=20
GPU memory: 24.0 GB
VRAM: 24 GB
Total GPU memory: 24.0 GB
Max VRAM: 20 GB
max_memory_gb=20
max_gpu_memory_gb=20
Estimated GPU memory: 3.2 GB
Estimated peak VRAM: 3.2 GB
Estimate: Peak VRAM: 3.2 GB
Expected VRAM usage: 12.5GB
Peak VRAM: 3.2 GB required
Minimum VRAM: 8 GB
GPU memory bandwidth: 900 GB/s
GPU memory allocated: 900 GB/s
GPU memory clock: 1215 MHz
GPU memory allocated: 1.25
GPU memory allocated: unknown
GPU memory allocated: -1.25 GB
GPU memory allocated: 1,25 GB
print(f"GPU memory allocated: {a:.2f} GB")
print("GPU memory allocated: 1.25 GB")
logger.info("Peak VRAM: 3.2 GB")
file_size_mb=512
rss_mb=512.3 memory_mb=600
{"memory_used_mb": 512, "cpu_memory_allocated_mb": 12}
{"disk_allocated_gb": 12, "disk_reserved_gb": 2}
{"gpu_name": "A100", "gpu_mem_gb": 80}
total_vram_gb=24
num_gpus=8 vram_gb=80
pod memory reserved: 2 GB
Allocated 12 GB of 64 GB
[gpu-node-3] memory used: 12 GB
VRAM available: 22 GB
This model requires 8GB VRAM
Loaded model in 2.3 GB of VRAM
Set vram state to: NORMAL_VRAM
Low VRAM mode: offloads 3 GB
VRAM=24GB
Free GPU memory: 20.0 GB
Freed GPU memory: 1.25 GB
GPU memory allocated: 5%
GPU memory allocated: ~1.25 GB
GPU memory used: 1.5 GB -> 0.5 GB
GPU memory used: 1.5 GB → 0.5 GB
GPU memory used (before/after): 1.5 GB / 0.5 GB
GPU memory for activations: 3 GB reserved for peak
Swap used: 1 GB, memory used: 2 GB
docker: memory reserved: 2GB
container memory reserved: 2GB
torch 2.6.0 allocated 3 streams
image tokens: 512 allocated_slots=3
allocated_blocks=512 reserved_blocks=3
`, ``}, {"Markdown", "It prints `GPU memory allocated: 1.25 GB`.\n", ""}})
}

// TestPrintNumbers: the numbers of a line that are no sizes take no time for their labels.
func TestPrintNumbers(t *testing.T) {
	line := []byte("<div>GPU memory allocated </div>" + strings.Repeat(" 1it 2it 3it [0:0", 120))
	allocations := testing.AllocsPerRun(10, func() { parsePrint(line, 0, 5, 0) })
	if allocations > 20 {
		t.Errorf("%v allocations for numbers without a unit", allocations)
	}
	line = []byte("GPU memory allocated" + strings.Repeat(" 10 GB of files,", 120))
	allocations = testing.AllocsPerRun(10, func() { parsePrint(line, 0, 5, 0) })
	if allocations > 500 {
		t.Errorf("%v allocations for sizes of something else", allocations)
	}
	fields := []byte(strings.Repeat("loss=0.1 ", 60) + "gpu_memory_allocated_mb=512")
	if p := parsePrint(fields, 0, bytes.IndexByte(fields, 0x67), 0); len(p.items) != 1 {
		t.Errorf("a size behind many fields is not read: %v", p.items)
	}
}

// TestPrintNeedles: the many needles of a line without a size of its own are not read one by one.
func TestPrintNeedles(t *testing.T) {
	calls, counted := 0, printDialect
	counted.Read = func(l *scan.Line, at int) int {
		calls++
		return readPrint(l, at)
	}
	log := strings.Repeat("VRAM 1 GB x", 180) + "\n"
	for _, err := range dialecttest.Batches(log, []*scan.Dialect{&counted}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls == 0 || calls > 8 {
		t.Errorf("the line was read %d times", calls)
	}
}

// TestPrintHostile: lines of random pieces of prints are read without a panic, and each checkpoint
// has a size that is not negative.
func TestPrintHostile(t *testing.T) {
	pieces := []string{
		"GPU memory", "allocated", "reserved", "VRAM", "Peak ", "Before ", "After A", ": ", "=", " - ",
		"1.25", "2", " GB", "MB", "(", ")", "[", "]", "(GB)", "_mb", "allocated_mb", `"`, "'", "{", "}",
		"checkpoint", "event=", ",", "|", "/", " of ", "cuda:0", "gpu 1", "🧹", "：", "\xff", "\t", "\r",
		"-", "~", "1,234,567", "999999999999999999999", "step 3", "rank 1", "memory_allocated()", "\n",
	}
	random := rand.New(rand.NewPCG(5, 6))
	var log strings.Builder
	for range 100_000 {
		for range 1 + random.IntN(12) {
			log.WriteString(pieces[random.IntN(len(pieces))])
		}
		log.WriteByte('\n')
	}
	read := 0
	for batch, err := range dialecttest.Batches(log.String(), BuiltIn()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Entries {
			c, ok := batch.Entries[i].Record(0).(record.Checkpoint)
			if !ok || c.Dialect != "print" {
				continue
			}
			read++
			for q, s := range c.All() {
				if s.Bytes < 0 {
					t.Errorf("line %d: %s=%d", c.Pos.Line, q, s.Bytes)
				}
			}
		}
	}
	if read < 100 {
		t.Errorf("%d checkpoints were read, which is too few for this test", read)
	}
}
