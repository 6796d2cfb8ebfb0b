package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness"
	"vramsoak/pipeline/meter"
)

// allGPUs is the value of --gpus that stands for every GPU that there is, and CUDA_VISIBLE_DEVICES leaves.
const allGPUs = "all"

const gpusUsage = "work on these `GPUs`, such as 0,1, or on all: one worker each, which share the files"

// gpusOf are the GPUs that the run works on, or worked on.
func (o soakOptions) gpusOf(past *resumed, nvml *meter.NVML) ([]int, error) {
	text := o.gpus
	if past != nil {
		words := make([]string, len(past.info.Config.Workers))
		for i, gpu := range past.info.Config.Workers {
			words[i] = strconv.Itoa(gpu)
		}
		text = strings.Join(words, ",")
	}
	value, set := os.LookupEnv(meter.VisibleDevices)
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(value, "MIG-"):
		return nil, fmt.Errorf("--gpus: %s names instances of a partitioned GPU (MIG), and workers have whole ones; leave --gpus out, or unset it",
			meter.VisibleDevices)
	case nvml == nil:
		return namedGPUs(text, machineGPUs{})
	}
	return namedGPUs(text, machineGPUs{driver: true, count: len(nvml.Devices()), visible: nvml.Visible(value, set)})
}

// machineGPUs are the GPUs that there are, where a driver tells: so many, of which these are visible to a pipeline.
type machineGPUs struct {
	driver  bool
	count   int
	visible []int
}

// namedGPUs are the GPUs that --gpus names, by the driver's numbers. Without a driver it is not known which there are, and
// those that are named are taken.
func namedGPUs(text string, there machineGPUs) ([]int, error) {
	if text == allGPUs {
		switch {
		case !there.driver:
			return nil, errors.New("--gpus all: there is no NVIDIA driver to tell which GPUs there are; name them, as in --gpus 0,1")
		case len(there.visible) == 0:
			return nil, fmt.Errorf("--gpus all: expected GPUs, found none that the driver knows and %s shows", meter.VisibleDevices)
		}
		return there.visible, nil
	}
	var gpus []int
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("--gpus %s: expected "+format, append([]any{text}, args...)...))
	}
	for entry := range strings.SplitSeq(text, ",") {
		gpu, err := strconv.ParseUint(strings.TrimSpace(entry), 10, 16)
		switch n := int(gpu); {
		case err != nil:
			wrong("numbers of GPUs with commas between them, or all, found %q", entry)
		case slices.Contains(gpus, n):
			wrong("each GPU once, found %d again", n)
		case there.driver && n >= there.count:
			wrong("GPUs that the driver knows, of which there are %d from 0 on, found %d", there.count, n)
		case there.driver && !slices.Contains(there.visible, n):
			wrong("GPUs that %s=%s shows, found %d; choose others, or unset it", meter.VisibleDevices, os.Getenv(meter.VisibleDevices), n)
		default:
			gpus = append(gpus, n)
		}
	}
	return gpus, errors.Join(errs...)
}

// runOn runs on these GPUs or, where there are none, with one worker on what the pipeline sees.
func runOn(ctx context.Context, cfg harness.Config, workers []harness.Worker) (*harness.Outcome, error) {
	if len(workers) == 0 {
		return harness.Run(ctx, cfg)
	}
	if workers[0].Device == nil {
		cfg.Logger.Info("there is no NVIDIA driver: the processes are told their GPU, and what is in use on it is not sampled")
	}
	return harness.RunAll(ctx, cfg, workers)
}

// workersOn are the workers of GPUs.
func workersOn(gpus []int, nvml *meter.NVML) []harness.Worker {
	var workers []harness.Worker
	for _, gpu := range gpus {
		w := harness.Worker{GPU: gpu}
		if nvml != nil {
			view := nvml.View([]int{gpu})
			w.Device, w.Occupied = view.Use, view.Occupied
		}
		workers = append(workers, w)
	}
	return workers
}

// runLogs are the logs of a run folder: those of its workers, or the one that it has or should have.
func runLogs(dir string) []string {
	one := filepath.Join(dir, harness.LogName)
	if logs := workerLogs(dir); len(logs) > 0 && !isFile(one) {
		return logs
	}
	return []string{one}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// workerLogs are the logs of a run folder's workers, in the order of their GPUs; none where it has none.
func workerLogs(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "gpu-*", harness.LogName)) // the pattern is sound
	slices.SortFunc(found, func(a, b string) int { return gpuOf(a) - gpuOf(b) })
	// One that was killed before its first line says nothing.
	return slices.DeleteFunc(found, func(log string) bool { return gpuOf(log) < 0 || !hasLine(log) })
}

// hasLine says that a log has a whole line, or a long one.
func hasLine(log string) bool {
	head, err := headOf(log)
	return err == nil && (len(head) == headMax || bytes.IndexByte(head, '\n') >= 0)
}

// escapeGlob has a path stand for itself in a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// gpuOf is the GPU of a worker's log, by its folder; -1 where that is none.
func gpuOf(log string) int {
	n, ok := strings.CutPrefix(filepath.Base(filepath.Dir(log)), "gpu-")
	gpu, err := strconv.ParseUint(n, 10, 16)
	if !ok || err != nil {
		return -1
	}
	return int(gpu)
}

// runFolderOf is the run folder whose log, or whose workers' logs, these are; "" where they are of none, or of several.
func runFolderOf(logs []string) string {
	folder := ""
	for i, log := range logs {
		dir := filepath.Dir(log)
		if gpuOf(log) >= 0 {
			dir = filepath.Dir(dir)
		} else if len(logs) > 1 {
			return ""
		}
		if filepath.Base(log) != harness.LogName || i > 0 && dir != folder {
			return ""
		}
		folder = dir
	}
	return folder
}
