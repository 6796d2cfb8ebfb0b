package text

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/inspect"
	"vramsoak/pipeline/meter"
)

// TestTensors: the text of doctor --force, for a process with names that would harm a terminal, one
// that has no torch, and one that has no tensors.
func TestTensors(t *testing.T) {
	processes := []TensorProcess{
		{"python3 transcribe.py", &inspect.Answer{
			PID: 7, HostPID: 4711, Rank: "3", Torch: "2.9",
			Devices: []inspect.Device{
				{Device: "cpu", Count: 1, Bytes: 8},
				{Device: "cuda:0", Count: 1261, Bytes: 3 << 30, Allocated: 4 << 30, Reserved: 5 << 30},
			},
			Groups: []inspect.Group{
				{
					Shape: []int64{1, 3000, 80}, DType: "float32", Device: "cuda:0", Count: 1200,
					Bytes: 3 << 30, Where: "list kept in \x1b[31mwork()\n (a.py:7)",
				},
				{Device: "cpu", DType: "int64", Count: 1, Bytes: 8},
			},
			More: inspect.Sums{Groups: 2, Count: 61, Bytes: 5 << 20},
		}},
		{"", &inspect.Answer{PID: 8}},
		{"", &inspect.Answer{PID: 9, Torch: "2.9"}},
	}
	const want = `pid 4711, rank 3 (python3 transcribe.py)
cpu: 1 tensor, 8 B
cuda:0: 1,261 tensors, 3.00 GiB; allocated 4.00 GiB, so 1.00 GiB are rounding or held by C++ only
   Bytes  Tensors  Shape      Type     Device  Held by
3.00 GiB    1,200  1x3000x80  float32  cuda:0  list kept in \x1b[31mwork()\n (a.py:7)
     8 B        1  scalar     int64    cpu     not known: C++, or a temporary reference
2 more rows: 61 tensors, 5.00 MiB

pid 8: the process has not imported torch

pid 9: no tensors
`
	var out bytes.Buffer
	if err := Tensors(&out, processes, Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestGPUMemory(t *testing.T) {
	devices := []meter.DeviceInfo{{Name: "NVIDIA H100"}, {Name: "NVIDIA A100"}}
	const want = `GPU  Name            Total      Used      Free   Share  Processes
  1  NVIDIA A100  80.0 GiB  20.0 GiB  60.0 GiB  25.0 %          2
  0  NVIDIA H100       0 B       0 B       0 B                  0
`
	var out bytes.Buffer
	if err := GPUMemory(&out, devices, []meter.Occupancy{
		{GPU: 1, Used: 20 << 30, Total: 80 << 30, Holders: make([]meter.Holder, 2)},
		{GPU: 0},
	}, Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
