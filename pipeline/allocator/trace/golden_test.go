package trace_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/parser/lex"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// TestGolden replays short traces that each show one rule. It compares the output of the model with
// the goldens, which are the output of PyTorch's own allocator (the oracle). If the oracle was
// built (make oracle), its output must equal the goldens too; UPDATE=1 then writes it to the
// goldens. The goldens never come from the model.
func TestGolden(t *testing.T) {
	golden.Each(t, "../../../fixtures/allocator/*.txtar", func(t *testing.T, c golden.Case) {
		settings := readSettings(t, string(c.Part("settings")))
		text, want := c.Part("trace"), c.Part("output")
		if oracle != "" {
			want = runOracle(t, settings, text)
			c.Compare(txtar.File{Name: "output", Data: want})
		}
		config, err := allocator.ParseConfig(settings.Conf)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(c.Path), ".txtar")
		var got bytes.Buffer
		device := settings.Device()
		_, err = trace.Replay(&got, trace.Read(bytes.NewReader(text), name), device,
			allocator.New(device, config), trace.Options{Name: name, Segments: settings.Segments})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"),
			strings.Split(got.String(), "\n")); diff != "" {
			t.Errorf("%s (-PyTorch +the model):\n%s", c.Comment, diff)
		}
	})
}

// runOracle returns the output of PyTorch's own allocator for a trace.
func runOracle(t *testing.T, s trace.Settings, text []byte) []byte {
	t.Helper()
	cmd := oracleCommand(s, "-")
	cmd.Stdin = bytes.NewReader(text)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the oracle: %v: %s", err, diagnostics.String())
	}
	return out
}

// readSettings reads settings from lines such as capacity=100M.
func readSettings(t *testing.T, text string) trace.Settings {
	t.Helper()
	var s trace.Settings
	size := func(value string) int64 {
		n, err := lex.ParseSize(value)
		if err != nil {
			t.Fatal(err)
		}
		return n.Bytes
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "capacity":
			s.Capacity = size(value)
		case "overhead":
			s.Overhead = size(value)
		case "conf":
			s.Conf = value
		case "placement":
			s.Placement = map[string]allocator.Placement{
				"firstfit": allocator.FirstFit,
				"up":       allocator.Up, "down": allocator.Down,
			}[value]
		case "events":
			s.PendingEvents = value == "pending"
		case "segments":
			s.Segments = value == "true"
		default:
			t.Fatalf("unknown setting %q", line)
		}
	}
	return s
}
