package simulator_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

const scenarios = "../../fixtures/scenarios/"

// A story is the simulation of a scenario in fixtures. The scenario re-enacts a documented memory
// problem of a pipeline, or the solution. tl is the timeline of the simulated log.
type story struct {
	*simulator.Outcome
	tl *timeline.Timeline
}

// tell runs a scenario of fixtures and reads its log.
func tell(t *testing.T, name string, o simulator.Options) story {
	t.Helper()
	src, err := os.ReadFile(scenarios + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	log, outcome := run(t, string(src), o)
	tl, err := parser.Build(parser.Read(strings.NewReader(log), name))
	if err != nil {
		t.Fatal(err)
	}
	return story{outcome, tl}
}

// documented fails the test unless the tables of docs/stories.md have a row that begins with these
// cells: a figure, what the document says, and what the simulation says.
func documented(t *testing.T, cells ...string) {
	t.Helper()
	docs, err := os.ReadFile("../../docs/stories.md")
	if err != nil {
		t.Fatal(err)
	}
	row := "| " + strings.Join(cells, " | ") + " |"
	if !strings.Contains(string(docs), "\n"+row) {
		t.Errorf("docs/stories.md: expected a row that begins with %s", row)
	}
}

// readScenario reads a scenario of fixtures.
func readScenario(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	src, err := os.ReadFile(scenarios + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Read(src, name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// simulate runs a scenario up to the first file that fails, without a log.
func simulate(t *testing.T, s *scenario.Scenario) *simulator.Outcome {
	t.Helper()
	o, err := simulator.Run(s, simulator.Options{EndAtFailure: true})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// at returns, in GiB, quantity q at the checkpoint of the first file that has this name.
func (s story) at(t *testing.T, name string, q record.Quantity) float64 {
	t.Helper()
	for _, f := range s.tl.Files[:1] {
		for i := range f.Checkpoints {
			if f.Checkpoints[i].Name == name {
				return float64(f.Checkpoints[i].Bytes(q)) / float64(record.GiB)
			}
		}
	}
	t.Fatalf("the log has no checkpoint %q", name)
	return 0
}

// TestSameBytes: a scenario always gives the same log, even if every pass is simulated (EachPass).
func TestSameBytes(t *testing.T) {
	for _, name := range []string{
		"transcription-before", "training-after",
		"language-identification-after", "gan-vit-before",
	} {
		src, err := os.ReadFile(scenarios + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		first, o := run(t, string(src), simulator.Options{Files: 4, Segments: true})
		again, _ := run(t, string(src), simulator.Options{Files: 4, Segments: true})
		each, _ := run(t, string(src), simulator.Options{Files: 4, Segments: true, EachPass: true})
		if first != again {
			t.Errorf("%s: two runs differ", name)
		}
		if name == "transcription-before" && o.Stats.Repeated < o.Stats.Passes/2 {
			t.Errorf("%s: %d of %d passes repeat an earlier one, want most", name, o.Stats.Repeated,
				o.Stats.Passes)
		}
		if first != each {
			t.Errorf("%s: simulating every pass gives another log", name)
		}
	}
}

// BenchmarkTranscription measures the simulation of a thousand files of the transcription scenario.
func BenchmarkTranscription(b *testing.B) {
	src, err := os.ReadFile(scenarios + "transcription-after.yaml")
	if err != nil {
		b.Fatal(err)
	}
	s, err := scenario.Read(src, "transcription-after.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var log bytes.Buffer
		if _, err := simulator.Run(s, simulator.Options{Files: 1000, Log: &log}); err != nil {
			b.Fatal(err)
		}
	}
}
