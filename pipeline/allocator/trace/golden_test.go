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

// Short traces that each show one rule, and what PyTorch's own allocator prints for them. Where the
// oracle is there (make oracle) it must print them; UPDATE=1 has it print them anew: they never
// come from the model.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../../fixtures/allocator/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]*txtar.File{}
			for i := range archive.Files {
				parts[archive.Files[i].Name] = &archive.Files[i]
			}
			settings := readSettings(t, string(parts["settings"].Data))
			text, want := parts["trace"].Data, parts["output"]
			if oracle != "" {
				theirs := runOracle(t, settings, text)
				if golden.Updating() {
					want.Data = theirs
					golden.Rewrite(t, file, txtar.Format(archive))
				}
				if diff := cmp.Diff(string(want.Data), string(theirs)); diff != "" {
					t.Errorf("%s (-the file +PyTorch):\n%s", archive.Comment, diff)
				}
			}
			config, err := allocator.ParseConfig(settings.Conf)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			device := settings.Device()
			_, err = trace.Replay(&got, trace.Read(bytes.NewReader(text), name), device,
				allocator.New(device, config),
				trace.Options{Name: name, Segments: settings.Segments})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want.Data), "\n"), strings.Split(got.String(),
				"\n")); diff != "" {
				t.Errorf("%s (-PyTorch +the model):\n%s", archive.Comment, diff)
			}
		})
	}
}

// runOracle is what the oracle prints for a trace.
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

// readSettings reads lines such as capacity=100M.
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
