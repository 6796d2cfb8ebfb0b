package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// A doctorStats is the JSON of doctor --stats-only. All sizes are in bytes.
type doctorStats struct {
	Schema string     `json:"schema"`
	Driver string     `json:"driver"` // version; "" without an NVIDIA driver
	GPUs   []gpuStats `json:"gpus"`
	Host   hostStats  `json:"host"`
}

type gpuStats struct {
	GPU       int            `json:"gpu"` // as the driver counts
	Name      string         `json:"name"`
	UUID      string         `json:"uuid"`
	Total     int64          `json:"total"`
	Used      int64          `json:"used"` // by all processes
	Free      int64          `json:"free"`
	UsedShare float64        `json:"used_share"` // of the total
	Processes []processStats `json:"processes"`
}

// A processStats is a process that holds memory of a GPU. In a container, the driver may name no
// process, or give PIDs of another namespace.
type processStats struct {
	PID  int    `json:"pid"`
	Used *int64 `json:"used"` // null if the driver does not know it
}

type hostStats struct {
	Total     int64 `json:"total"`
	Available int64 `json:"available"`
}

// showStats prints the numbers of the GPUs, and of the host.
func showStats(out io.Writer, opts doctorOptions) error {
	stats := doctorStats{Schema: "vramsoak.doctor/1", GPUs: []gpuStats{}}
	stats.Host.Total, _ = meter.HostMemory() // 0 if it is not known
	stats.Host.Available = meter.Available(os.Getpid())
	nvml, err := meter.OpenNVML()
	switch {
	case errors.Is(err, meter.ErrNoDriver) && (opts.gpu == "" || opts.gpu == allGPUs):
		stderr.Printf("vramsoak: %v\n", err)
	case err != nil && opts.gpu != "":
		return fmt.Errorf("--gpu %s: %w", opts.gpu, err)
	case err != nil:
		return err
	default:
		defer func() { _ = nvml.Close() }() // only read
		view, err := viewOf(nvml, opts.gpu)
		if err != nil {
			return err
		}
		occupied, err := view.Occupied()
		if err != nil {
			return err
		}
		stats.Driver, stats.GPUs = nvml.Driver(), statsOf(nvml.Devices(), occupied)
		if opts.format == "text" {
			if err := text.GPUMemory(out, nvml.Devices(), occupied, textOptions(out)); err != nil {
				return err
			}
		}
	}
	if opts.format == "json" {
		return sink.WriteJSON(out, stats)
	}
	_, err = sink.Fprintf(out, "host: %s of %s available\n",
		record.FormatBytes(stats.Host.Available), record.FormatBytes(stats.Host.Total))
	return err
}

func statsOf(devices []meter.DeviceInfo, all []meter.Occupancy) []gpuStats {
	stats := []gpuStats{}
	for _, o := range all {
		s := gpuStats{
			GPU: o.GPU, Name: devices[o.GPU].Name, UUID: devices[o.GPU].UUID, Total: o.Total,
			Used: o.Used, Free: o.Total - o.Used, Processes: []processStats{},
		}
		if o.Total > 0 {
			s.UsedShare = float64(o.Used) / float64(o.Total)
		}
		for _, h := range o.Holders {
			p := processStats{PID: h.PID}
			if h.HasUsed {
				p.Used = &h.Used
			}
			s.Processes = append(s.Processes, p)
		}
		stats = append(stats, s)
	}
	return stats
}
