package main

import (
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
	return gpusOf(text, nvml)
}

// gpusOf are the GPUs that --gpus names, by the driver's numbers; none where it was not given. Without a driver it is not
// known which there are, and those that are named are taken.
func gpusOf(text string, nvml *meter.NVML) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	visible, err := visibleGPUs(nvml)
	if err != nil {
		return nil, err
	}
	if text == allGPUs {
		switch {
		case nvml == nil:
			return nil, errors.New("--gpus all: there is no NVIDIA driver to tell which GPUs there are; name them, as in --gpus 0,1")
		case len(visible) == 0:
			return nil, fmt.Errorf("--gpus all: expected GPUs, found none that the driver knows and %s shows", meter.VisibleDevices)
		}
		return visible, nil
	}
	var gpus []int
	var errs []error
	for entry := range strings.SplitSeq(text, ",") {
		gpu, err := strconv.ParseUint(strings.TrimSpace(entry), 10, 16)
		switch n := int(gpu); {
		case err != nil:
			errs = append(errs, fmt.Errorf("--gpus %s: expected numbers of GPUs with commas between them, or all, found %q", text, entry))
		case slices.Contains(gpus, n):
			errs = append(errs, fmt.Errorf("--gpus %s: expected each GPU once, found %d again", text, n))
		case nvml != nil && n >= len(nvml.Devices()):
			errs = append(errs, fmt.Errorf("--gpus %s: expected GPUs from 0 to %d, which the driver knows, found %d", text, len(nvml.Devices())-1, n))
		case nvml != nil && !slices.Contains(visible, n):
			errs = append(errs, fmt.Errorf("--gpus %s: expected GPUs that %s=%s shows, found %d; choose others, or unset it", text,
				meter.VisibleDevices, os.Getenv(meter.VisibleDevices), n))
		default:
			gpus = append(gpus, n)
		}
	}
	return gpus, errors.Join(errs...)
}

// visibleGPUs are those that a process of this environment sees; none without a driver.
func visibleGPUs(nvml *meter.NVML) ([]int, error) {
	value, set := os.LookupEnv(meter.VisibleDevices)
	switch {
	case strings.HasPrefix(value, "MIG-"):
		return nil, fmt.Errorf("--gpus: %s names instances of a partitioned GPU (MIG), and workers have whole ones; leave --gpus out, or unset it",
			meter.VisibleDevices)
	case nvml == nil:
		return nil, nil
	}
	return nvml.Visible(value, set), nil
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
	return slices.DeleteFunc(found, func(log string) bool { return gpuOf(log) < 0 })
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
