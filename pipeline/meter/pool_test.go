package meter

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mapsJAX is set in the environment of a child process of TestPool: the file that it maps.
const mapsJAX = "VRAMSOAK_TEST_MAPS"

// TestPool looks at processes that have mapped a file of JAX.
func TestPool(t *testing.T) {
	if path := os.Getenv(mapsJAX); path != "" {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("ready\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		return
	}
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "site-packages", "jax_plugins", "xla_cuda13")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "xla_cuda_plugin.so")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Pool([]int{os.Getpid()}); got != "" {
		t.Errorf("this process has loaded %q", got)
	}
	for _, c := range []struct{ setting, want string }{
		{"", "JAX"},
		{"XLA_PYTHON_CLIENT_PREALLOCATE=true", "JAX"},
		{"XLA_PYTHON_CLIENT_PREALLOCATE=False", ""},
		{"XLA_PYTHON_CLIENT_PREALLOCATE=0", ""},
		{"XLA_PYTHON_CLIENT_ALLOCATOR=platform", ""},
	} {
		child := exec.Command(os.Args[0], "-test.run=^TestPool$")
		child.Env = append(os.Environ(), mapsJAX+"="+path, c.setting)
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		if got := Pool([]int{os.Getpid(), child.Process.Pid}); got != c.want {
			t.Errorf("with %q: %q, want %q", c.setting, got, c.want)
		}
		_ = in.Close()
		_ = child.Wait()
	}
}
