package meter

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// An Occupancy is the memory in use on one GPU by all processes together.
type Occupancy struct {
	Device, GPU int // as in [Use]
	Used, Total int64
	// Holders are the processes that hold this memory according to the driver, largest first. In a
	// container the driver may name none.
	Holders []Holder
}

// A Holder is a process that holds memory of a GPU.
type Holder struct {
	PID     int
	Used    int64 // bytes; see HasUsed
	HasUsed bool  // false if the driver lists the process but does not know its memory
	// Here is true if PID means the same process in this program's PID namespace. In a container,
	// the driver reports PIDs of another namespace, in which the same number may be another
	// process.
	Here bool
}

// Occupied reads how much memory is in use on the view's GPUs, and by which processes.
func (v *View) Occupied() ([]Occupancy, error) { return v.occupied("/proc") }

func (v *View) occupied(proc string) ([]Occupancy, error) {
	all := make([]Occupancy, len(v.gpus))
	for i, gpu := range v.gpus {
		device := v.nvml.devices[gpu]
		used, total, err := memory(device)
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", gpu, err)
		}
		all[i] = Occupancy{
			Device: i, GPU: gpu, Used: used, Total: total,
			Holders: holders(device, proc),
		}
	}
	return all, nil
}

// holders returns the processes that compute or draw on a device, each process once. proc is the
// folder /proc.
func holders(device nvml.Device, proc string) []Holder {
	var all []Holder
	for _, list := range []func() ([]nvml.ProcessInfo,
		nvml.Return){device.GetComputeRunningProcesses, device.GetGraphicsRunningProcesses} {
		processes, ret := list()
		if ret != nvml.SUCCESS {
			continue // not supported, or not permitted
		}
		// A process that computes and draws is in both lists with the same memory.
		seen := len(all)
		for _, p := range processes {
			pid := int(p.Pid)
			i := slices.IndexFunc(all, func(h Holder) bool { return h.PID == pid })
			switch {
			case i < 0:
				all = append(all, Holder{PID: pid})
				i = len(all) - 1
			case i < seen:
				continue
			}
			// On a partitioned GPU (MIG), a process has an entry for each instance that it uses.
			if p.UsedGpuMemory != notAvailable {
				all[i].Used, all[i].HasUsed = all[i].Used+int64(p.UsedGpuMemory), true
			}
		}
	}
	for i := range all {
		all[i].Here = onGPU(proc, all[i].PID)
	}
	slices.SortStableFunc(all, func(a, b Holder) int { return cmp.Compare(b.Used, a.Used) })
	return all
}

// onGPU reports whether the process with this PID in proc may be the one that the driver named: the
// process has the device file of a GPU open, or its open files cannot be read.
func onGPU(proc string, pid int) bool {
	dir := filepath.Join(proc, fmt.Sprint(pid), "fd")
	files, err := os.ReadDir(dir)
	if err != nil {
		return os.IsPermission(err)
	}
	for _, f := range files {
		// The device files are /dev/nvidia0, /dev/nvidiactl and so on, and /dev/dxg under WSL.
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil &&
			(strings.HasPrefix(to, "/dev/nvidia") || to == "/dev/dxg") {
			return true
		}
	}
	return false
}
