package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestDoctorPython runs vramsoak with Python programs that use vramfree.py and vramlook.py: with a
// stand-in for torch, and with PyTorch itself where a Python has it.
func TestDoctorPython(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	pipelines, err := filepath.Abs("../../pipeline/python")
	if err != nil {
		t.Fatal(err)
	}
	torch := pythonWithTorch(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/doctor",
		RequireExplicitExec: true,
		Cmds:                scriptCommands,
		Condition: func(name string) (bool, error) {
			if name != "torch" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return torch != "", nil
		},
		Setup: func(env *testscript.Env) error {
			path := pipelines
			if filepath.Base(env.WorkDir) != "script-torch" {
				path += string(filepath.ListSeparator) + filepath.Join(pipelines, "testdata/standin")
			}
			env.Setenv("COLUMNS", "2000") // so that a script can look for whole sentences
			env.Setenv("PYTHONPATH", path)
			env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
			env.Setenv("TORCH_PYTHON", torch)
			return nil
		},
	})
}

// pythonWithTorch returns a Python that can import torch, or "".
func pythonWithTorch(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "python3")
		if exec.CommandContext(t.Context(), path, "-c", "import torch").Run() == nil {
			return path
		}
	}
	return ""
}
