//go:build whisper

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/whisper"
)

// A ledger is the device whose memory the checkpoints report. This is the GPU or, without a GPU,
// the C allocators of this process and its workers together.
type ledger struct {
	host *meter.Host
	// gpu, device and nvml are nil if the ledger is not a GPU.
	gpu    *meter.GPU
	device *whisper.Device // the same GPU, as ggml knows it
	nvml   *meter.NVML

	mu      sync.Mutex
	workers map[*worker]bool
}

// openLedger chooses the device. whisper.cpp uses the first GPU that it finds. If it finds none,
// the pipeline uses no GPU either, even if the driver reports one.
func openLedger(name string, host *meter.Host, devices []whisper.Device) (*ledger, error) {
	onHost := &ledger{host: host, workers: map[*worker]bool{}}
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
		return nil, fmt.Errorf(
			"--device nvml: expected a GPU that whisper.cpp computes on, found %s",
			strings.Join(found, ", "))
	}
	driver, err := meter.OpenNVML()
	if err != nil {
		if name == "auto" && errors.Is(err, meter.ErrNoDriver) { // the GPU is of another maker
			return onHost, nil
		}
		return nil, fmt.Errorf("--device nvml: %w", err)
	}
	reads, err := driver.GPU(driver.IndexOf(gpu.Bus))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--device nvml: %w", err), driver.Close())
	}
	l := &ledger{host: host, gpu: reads, device: gpu, nvml: driver, workers: map[*worker]bool{}}
	reads.Others = l.pids
	return l, nil
}

func (l *ledger) close() {
	if l.nvml != nil {
		_ = l.nvml.Close() // the process ends anyway
	}
}

// Read implements [meter.Device]. A worker that has died holds no memory.
func (l *ledger) Read() (record.Reading, error) {
	if l.gpu != nil {
		return l.gpu.Read()
	}
	r, err := l.host.Read()
	if err != nil {
		return r, err
	}
	sum := Memory{r.Bytes(record.Allocated), r.Bytes(record.Reserved)}
	for _, w := range l.living() {
		var m Memory
		if err := w.call(context.Background(), "Memory", None{}, &m); err == nil {
			sum.Allocated += m.Allocated
			sum.Reserved += m.Reserved
		}
	}
	r.Set(record.Allocated, record.Exact(sum.Allocated))
	r.Set(record.Reserved, record.Exact(sum.Reserved))
	return r, nil
}

// Trim implements [meter.Device].
func (l *ledger) Trim() {
	if l.gpu != nil {
		l.gpu.Trim()
		return
	}
	l.host.Trim()
	for _, w := range l.living() {
		// A worker that has died has nothing to release.
		_ = w.call(context.Background(), "Trim", None{}, &None{})
	}
}

// Lane implements [meter.Device].
func (l *ledger) Lane() record.Lane {
	if l.gpu != nil {
		return l.gpu.Lane()
	}
	return l.host.Lane()
}

func (l *ledger) add(w *worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers[w] = true
}

func (l *ledger) remove(w *worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.workers, w)
}

func (l *ledger) living() []*worker {
	l.mu.Lock()
	defer l.mu.Unlock()
	workers := make([]*worker, 0, len(l.workers))
	for w := range l.workers {
		workers = append(workers, w)
	}
	return workers
}

// pids returns the pids of the living workers.
func (l *ledger) pids() []int {
	var pids []int
	for _, w := range l.living() {
		pids = append(pids, w.cmd.Process.Pid)
	}
	return pids
}

// leak allocates n bytes on the device and never frees them.
func (l *ledger) leak(n int64) error {
	if l.gpu == nil {
		_, err := l.host.Alloc(n)
		return err
	}
	_, err := l.device.Alloc(n)
	return refusal(err, l, n)
}

// overdraw requests more memory than the device has.
func (l *ledger) overdraw() error {
	reading, err := l.Read()
	if err != nil {
		return err
	}
	return l.leak(2 * reading.Bytes(record.Total))
}

// onnxDevice returns the device whose memory ONNX Runtime uses with this provider.
func (l *ledger) onnxDevice(provider string) meter.Device {
	if l.gpu != nil && provider == "cpu" {
		return l.host
	}
	return l
}

// refusal adds a device's reading to an engine's out-of-memory error. It returns other errors
// unchanged.
func refusal(err error, device meter.Device, requested int64) error {
	if !outOfMemory(err) {
		return err
	}
	oom := &meter.OutOfMemoryError{Requested: requested, Device: device.Lane().Device}
	oom.Reading, _ = device.Read() // if that fails, the message's other sizes stay 0
	return fmt.Errorf("%w (%w)", oom, err)
}
