package meter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/record"
)

// VisibleDevices is the environment variable that says which GPUs CUDA shows to a process, and in
// which order.
const VisibleDevices = "CUDA_VISIBLE_DEVICES"

// A View is the list of GPUs that a pipeline sees, in the pipeline's order: the first GPU is device
// 0 in the pipeline.
type View struct {
	nvml *NVML
	gpus []int // NVML's indices
}

// View returns a view of the GPUs with these NVML indices, such as those from [NVML.Visible].
func (n *NVML) View(gpus []int) *View { return &View{n, gpus} }

// GPUs returns the NVML indices of the view's GPUs.
func (v *View) GPUs() []int { return v.gpus }

func (n *NVML) all() []int {
	gpus := make([]int, len(n.infos))
	for i := range gpus {
		gpus[i] = i
	}
	return gpus
}

// Visible returns the NVML indices of the GPUs that a value of CUDA_VISIBLE_DEVICES names, as CUDA
// reads the value (CUDA C++ Programming Guide, "CUDA Environment Variables"). The value is a list,
// with commas, of indices, UUIDs or unique beginnings of UUIDs ("GPU-8932f937"). CUDA ignores the
// rest of the list from an entry on that names no GPU or a GPU for the second time. An empty value
// hides all GPUs. set is false if the variable is not set; all GPUs are then visible. The name of
// an instance of a partitioned GPU ("MIG-...") does not say which GPU it is on, so Visible then
// returns all GPUs.
//
// Visible takes indices in the value as NVML's indices. CUDA uses the same order if all GPUs are of
// one kind, or if CUDA_DEVICE_ORDER is PCI_BUS_ID.
func (n *NVML) Visible(value string, set bool) []int {
	if !set || strings.HasPrefix(value, "MIG-") {
		return n.all()
	}
	var gpus []int
	for entry := range strings.SplitSeq(value, ",") {
		gpu, ok := n.find(strings.TrimSpace(entry))
		if !ok || slices.Contains(gpus, gpu) {
			break
		}
		gpus = append(gpus, gpu)
	}
	return gpus
}

// find returns the NVML index of the GPU that an entry names. The entry is an index, or the
// beginning of the UUID of exactly one GPU.
func (n *NVML) find(entry string) (gpu int, ok bool) {
	if !strings.HasPrefix(entry, "GPU-") {
		i, err := strconv.Atoi(entry)
		return i, err == nil && i >= 0 && i < len(n.infos)
	}
	for i, info := range n.infos {
		if strings.HasPrefix(info.UUID, entry) {
			if ok {
				return 0, false
			}
			gpu, ok = i, true
		}
	}
	return gpu, ok
}

// Use reads how much memory of each of the view's GPUs the given processes use together. As in
// nvidia-smi, this includes their CUDA contexts and libraries. Pass one process, or a [Tree].
//
// Inside a container the driver lists PIDs of another namespace, or no PIDs. If the driver lists
// none of the given processes on any GPU, Use returns the memory of the whole devices, with Source
// "device".
func (v *View) Use(pids []int) ([]Use, error) {
	uses := make([]Use, len(v.gpus))
	own := make([]Use, len(v.gpus))
	listed := false
	for i, gpu := range v.gpus {
		device := v.nvml.devices[gpu]
		used, total, err := memory(device)
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", gpu, err)
		}
		uses[i] = Use{
			Device: i, GPU: gpu, Used: used, Total: total, Source: record.SourceDevice,
			DeviceUsed: used,
		}
		bytes, others, ok := usedBy(device, pids)
		own[i] = uses[i]
		own[i].Used, own[i].Source, own[i].Others = bytes, record.SourceProcess, others
		listed = listed || ok
	}
	if listed {
		return own, nil
	}
	return uses, nil
}
