package trace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// TestOracleScenarios simulates the scenarios in fixtures and records the trace of each process.
// PyTorch's own allocator (the oracle) must print the same for these traces as the model.
func TestOracleScenarios(t *testing.T) {
	if oracle == "" {
		t.Skip("not run: no oracle; make oracle builds it")
	}
	const mostOps = 1_000_000 // per process; some processes repeat themselves for ten times as many
	files, err := filepath.Glob("../../../fixtures/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Read(src, file)
		if err != nil {
			t.Fatal(err)
		}
		var settings []trace.Settings
		var processes [][]trace.Op
		_, err = simulator.Run(s, simulator.Options{
			Files: 60, EachPass: true,
			Trace: func(conf string, card allocator.DeviceConfig) func(trace.Op) {
				s := trace.Settings{
					Conf: conf, Capacity: card.Total, Overhead: card.Overhead,
					Segments: true,
				}
				settings, processes = append(settings, s), append(processes, nil)
				return func(op trace.Op) {
					last := &processes[len(processes)-1]
					if op.Line = len(*last) + 1; op.Line <= mostOps {
						*last = append(*last, op)
					}
				}
			},
		})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		events, ooms := 0, 0
		for i, ops := range processes {
			path := filepath.Join(t.TempDir(), fmt.Sprintf("%s-%d.trace", name, i+1))
			writeTrace(t, path, slices.Values(ops))
			totals, _, err := differOnFile(settings[i], path)
			if err != nil {
				t.Errorf("%s: %v\n%s", at(path, err), err, reproduce(settings[i], path))
			}
			events, ooms = events+totals.Events, ooms+totals.OutOfMemory
		}
		fmt.Printf("%s: %d processes, %d events, %d out of memory\n", name, len(processes),
			events, ooms)
	}
}
