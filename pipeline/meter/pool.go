package meter

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

// pools lists the libraries whose allocator takes most of a GPU's memory at its first use and hands
// it out itself. Each has parts of the paths of its shared objects for GPUs, and the settings in
// the environment with which it takes memory only as it needs it. What a program sets later, in
// os.environ or by a function of the library, is not known.
var pools = []struct {
	name    string
	objects []string
	grows   []string
}{
	// https://docs.jax.dev/en/latest/gpu_memory_allocation.html
	{"JAX", []string{"/xla_cuda", "/xla_rocm"}, []string{
		"XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_PYTHON_CLIENT_PREALLOCATE=0",
		"XLA_PYTHON_CLIENT_ALLOCATOR=platform",
	}},
	// https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth
	{"TensorFlow", []string{"/libtensorflow"}, []string{"TF_FORCE_GPU_ALLOW_GROWTH=true"}},
}

// Pool returns the name of a library that one of the processes has loaded and that takes most of a
// GPU's memory at once, to hand it out itself: "JAX". It returns "" if there is none, or if the
// process's environment makes the library take memory as it needs it.
func Pool(pids []int) string {
	for _, pid := range pids {
		maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			continue // the process has ended, or may not be read
		}
		name, grows := "", []string(nil)
		for lines := bufio.NewScanner(maps); name == "" && lines.Scan(); {
			for _, p := range pools {
				for _, object := range p.objects {
					if bytes.Contains(lines.Bytes(), []byte(object)) {
						name, grows = p.name, p.grows
					}
				}
			}
		}
		_ = maps.Close()
		if name != "" && !hasSetting(pid, grows) {
			return name
		}
	}
	return ""
}

// hasSetting reports whether the environment of a process, as it was when the process began, has
// one of the settings NAME=VALUE. Case does not matter.
func hasSetting(pid int, settings []string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		for _, s := range settings {
			if strings.EqualFold(string(entry), s) {
				return true
			}
		}
	}
	return false
}
