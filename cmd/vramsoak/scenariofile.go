package main

import (
	"fmt"
	"io"
	"os"

	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/strictyaml"
	"vramsoak/reports/sink"
)

// stdinPath stands for standard input.
const stdinPath = "-"

// scenarioFile is what a file says, or standard input.
func scenarioFile(path string) ([]byte, error) {
	if path != stdinPath {
		return strictyaml.ReadFile(path)
	}
	src, err := strictyaml.ReadAll(os.Stdin, displayName(path))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return src, nil
}

// warnOfEnvironment warns where the environment has settings of the allocator: what is simulated goes by the file.
func warnOfEnvironment(s *scenario.Scenario, out io.Writer) {
	const name = "PYTORCH_CUDA_ALLOC_CONF"
	if conf := os.Getenv(name); conf != "" && conf != s.Env[name] {
		_, _ = sink.Fprintf(out, "vramsoak: warning: %s=%s of the environment is not used; write it in the file: env: {%s: %q}\n", name, conf, name, conf)
	}
}

// lengthsOf is "300 s" or "60 to 600 s".
func lengthsOf(f scenario.Files) string {
	if f.Low == f.High {
		return fmt.Sprintf("%.4g s", f.Low)
	}
	return fmt.Sprintf("%.4g to %.4g s", f.Low, f.High)
}
