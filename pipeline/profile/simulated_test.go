package profile_test

import (
	"bytes"
	"math"
	"os"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// TestProfileOfSimulatedRunPredictsIt: the test learns a profile from the checkpoints in the log of
// a simulated run. A simulation with this profile predicts the run: each stage's peak is right
// within 5 % or 32 MiB (the size of the pieces of a simulated footprint), and the time within 5 %.
func TestProfileOfSimulatedRunPredictsIt(t *testing.T) {
	const files = 12
	for _, name := range []string{"transcription-after.yaml", "long-batch-after.yaml"} {
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile("../../fixtures/scenarios/" + name)
			if err != nil {
				t.Fatal(err)
			}
			run := func(s *scenario.Scenario) (*simulator.Outcome, *timeline.Timeline) {
				var log bytes.Buffer
				out, err := simulator.Run(s, simulator.Options{Files: files, Log: &log})
				if err != nil {
					t.Fatal(err)
				}
				tl, err := parser.Build(parser.Read(&log, "simulated.log"))
				if err != nil {
					t.Fatal(err)
				}
				return out, tl
			}
			s, err := scenario.Read(src, name)
			if err != nil {
				t.Fatal(err)
			}
			known, tl := run(s)
			p, err := profile.Learn(tl)
			if err != nil {
				t.Fatal(err)
			}
			measured := s.Clone()
			for _, c := range p.Apply(measured) {
				if c.Used != profile.Measured {
					t.Errorf("%+v", c)
				}
				t.Logf("%s: %+v", c.Stage, c)
			}
			predicted, _ := run(measured)
			if got, want := predicted.Seconds, known.Seconds; math.Abs(got-want) > 0.05*want {
				t.Errorf("predicted %.0f s, the run took %.0f", got, want)
			}
			for i, want := range known.Stages {
				got := predicted.Stages[i]
				off := math.Abs(float64(got.Allocated - want.Allocated))
				t.Logf("%s: peak %s, predicted %s", want.Stage, record.FormatBytes(want.Allocated),
					record.FormatBytes(got.Allocated))
				if off > max(0.05*float64(want.Allocated), float64(32*mib)) {
					t.Errorf("%s: predicted a peak of %s, the run had %s", want.Stage,
						record.FormatBytes(got.Allocated), record.FormatBytes(want.Allocated))
				}
			}
		})
	}
}
