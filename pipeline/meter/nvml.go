package meter

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramsoak/parser/record"
)

// ErrNoDriver is wrapped in the error of [OpenNVML] on a machine without an NVIDIA driver. Callers
// then go on without a GPU.
var ErrNoDriver = errors.New("no NVIDIA driver")

// An NVML is a session with the NVIDIA driver. Several goroutines may use it at once.
type NVML struct {
	lib     nvml.Interface
	driver  string
	devices []nvml.Device
	infos   []DeviceInfo
}

// DeviceInfo describes a GPU.
type DeviceInfo struct {
	Index int    `json:"index"` // NVML's index, in the order of the PCI bus
	Name  string `json:"name"`  // "NVIDIA H200"
	UUID  string `json:"uuid"`
	Bus   string `json:"bus"`   // address on the PCI bus, "00000000:c1:00.0"
	Total int64  `json:"total"` // bytes
}

// OpenNVML loads the driver's library and opens a session. Close the session after use.
func OpenNVML() (*NVML, error) { return open(nvml.New()) }

func open(lib nvml.Interface) (n *NVML, err error) {
	switch ret := lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, fmt.Errorf("%w: libnvidia-ml.so.1 was not found (in a container, start it "+
			"with GPU access)", ErrNoDriver)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w: libnvidia-ml is there, but the kernel module is not loaded",
			ErrNoDriver)
	default:
		return nil, failed("nvmlInit", ret)
	}
	n = &NVML{lib: lib}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	var ret nvml.Return
	if n.driver, ret = lib.SystemGetDriverVersion(); ret != nvml.SUCCESS {
		return nil, failed("nvmlSystemGetDriverVersion", ret)
	}
	count, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, failed("nvmlDeviceGetCount", ret)
	}
	for i := range count {
		device, ret := lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			return nil, failed(fmt.Sprintf("nvmlDeviceGetHandleByIndex(%d)", i), ret)
		}
		info := DeviceInfo{Index: i}
		if info.Name, ret = device.GetName(); ret != nvml.SUCCESS {
			return nil, failed("nvmlDeviceGetName", ret)
		}
		if info.UUID, ret = device.GetUUID(); ret != nvml.SUCCESS {
			return nil, failed("nvmlDeviceGetUUID", ret)
		}
		pci, ret := device.GetPciInfo()
		if ret != nvml.SUCCESS {
			return nil, failed("nvmlDeviceGetPciInfo", ret)
		}
		info.Bus = busID(pci)
		if _, info.Total, err = memory(device); err != nil {
			return nil, err
		}
		n.devices = append(n.devices, device)
		n.infos = append(n.infos, info)
	}
	return n, nil
}

// Driver returns the driver's version: "550.54.15".
func (n *NVML) Driver() string { return n.driver }

// Devices returns the machine's GPUs.
func (n *NVML) Devices() []DeviceInfo { return n.infos }

// IndexOf returns NVML's index of the GPU at a PCI bus address in CUDA's form: "0000:c1:00.0". It
// returns 0 if no GPU has that address. The address is needed because CUDA and NVML may number GPUs
// in different orders.
func (n *NVML) IndexOf(bus string) int {
	for _, info := range n.infos {
		// NVML's address begins with a domain of eight digits, CUDA's with one of four.
		if bus != "" && strings.HasSuffix(info.Bus, strings.ToLower(bus)) {
			return info.Index
		}
	}
	return 0
}

func busID(pci nvml.PciInfo) string {
	var b []byte
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return strings.ToLower(string(b))
}

// Close ends the session.
func (n *NVML) Close() error {
	if ret := n.lib.Shutdown(); ret != nvml.SUCCESS {
		return failed("nvmlShutdown", ret)
	}
	return nil
}

// A Use says how much memory of one GPU is in use, in bytes.
type Use struct {
	Device      int // as CUDA counts devices in the pipeline: see [View]
	GPU         int // as NVML counts them
	Used, Total int64
	// Source says whether Used is the memory of the given processes ([record.SourceProcess]) or of
	// all processes on the device ([record.SourceDevice]).
	Source string
	// DeviceUsed is the memory that all processes use on the device. Others is the part of
	// DeviceUsed that the driver attributes to processes other than the given ones. Others is 0 if
	// the driver names no such process.
	DeviceUsed, Others int64
}

// Use reads how much memory the given processes use together on each GPU of the machine; see
// [View.Use].
func (n *NVML) Use(pids []int) ([]Use, error) { return n.View(n.all()).Use(pids) }

// usedBy returns how many bytes of a device the given processes use, and how many bytes other
// processes use. listed is false if the driver reports none of the given processes. On a
// partitioned GPU (MIG), a process is in the driver's list once for each instance that it uses.
func usedBy(device nvml.Device, pids []int) (used, others int64, listed bool) {
	processes, ret := device.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS { // not supported or not permitted
		return 0, 0, false
	}
	for _, p := range processes {
		switch {
		case p.UsedGpuMemory == notAvailable:
		case slices.Contains(pids, int(p.Pid)):
			used += int64(p.UsedGpuMemory)
			listed = true
		default:
			others += int64(p.UsedGpuMemory)
		}
	}
	return used, others, listed
}

// notAvailable is NVML_VALUE_NOT_AVAILABLE: the driver lists the process but does not know its
// memory (WSL, some MIG set-ups).
const notAvailable = ^uint64(0)

// memory returns how many bytes of a device are in use, and how many it has. It uses the second
// version of NVML's call, which does not count the driver's own memory as used. Older drivers have
// only the first version.
func memory(device nvml.Device) (used, total int64, err error) {
	if m, ret := device.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
		return int64(m.Used), int64(m.Total), nil
	}
	m, ret := device.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return 0, 0, failed("nvmlDeviceGetMemoryInfo", ret)
	}
	return int64(m.Used), int64(m.Total), nil
}

// failed returns an error with the name of the call and NVML's own message.
func failed(call string, ret nvml.Return) error { return fmt.Errorf("%s: %w", call, ret) }

// A GPU is one GPU as this process uses it. The driver does not know what an allocator has handed
// out, so allocated and reserved are both the memory in use, including the CUDA context.
type GPU struct {
	// Others, if set, returns the PIDs of further processes whose memory counts too, such as the
	// pipeline's own workers.
	Others func() []int

	nvml  *NVML
	index int
}

// GPU returns the GPU with an index in Devices().
func (n *NVML) GPU(index int) (*GPU, error) {
	if index < 0 || index >= len(n.devices) {
		return nil, fmt.Errorf("expected a GPU from 0 to %d, found %d", len(n.devices)-1, index)
	}
	return &GPU{nvml: n, index: index}, nil
}

// Read implements [Device].
func (g *GPU) Read() (record.Reading, error) {
	var r record.Reading
	pids := []int{os.Getpid()}
	if g.Others != nil {
		pids = append(pids, g.Others()...)
	}
	uses, err := g.nvml.View([]int{g.index}).Use(pids)
	if err != nil {
		return r, err
	}
	use := uses[0]
	for _, q := range []record.Quantity{record.Allocated, record.Reserved, record.Used} {
		r.Set(q, record.Exact(use.Used))
	}
	r.Set(record.Total, record.Exact(use.Total))
	return r, nil
}

// Trim implements [Device]. It does nothing, because ggml gives freed buffers back to the driver at
// once.
func (g *GPU) Trim() {}

// Lane implements [Device].
func (g *GPU) Lane() record.Lane { return record.Lane{Device: g.index} }
