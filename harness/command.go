package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"vramsoak/harness/supervise"
	"vramsoak/pipeline/meter"
)

// The environment variables that processes get, beyond those that identify the run.
const (
	// EnvFirst is the number in the batch, from 1, of the first file that the process gets, so that
	// the process can number its files as the batch does.
	EnvFirst = "VRAMSOAK_FIRST"
	// EnvGPU says which GPU the processes of a worker have, by the driver's number. To them it is
	// device 0.
	EnvGPU = "VRAMSOAK_GPU"
	// envUnbuffered has Python write its lines when it prints them, not when 8 KiB are full.
	envUnbuffered = "PYTHONUNBUFFERED=1"
)

// command prepares a process that gets the files of these indices.
func (r *run) command(given []int) (supervise.Command, error) {
	c := supervise.Command{Argv: r.cfg.Command}
	switch r.cfg.Feed {
	case FeedProcess:
		c.Argv = replace(c.Argv, pathMark, r.batch.File(given[0]).Path)
	case FeedList:
		path, err := filepath.Abs(filepath.Join(r.cfg.Dir, listName))
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
		first = given[0] + 1
	}
	c.Env = append(os.Environ(), envUnbuffered, EnvFirst+"="+strconv.Itoa(first))
	c.Env = append(c.Env, r.cfg.Env...)
	c.Env = append(c.Env, r.cfg.gpuEnv()...)
	return c, nil
}

// list returns the paths of files, one per line.
func (r *run) list(files []int) string {
	var b strings.Builder
	for _, i := range files {
		b.WriteString(r.batch.File(i).Path)
		b.WriteByte('\n')
	}
	return b.String()
}

// replace replaces the mark in a command's arguments by a value.
func replace(argv []string, mark, value string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = strings.ReplaceAll(arg, mark, value)
	}
	return out
}

// gpuEnv returns the variables that show the process its GPU and no other. Under PCI_BUS_ID CUDA
// counts GPUs as the driver does (CUDA C++ Programming Guide, "CUDA Environment Variables"). HIP
// reads CUDA's variable if its own is not set (HIP documentation, "Environment variables").
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
