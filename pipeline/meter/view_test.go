package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

// openDGX opens go-nvml's mock of a DGX A100 with eight GPUs of 40 GiB. The mock has no lists of
// processes, so the caller gives a list for each GPU. The mock has only the first version of the
// memory call.
func openDGX(t *testing.T, on map[int][]nvml.ProcessInfo) (*NVML, []*dgxa100.Device) {
	t.Helper()
	server := dgxa100.New()
	devices := make([]*dgxa100.Device, len(server.Devices))
	for i := range server.Devices {
		d := server.Devices[i].(*dgxa100.Device)
		devices[i] = d
		d.UUID = fmt.Sprintf("GPU-%d0000000-aaaa-bbbb-cccc-dddddddddddd", i)
		d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{}, nvml.ERROR_FUNCTION_NOT_FOUND
		}
		for _, p := range on[i] {
			d.MemoryInfo.Used += p.UsedGpuMemory
		}
		d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
			return on[i], nvml.SUCCESS
		}
		d.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
	}
	n, err := open(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, devices
}

// TestVisible lists values of CUDA_VISIBLE_DEVICES with the GPUs that they name. In some values,
// CUDA stops reading before the end.
func TestVisible(t *testing.T) {
	n, _ := openDGX(t, nil)
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for value, want := range map[string][]int{
		"3":                  {3},
		"2,0":                {2, 0},
		" 2 , 0 ":            {2, 0},
		"":                   nil,
		"-1":                 nil,
		"NoDevFiles":         nil,
		"1,-1,2":             {1},
		"1,8,2":              {1},
		"1,1,2":              {1},
		"GPU-5":              {5},
		"GPU-5,GPU-60000000": {5, 6},
		"GPU-":               nil,
		"GPU-9,1":            nil,
		"MIG-0123":           all,
	} {
		if got := n.Visible(value, true); !slices.Equal(got, want) {
			t.Errorf("%q shows %v, want %v", value, got, want)
		}
	}
	if got := n.Visible("", false); !slices.Equal(got, all) {
		t.Errorf("without the variable %v are visible", got)
	}
}

// TestViewOfDGX: memory on GPUs that the pipeline cannot see does not count, and the pipeline's
// devices are numbered from 0.
func TestViewOfDGX(t *testing.T) {
	const pid, child, tenant = 100, 101, 7
	n, _ := openDGX(t, map[int][]nvml.ProcessInfo{
		0: {{Pid: tenant, UsedGpuMemory: 9 << 30}},
		3: {
			{Pid: pid, UsedGpuMemory: 1 << 30},
			{Pid: child, UsedGpuMemory: 2 << 30},
			{Pid: tenant, UsedGpuMemory: 4 << 30},
		},
	})
	if n.Driver() != "550.54.15" || len(n.Devices()) != 8 {
		t.Errorf("found driver %s with %d devices", n.Driver(), len(n.Devices()))
	}
	view := n.View(n.Visible("3,1", true))
	got, err := view.Use([]int{pid, child})
	if err != nil {
		t.Fatal(err)
	}
	want := []Use{
		{
			Device: 0, GPU: 3, Used: 3 << 30, Total: total, Source: record.SourceProcess,
			DeviceUsed: 7 << 30, Others: 4 << 30,
		},
		{Device: 1, GPU: 1, Total: total, Source: record.SourceProcess},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	occupied, err := view.occupied(procOf(t, map[int]string{
		pid:    "/dev/nvidia3",
		tenant: "/dev/null",
	}))
	if err != nil {
		t.Fatal(err)
	}
	held := []Occupancy{
		{Device: 0, GPU: 3, Used: 7 << 30, Total: total, Holders: []Holder{
			{PID: tenant, Used: 4 << 30, HasUsed: true},
			{PID: child, Used: 2 << 30, HasUsed: true},
			{PID: pid, Used: 1 << 30, HasUsed: true, Here: true},
		}},
		{Device: 1, GPU: 1, Total: total},
	}
	if diff := cmp.Diff(held, occupied); diff != "" {
		t.Error(diff)
	}
	if got, err = n.View(n.Visible("", true)).Use([]int{pid}); err != nil || len(got) != 0 {
		t.Errorf("without a visible GPU: found %+v in use, %v", got, err)
	}
}

func TestUseSaysWhichGPUFailed(t *testing.T) {
	n, devices := openDGX(t, nil)
	devices[2].GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) {
		return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST
	}
	_, err := n.View([]int{0, 2}).Use(nil)
	_, err2 := n.View([]int{0, 2}).Occupied()
	for _, err := range []error{err, err2} {
		if err == nil || !strings.HasPrefix(err.Error(), "GPU 2: nvmlDeviceGetMemoryInfo: ") {
			t.Errorf("found %v", err)
		}
	}
	if _, err := n.View([]int{0}).Use(nil); err != nil {
		t.Errorf("a healthy GPU: found %v", err)
	}
}

// procOf returns a folder like /proc, in which each process has the given file open.
func procOf(t *testing.T, open map[int]string) string {
	t.Helper()
	root := t.TempDir()
	for pid, file := range open {
		dir := filepath.Join(root, fmt.Sprint(pid), "fd")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(dir, "3")); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestOccupied(t *testing.T) {
	const gone = 8
	n := openMock(t, &gpu{
		used: 12 << 30,
		processes: []nvml.ProcessInfo{
			{Pid: 5, UsedGpuMemory: 1 << 30},
			{Pid: 6, UsedGpuMemory: ^uint64(0)},
			{Pid: 7, UsedGpuMemory: 2 << 30},
			{Pid: 7, UsedGpuMemory: 3 << 30},
			{Pid: gone, UsedGpuMemory: 1 << 20},
			{Pid: 9, UsedGpuMemory: 2 << 20},
		},
		drawing: []nvml.ProcessInfo{
			{Pid: 5, UsedGpuMemory: 1 << 30},
			{Pid: 10, UsedGpuMemory: 4 << 20},
		},
	}, &gpu{used: 3 << 20, denied: true})
	got, err := n.View(n.all()).occupied(procOf(t, map[int]string{
		5: "/dev/nvidia0", 6: "/dev/nvidiactl", 7: "/dev/dxg", 9: "/dev/null",
		10: "/dev/nvidia-uvm",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []Occupancy{
		{0, 0, 12 << 30, total, []Holder{
			{7, 5 << 30, true, true},
			{5, 1 << 30, true, true},
			{10, 4 << 20, true, true},
			{9, 2 << 20, true, false},
			{gone, 1 << 20, true, false},
			{6, 0, false, true},
		}},
		{1, 1, 3 << 20, total, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if onGPU("/proc", os.Getpid()) {
		t.Error("the test has a GPU open")
	}
}
