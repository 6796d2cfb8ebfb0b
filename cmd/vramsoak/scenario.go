package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/scenario"
	"vramsoak/reports/sink"
)

// stdinPath is the path that means standard input.
const stdinPath = "-"

// scenarioFile reads a file, or standard input.
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

// warnOfEnvironment warns if an environment variable has settings for the allocator. A simulation
// ignores the variable.
func warnOfEnvironment(s *scenario.Scenario, out io.Writer) {
	const name = "PYTORCH_CUDA_ALLOC_CONF"
	if conf := os.Getenv(name); conf != "" && conf != s.Env[name] {
		_, _ = sink.Fprintf(out, "vramsoak: warning: %s=%s of the environment is not used; write "+
			"it in the file: env: {%s: %q}\n", name, conf, name, conf)
	}
}

// lengthsOf returns the lengths of files as "300 s" or "60 to 600 s".
func lengthsOf(f scenario.Files) string {
	if f.Low == f.High {
		return fmt.Sprintf("%.4g s", f.Low)
	}
	return fmt.Sprintf("%.4g to %.4g s", f.Low, f.High)
}

// setUsage describes the flag --set.
const setUsage = "`name=value` of a parameter of the file, in place of the file's value; may be " +
	"repeated"

// setParameters calls set for each argument of --set, such as n_mels=64.
func setParameters(arguments []string, set func(name string, value float64) error) error {
	for _, a := range arguments {
		name, text, ok := strings.Cut(a, "=")
		e, err := scenario.ParseExpr(text)
		value, constant := e.Constant()
		if !ok || err != nil || !constant || value < 0 || strings.TrimSpace(text) == "" {
			return fmt.Errorf("--set: expected a parameter and a number of 0 or more, such as "+
				"n_mels=64 or data=1.5GiB, found %q", a)
		}
		if err := set(strings.TrimSpace(name), value); err != nil {
			return fmt.Errorf("--set: %w", err)
		}
	}
	return nil
}

// autoGPU is the value of --gpu that means this machine's card.
const autoGPU = "auto"

// cardFor returns the card that --gpu names. It replaces the scenario's card.
func cardFor(s *scenario.Scenario, name string) (scenario.GPU, error) {
	if name == autoGPU {
		gpu, err := thisGPU()
		if err != nil {
			return gpu, err
		}
		occupied := gpu.Occupied // on this machine; the file may be for another card
		gpu = s.GPU.Replaced(gpu)
		gpu.Occupied = occupied
		return gpu, nil
	}
	card, err := scenario.Card(name)
	if err != nil {
		return card, fmt.Errorf("--gpu: %w", err)
	}
	return s.GPU.Replaced(card), nil
}

// thisGPU returns the first GPU that a pipeline would see on this machine, with the memory in use
// on it now.
func thisGPU() (scenario.GPU, error) {
	nvml, err := meter.OpenNVML()
	if err != nil {
		return scenario.GPU{}, fmt.Errorf("--gpu auto: no GPU to be read here (%w); name one: "+
			"--gpu 16GiB, or --gpu \"RTX 5080\"", err)
	}
	defer func() { _ = nvml.Close() }() // only read
	visible := nvml.Visible(os.LookupEnv(meter.VisibleDevices))
	if len(visible) == 0 {
		return scenario.GPU{}, fmt.Errorf("--gpu auto: %s shows none of the GPUs here; name one: "+
			"--gpu 16GiB", meter.VisibleDevices)
	}
	occupied, err := nvml.View(visible[:1]).Occupied()
	if err != nil {
		return scenario.GPU{}, fmt.Errorf("--gpu auto: %w", err)
	}
	gpu, err := scenario.Card(fmt.Sprint(occupied[0].Total))
	if err != nil {
		return scenario.GPU{}, err
	}
	gpu.Card, gpu.Occupied, gpu.Source = nvml.Devices()[visible[0]].Name, occupied[0].Used, "NVML"
	return gpu, nil
}

// lint prints warnings about a scenario on its card, and returns an error if the linter found
// mistakes.
func lint(s *scenario.Scenario, diagnostics io.Writer) error {
	var refused []error
	for _, m := range s.Lint() {
		if m.Severity == strictyaml.Error {
			refused = append(refused, &m)
		} else {
			_, _ = sink.Fprintf(diagnostics, "vramsoak: %v\n", &m)
		}
	}
	return errors.Join(refused...)
}
