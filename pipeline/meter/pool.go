package meter

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
)

// A poolingLibrary takes most of a GPU's memory at its first use. After that it hands the memory
// out itself.
type poolingLibrary struct {
	name    string
	objects []string // parts of the paths of its shared objects for GPUs
	// grows holds the settings in the environment with which the library takes memory only as it
	// needs it. What a program sets later, in os.environ or by a function of the library, is not
	// known.
	grows []string
}

var pools = []poolingLibrary{
	// https://docs.jax.dev/en/latest/gpu_memory_allocation.html
	{"JAX", []string{"/xla_cuda", "/xla_rocm"}, []string{
		"XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_PYTHON_CLIENT_PREALLOCATE=0",
		"XLA_PYTHON_CLIENT_ALLOCATOR=platform",
	}},
	// https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth
	{"TensorFlow", []string{"/libtensorflow"}, []string{"TF_FORCE_GPU_ALLOW_GROWTH=true"}},
}

// Pool returns the name of a pooling library that one of the processes has loaded, such as "JAX".
// It leaves out a process whose environment makes the library take memory only as it needs it. It
// returns "" if no process is left.
func Pool(pids []int) string {
	for _, pid := range pids {
		if library := poolOf(pid); library != nil && !hasSetting(pid, library.grows) {
			return library.name
		}
	}
	return ""
}

// poolOf returns the pooling library that a process has loaded. It returns nil if there is none, if
// the process has ended, or if it may not be read.
func poolOf(pid int) *poolingLibrary {
	maps, err := os.Open(procFile(pid, "maps"))
	if err != nil {
		return nil
	}
	defer func() { _ = maps.Close() }()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		for i := range pools {
			if slices.ContainsFunc(pools[i].objects, func(object string) bool {
				return bytes.Contains(lines.Bytes(), []byte(object))
			}) {
				return &pools[i]
			}
		}
	}
	return nil
}

// hasSetting reports whether the environment of a process, as it was when the process began, has
// one of the settings NAME=VALUE. Case does not matter.
func hasSetting(pid int, settings []string) bool {
	environ, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if slices.ContainsFunc(settings, func(setting string) bool {
			return strings.EqualFold(string(entry), setting)
		}) {
			return true
		}
	}
	return false
}
