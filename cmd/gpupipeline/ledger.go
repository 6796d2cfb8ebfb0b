//go:build whisper

package main

import (
	"errors"
	"fmt"
	"strings"

	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/whisper"
)

// A ledger is the device that the checkpoints read.
type ledger struct {
	meter.Device
	gpu  *whisper.Device // nil where the ledger is the host's allocator
	nvml *meter.NVML
}

func (l *ledger) close() {
	if l.nvml != nil {
		_ = l.nvml.Close() // the process ends; there is nothing to save
	}
}

// openLedger chooses the device. Whisper.cpp takes the first GPU that it finds; where it finds none, what the driver
// says about a GPU has nothing to do with the pipeline.
func openLedger(name string, host *meter.Host, devices []whisper.Device) (*ledger, error) {
	onHost := &ledger{Device: host}
	if name == "host" {
		return onHost, nil
	}
	var gpu *whisper.Device
	var found []string
	for i := range devices {
		found = append(found, devices[i].Name)
		if devices[i].GPU && gpu == nil {
			gpu = &devices[i]
		}
	}
	if gpu == nil {
		if name == "auto" {
			return onHost, nil
		}
		return nil, fmt.Errorf("--device nvml: expected a GPU that whisper.cpp computes on, found %s", strings.Join(found, ", "))
	}
	driver, err := meter.OpenNVML()
	if err != nil {
		if name == "auto" && errors.Is(err, meter.ErrNoDriver) { // a GPU of another maker
			return onHost, nil
		}
		return nil, fmt.Errorf("--device nvml: %w", err)
	}
	device, err := driver.GPU(driver.IndexOf(gpu.Bus))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--device nvml: %w", err), driver.Close())
	}
	return &ledger{Device: device, gpu: gpu, nvml: driver}, nil
}
