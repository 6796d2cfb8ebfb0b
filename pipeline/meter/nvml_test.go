package meter

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

const total = 40 << 30

// gpu is a device of the mock driver: its bytes in use, and the processes that use them.
type gpu struct {
	used      uint64
	processes []nvml.ProcessInfo
	drawing   []nvml.ProcessInfo
	denied    bool // the driver does not permit to list processes
	old       bool // the driver has only the first version of the memory call
	lost      bool // with old: the first version fails too
}

func (g *gpu) device(index int) nvml.Device {
	return &mock.Device{
		GetNameFunc: func() (string, nvml.Return) { return "NVIDIA H200", nvml.SUCCESS },
		GetUUIDFunc: func() (string, nvml.Return) {
			return "GPU-" + string(rune('a'+index)), nvml.SUCCESS
		},
		GetPciInfoFunc: func() (info nvml.PciInfo, _ nvml.Return) {
			for i, c := range "00000000:C" + string(rune('1'+index)) + ":00.0" {
				info.BusId[i] = int8(c)
			}
			return info, nvml.SUCCESS
		},
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			if g.old {
				return nvml.Memory_v2{}, nvml.ERROR_FUNCTION_NOT_FOUND
			}
			return nvml.Memory_v2{Total: total, Used: g.used, Reserved: 500 << 20}, nvml.SUCCESS
		},
		GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) {
			if g.lost {
				return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST
			}
			return nvml.Memory{Total: total, Used: g.used + 500<<20}, nvml.SUCCESS
		},
		GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			if g.denied {
				return nil, nvml.ERROR_NO_PERMISSION
			}
			return g.processes, nvml.SUCCESS
		},
		GetGraphicsRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			if g.denied {
				return nil, nvml.ERROR_NO_PERMISSION
			}
			return g.drawing, nvml.SUCCESS
		},
	}
}

