package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"vramsoak/harness/inspect"
	"vramsoak/harness/supervise"
	"vramsoak/pipeline/meter"
)

// These are environment variables that the harness sets for every process of the pipeline, in
// addition to [supervise.EnvRun] and [supervise.EnvHarness].
const (
	// EnvFirst holds the number of the process's first file. The harness numbers the files of the
	// whole batch from 1. With EnvFirst the process can number its files as the log does.
	EnvFirst = "VRAMSOAK_FIRST"
	// EnvGPU holds the driver's number of the GPU that a worker's processes use. The processes see
	// only that GPU, as device 0.
	EnvGPU = "VRAMSOAK_GPU"
	// EnvListen holds the folder in which a process may listen for vramsoak doctor --force. See
	// package inspect.
	EnvListen = "VRAMSOAK_LISTEN"
	// envUnbuffered makes Python write each line at once. By default Python waits until 8 KiB are
	// full.
	envUnbuffered = "PYTHONUNBUFFERED=1"
)

// command returns the arguments, the standard input and the environment of a process that gets the
// files with the indices given. With FeedList it also writes the list of the files.
func (r *run) command(given []int) (supervise.Command, error) {
	c := supervise.Command{Argv: r.cfg.Command}
	switch r.cfg.Feed {
	case FeedProcess:
		c.Argv = replace(c.Argv, pathMark, r.batch.File(given[0]).Path)
	case FeedList:
		path, err := filepath.Abs(filepath.Join(r.cfg.Dir, r.cfg.listName()))
		if err != nil {
			return c, fmt.Errorf("list of files: %w", err)
		}
		if err := os.WriteFile(path, []byte(r.list(given)), 0o644); err != nil {
			return c, fmt.Errorf("list of files: %w", err)
		}
		c.Argv = replace(c.Argv, listMark, path)
	case FeedStdin:
		c.Stdin, c.HasStdin = r.list(given), true
	case FeedNone:
	}
	first := 1
	if len(given) > 0 {
		first = r.batch.Place(given[0])
	}
	listen, err := filepath.Abs(filepath.Join(r.cfg.Dir, inspect.Folder))
	if err != nil {
		return c, fmt.Errorf("folder of sockets: %w", err)
	}
	c.Env = append(os.Environ(), envUnbuffered, EnvFirst+"="+strconv.Itoa(first),
		EnvListen+"="+listen)
	c.Env = append(c.Env, r.cfg.Env...)
	c.Env = append(c.Env, r.cfg.gpuEnv()...)
	return c, nil
}

// list returns the paths of the files with these indices, one per line.
func (r *run) list(files []int) string {
	var b strings.Builder
	for _, i := range files {
		b.WriteString(r.batch.File(i).Path)
		b.WriteByte('\n')
	}
	return b.String()
}

// replace returns a copy of a command's arguments in which the mark, such as {}, is replaced by a
// value.
func replace(argv []string, mark, value string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = strings.ReplaceAll(arg, mark, value)
	}
	return out
}

// gpuEnv returns the environment variables that hide all GPUs except the worker's from the process.
// It returns none for a run without workers. PCI_BUS_ID makes CUDA number GPUs as the driver does
// (CUDA C++ Programming Guide, "CUDA Environment Variables"). HIP reads CUDA's variable if HIP's
// own variable is not set (HIP documentation, "Environment variables").
func (c Config) gpuEnv() []string {
	if c.gpu == nil {
		return nil
	}
	gpu := strconv.Itoa(*c.gpu)
	env := []string{
		EnvGPU + "=" + gpu, meter.VisibleDevices + "=" + gpu, "CUDA_DEVICE_ORDER=PCI_BUS_ID",
	}
	const hip = "HIP_VISIBLE_DEVICES"
	if _, set := os.LookupEnv(hip); set {
		env = append(env, hip+"="+gpu)
	}
	return env
}
