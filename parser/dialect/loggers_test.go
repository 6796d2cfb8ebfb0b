package dialect_test

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/dialecttest"
)

// TestBehindLoggers: a program may print its lines through a logger. Dialects that expect their
// text at the beginning of a line find it behind the logger's prefix, and the prefix is in no name.
func TestBehindLoggers(t *testing.T) {
	for _, prefix := range []string{
		"",
		"2026-11-20 02:00:03,123 - asr.run - INFO - ",
		"2026-11-20 02:00:03,123 INFO asr.run: ",
		"2026-11-20 02:00:03.123 | INFO     | __main__:run:41 - ",
		"2026-11-20 02:00:03.123 | SUCCESS  | asr.run:<module>:41 - ",
		"[2026-11-20 02:00:03,123][asr.run][INFO] - ",
		"[2026-11-20 02:00:03.123] [INFO] ",
		"INFO:asr.run:",
		"INFO 11-20 02:00:03 [core.py:708] ",
		"INFO 2026-11-20 02:00:03.123 run.py:41] ",
		"I1120 02:00:03.123456    4711 run.cc:41] ",
		"11/20/2026 02:00:03 - INFO - __main__ -   ",
		"[INFO|trainer.py:2128] 2026-11-20 02:00:03,123 >> ",
		"[rank3]: 2026-11-20 02:00:03,123 - asr.run - INFO - ",
	} {
		for _, c := range []dialecttest.Case{
			{"blocks of devices under a title", `
GPU Memory before training:
GPU 0: NVIDIA L40S
  Total memory: 48.00 GB
  Memory allocated: 1.00 GB
  Memory reserved: 1.50 GB
GPU 1: NVIDIA L40S
  Total memory: 48.00 GB
  Memory allocated: 2.00 GB
`, `
3 checkpoint "GPU Memory before training" allocated=1024MiB reserved=1536MiB total=49152MiB
7 checkpoint "GPU Memory before training" gpu1 allocated=2048MiB total=49152MiB
`},
			{"the lines under Memory Usage", `
Memory Usage:
Allocated: 1.5 GB
Cached:    2.0 GB
`, `
1 checkpoint "Memory Usage" allocated=1536MiB reserved=2048MiB
`},
			{"three lines and a configuration", `
Allocated: 1.25 GB
Reserved: 2.00 GB
Max allocated: 3.00 GB
✅ GAN config OK - 3.50 GB used
`, `
3 checkpoint "GPU memory" allocated=1280MiB reserved=2048MiB peak=3072MiB
4 checkpoint "GAN config" allocated=3584MiB
`},
			{"named stages", `
Epoch 3 start - Allocated: 1.25GB, Cached: 2.00GB, Max: 3.00GB
GPU memory after cleanup - Allocated: 0.25GB, Cached: 0.50GB
`, `
1 checkpoint "Epoch 3 start" allocated=1280MiB reserved=2048MiB peak=3072MiB
2 checkpoint "GPU memory after cleanup" allocated=256MiB reserved=512MiB
`},
			// The first number is cut off: it is 18564.5 MiB, give or take 0.5 MiB.
			{"a pattern that begins with ^", `
allocating 18564 MiB for activations
{"mode": "train", "epoch": 1, "iter": 50, "memory": 4567, "loss": 1.2, "time": 0.555}
`, `
1 checkpoint "activations" buffer=19466289152B
2 checkpoint "train" peak=4567MiB
`},
			{"the table of YOLO", `
Ultralytics 8.3.100 🚀 Python-3.11.12 torch-2.6.0
      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
        1/3      2.50G     1.2       1.3       1.4         10        640: 100%
        2/3      3.00G     1.2       1.3       1.4         10        640: 100%
`, `
3 checkpoint "epoch" reserved=2560MiB
4 checkpoint "epoch" reserved=3072MiB
`},
			{"a message and the sizes below it", `
Engine before forward
MA 1.50 GB         Max_MA 2.00 GB         CA 2.50 GB         Max_CA 3 GB
`, `
2 checkpoint "Engine before forward" allocated=1536MiB reserved=2560MiB peak=2048MiB peak_reserved=3072MiB
`},
			{"a table of PyTorch", `
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 1                 |
|---------------------------------------------------------------------------|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |   5000 KiB |   6000 KiB |   9000 KiB |   4000 KiB |
|===========================================================================|
`, `
2 checkpoint "memory summary" gpu1 allocated=5120512B peak=6144512B
`},
			{"nvidia-smi -q", `
==============NVSMI LOG==============
GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 24576 MiB
        Reserved                          : 300 MiB
        Used                              : 1000 MiB
        Free                              : 23276 MiB
`, `
3 checkpoint "nvidia-smi" total=24576MiB free=23276MiB used=1000MiB
`},
			{"a record of TensorRT that a logger broke", `
[MemUsageChange] Init cuDNN: CPU +1, GPU +10, now: CPU 2008, GPU
3895 (MiB)
`, `
1 checkpoint "Init cuDNN" used=3895MiB
1 change "Init cuDNN" used=10MiB
`},
		} {
			t.Run(prefix+c.Name, func(t *testing.T) {
				log := prefix + strings.ReplaceAll(strings.TrimSpace(c.Log), "\n", "\n"+prefix)
				got := dialecttest.Show(t, dialecttest.Batches(log+"\n", dialect.BuiltIn()))
				if strings.HasPrefix(prefix, "[rank3]") {
					c.Want, got = withoutRank(c.Want), withoutRank(got)
				}
				dialecttest.Compare(t, c.Want, got)
			})
		}
	}
}

// withoutRank returns a text without the rank of its records.
func withoutRank(text string) string { return strings.ReplaceAll(text, " rank3", "") }
