package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPythonExamples runs the Python examples of README.md and docs/how-to/python.md, with
// stand-ins for torch and whisper. Each script of testdata/python names its page in the file
// "document". It finds the first Python of that page in transcribe.py, and the first command that
// runs it in command.sh.
func TestPythonExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	pipelines, err := filepath.Abs("../../pipeline/python")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/python",
		RequireExplicitExec: true,
		Cmds:                scriptCommands,
		Setup: func(env *testscript.Env) error {
			env.Setenv("COLUMNS", "2000") // so that a script can look for whole sentences
			document, err := os.ReadFile(filepath.Join(env.WorkDir, "document"))
			if err != nil {
				return err
			}
			text, err := os.ReadFile(filepath.Join("../..", strings.TrimSpace(string(document))))
			if err != nil {
				return err
			}
			program := regexp.MustCompile("(?s)\n```python\n(.*?)```\n").FindSubmatch(text)
			command := regexp.MustCompile(`\n(vramsoak soak .* python3 transcribe\.py.*\n)`).FindSubmatch(
				text)
			if program == nil || command == nil {
				return errors.New(
					"expected a Python program, and a command that runs it as transcribe.py; found none")
			}
			env.Setenv("PYTHONPATH",
				pipelines+string(filepath.ListSeparator)+filepath.Join(pipelines, "testdata/standin"))
			env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
			return errors.Join(
				os.WriteFile(filepath.Join(env.WorkDir, "transcribe.py"), program[1], 0o644),
				os.WriteFile(filepath.Join(env.WorkDir, "command.sh"), command[1], 0o644),
			)
		},
	})
}
