package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"vramsoak/harness/sample"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/sink"
)

// doctorSettle is how long doctor waits for what is in use to stop moving.
const doctorSettle = 5 * time.Second

// showGPUs writes what is in use on the GPUs that concern a pipeline started here.
func showGPUs(ctx context.Context, out io.Writer) error {
	nvml, err := meter.OpenNVML()
	if err != nil {
		return writeDiagnoses(out, []diagnosis{noDriver(err)})
	}
	defer func() { _ = nvml.Close() }() // only read
	view := nvml.View(nvml.Visible(os.LookupEnv(meter.VisibleDevices)))
	idles, err := sample.Settle(ctx, view.Occupied, doctorSettle)
	if err != nil {
		return err
	}
	return writeDiagnoses(out, append([]diagnosis{{"NVIDIA driver", true, nvml.Driver()}}, diagnoseIdles(nvml.Devices(), idles)...))
}

// diagnoseIdles is what is in use on each GPU, and a line for each process that holds some of it.
func diagnoseIdles(devices []meter.DeviceInfo, idles []record.Idle) []diagnosis {
	if len(idles) == 0 {
		return []diagnosis{{"GPUs", false, fmt.Sprintf("%s shows none of %d", meter.VisibleDevices, len(devices))}}
	}
	var all []diagnosis
	for i := range idles {
		idle := &idles[i]
		state := "settled"
		if !idle.Settled {
			state = fmt.Sprintf("still moving after %v", doctorSettle)
		}
		lines := []string{fmt.Sprintf("%s, %s of %s in use, %s", devices[idle.GPU].Name, record.FormatBytes(idle.Bytes(record.Used)),
			record.FormatBytes(idle.Bytes(record.Total)), state)}
		for k := range idle.Holders {
			lines = append(lines, fmt.Sprintf("%22s held by %s", "", sink.Line(idle.Holders[k].String())))
		}
		all = append(all, diagnosis{fmt.Sprintf("GPU %d", idle.GPU), true, strings.Join(lines, "\n")})
	}
	return all
}
