package trace_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"vramsoak/fixtures/golden"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

const (
	sums      = "../../../fixtures/allocator/random.sha256"
	sumSeeds  = 200
	sumEvents = 1000
)

// TestRandomTraces compares the model with PyTorch's own allocator (the oracle), even if the oracle
// was not built: a file has checksums of the oracle's output for random traces over all settings. A
// line of the file has a seed, the checksum of the seed's trace, and the checksum of the oracle's
// output. UPDATE=1 make oracle writes the file again.
func TestRandomTraces(t *testing.T) {
	if golden.Updating() && oracle != "" {
		updateSums(t)
	}
	file, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(file)), "\n")
	if len(want) != sumSeeds {
		t.Fatalf("%s: expected %d lines, found %d", sums, sumSeeds, len(want))
	}
	for seed, line := range want {
		var wantSeed int
		var wantTrace, wantOutput string
		if _, err := fmt.Sscan(line, &wantSeed, &wantTrace, &wantOutput); err != nil ||
			wantSeed != seed {
			t.Fatalf("%s:%d: expected a seed and two sums, found %q", sums, seed+1, line)
		}
		settings, text := randomText(uint64(seed))
		config, err := allocator.ParseConfig(settings.Conf)
		if err != nil {
			t.Fatal(err)
		}
		output := sha256.New()
		device := settings.Device()
		_, err = trace.Replay(output, trace.Read(bytes.NewReader(text), "random"), device,
			allocator.New(device, config),
			trace.Options{Segments: settings.Segments})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		gotTrace, gotOutput := fmt.Sprintf("%x", sha256.Sum256(text)), fmt.Sprintf("%x",
			output.Sum(nil))
		switch {
		case gotTrace != wantTrace:
			t.Errorf("seed %d: the trace differs from the recorded one: its generator changed, or "+
				"what memory the model has", seed)
		case gotOutput != wantOutput:
			t.Errorf("seed %d: the model prints other lines than PyTorch; make oracle shows which",
				seed)
		}
	}
}

// randomText returns the settings of a seed and the text of its trace.
func randomText(seed uint64) (trace.Settings, []byte) {
	settings, _ := trace.Draw(seed)
	var text []byte
	for op := range settings.Random(seed, sumEvents) {
		text = append(op.AppendTo(text), '\n')
	}
	return settings, text
}

func updateSums(t *testing.T) {
	t.Helper()
	var b strings.Builder
	for seed := range uint64(sumSeeds) {
		settings, text := randomText(seed)
		fmt.Fprintf(&b, "%d %x %x\n", seed, sha256.Sum256(text),
			sha256.Sum256(runOracle(t, settings, text)))
	}
	golden.Rewrite(t, sums, []byte(b.String()))
}