func openMock(t *testing.T, gpus ...*gpu) *NVML {
	t.Helper()
	closed := false
	n, err := open(&mock.Interface{
		InitFunc: func() nvml.Return { return nvml.SUCCESS },
		SystemGetDriverVersionFunc: func() (string, nvml.Return) {
			return "550.54.15", nvml.SUCCESS
		},
		DeviceGetCountFunc: func() (int, nvml.Return) { return len(gpus), nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return gpus[i].device(i), nvml.SUCCESS
		},
		ShutdownFunc: func() nvml.Return {
			closed = true
			return nvml.SUCCESS
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil || !closed {
			t.Errorf("closing: %v, library closed: %v", err, closed)
		}
	})
	return n
}

func TestDevices(t *testing.T) {
	n := openMock(t, &gpu{}, &gpu{old: true})
	want := []DeviceInfo{
		{Index: 0, Name: "NVIDIA H200", UUID: "GPU-a", Bus: "00000000:c1:00.0", Total: total},
		{Index: 1, Name: "NVIDIA H200", UUID: "GPU-b", Bus: "00000000:c2:00.0", Total: total},
	}
	if diff := cmp.Diff(want, n.Devices()); diff != "" {
		t.Error(diff)
	}
	if n.Driver() != "550.54.15" {
		t.Errorf("driver %q", n.Driver())
	}
	for bus, index := range map[string]int{
		"0000:c1:00.0": 0, "0000:C2:00.0": 1,
		"0000:ff:00.0": 0, "": 0,
	} {
		if got := n.IndexOf(bus); got != index {
			t.Errorf("bus %q: expected GPU %d, found %d", bus, index, got)
		}
	}
}

func TestUse(t *testing.T) {
	const pid, other = 4711, 1
	mine := func(bytes uint64) nvml.ProcessInfo {
		return nvml.ProcessInfo{Pid: pid, UsedGpuMemory: bytes}
	}
	theirs := nvml.ProcessInfo{Pid: other, UsedGpuMemory: 9 << 30}
	for _, test := range []struct {
		name string
		gpus []*gpu
		want []Use
	}{
		{
			"listed",
			[]*gpu{{used: 10 << 30, processes: []nvml.ProcessInfo{theirs, mine(1 << 30)}}},
			[]Use{{0, 0, 1 << 30, total, "process", 10 << 30, 9 << 30}},
		},
		{
			"listed on one of two",
			[]*gpu{
				{used: 9 << 30, processes: []nvml.ProcessInfo{theirs}},
				{used: 2 << 30, processes: []nvml.ProcessInfo{mine(2 << 30)}},
			},
			[]Use{{0, 0, 0, total, "process", 9 << 30, 9 << 30}, {
				1, 1, 2 << 30, total, "process",
				2 << 30, 0,
			}},
		},
		{
			"listed once for each part of a GPU",
			[]*gpu{{used: 3 << 30, processes: []nvml.ProcessInfo{mine(1 << 30), mine(2 << 30)}}},
			[]Use{{0, 0, 3 << 30, total, "process", 3 << 30, 0}},
		},
		{
			"other namespace's pids",
			[]*gpu{{used: 9 << 30, processes: []nvml.ProcessInfo{theirs}}},
			[]Use{{0, 0, 9 << 30, total, "device", 9 << 30, 0}},
		},
		{"empty list", []*gpu{{used: 2 << 30}}, []Use{{
			0, 0, 2 << 30, total, "device",
			2 << 30, 0,
		}}},
		{
			"list denied",
			[]*gpu{{used: 2 << 30, denied: true}},
			[]Use{{0, 0, 2 << 30, total, "device", 2 << 30, 0}},
		},
		{
			"memory not available",
			[]*gpu{{used: 2 << 30, processes: []nvml.ProcessInfo{mine(^uint64(0))}}},
			[]Use{{0, 0, 2 << 30, total, "device", 2 << 30, 0}},
		},
		{"old driver", []*gpu{{used: 2 << 30, old: true}}, []Use{{
			0, 0, 2<<30 + 500<<20, total,
			"device", 2<<30 + 500<<20, 0,
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := openMock(t, test.gpus...).Use([]int{pid})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGPUReadsThisProcess(t *testing.T) {
	card := &gpu{used: 10 << 30, processes: []nvml.ProcessInfo{{
		Pid:           uint32(os.Getpid()),
		UsedGpuMemory: 1 << 30,
	}}}
	other := &gpu{old: true}
	n := openMock(t, other, card)
	device, err := n.GPU(1)
	if err != nil {
		t.Fatal(err)
	}
	reading, err := device.Read()
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[record.Quantity]int64{
		record.Allocated: 1 << 30,
		record.Reserved:  1 << 30, record.Used: 1 << 30, record.Total: total,
	} {
		if got := reading.Bytes(q); got != want {
			t.Errorf("%s: expected %d, found %d", q, want, got)
		}
	}
	if device.Lane() != (record.Lane{Device: 1}) {
		t.Errorf("lane %+v", device.Lane())
	}
	worker := nvml.ProcessInfo{Pid: 1 << 22, UsedGpuMemory: 2 << 30}
	card.processes = append(card.processes, worker)
	device.Others = func() []int { return []int{int(worker.Pid)} }
	if reading, err = device.Read(); err != nil || reading.Bytes(record.Allocated) != 3<<30 {
		t.Errorf("with a worker: expected %d, found %d, %v", int64(3<<30),
			reading.Bytes(record.Allocated), err)
	}
	other.lost = true
	if _, err = device.Read(); err != nil {
		t.Errorf("if another GPU is lost: found %v", err)
	}
	for _, index := range []int{-1, 2} {
		if _, err := n.GPU(index); err == nil || !strings.Contains(err.Error(), "from 0 to 1") {
			t.Errorf("GPU %d: found error %v", index, err)
		}
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND: "no NVIDIA driver: libnvidia-ml.so.1 was not found",
		nvml.ERROR_DRIVER_NOT_LOADED: "no NVIDIA driver: libnvidia-ml is there, but the kernel " +
			"module is not loaded",
		nvml.ERROR_NO_PERMISSION: "nvmlInit: ",
	} {
		_, err := open(&mock.Interface{InitFunc: func() nvml.Return { return ret }})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d: expected an error %q, found %v", ret, want, err)
		}
		if none := ret != nvml.ERROR_NO_PERMISSION; errors.Is(err, ErrNoDriver) != none {
			t.Errorf("%d: errors.Is(%v, ErrNoDriver) is %v", ret, err, !none)
		}
	}
}

// TestOpenNVML: opening the driver works, or gives a clear error on a machine without a driver.
func TestOpenNVML(t *testing.T) {
	n, err := OpenNVML()
	if errors.Is(err, ErrNoDriver) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	if n.Driver() == "" {
		t.Error("the driver has no version")
	}
	uses, err := n.Use([]int{os.Getpid()})
	if err != nil || len(uses) != len(n.Devices()) {
		t.Errorf("%d devices, %d uses, %v", len(n.Devices()), len(uses), err)
	}
}
