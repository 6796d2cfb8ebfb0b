package simulator_test

import (
	"fmt"
	"math"
	"testing"

	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// languages returns a scenario of language identification with values of its parameters.
func languages(t *testing.T, name string, values map[string]float64) *scenario.Scenario {
	t.Helper()
	s := readScenario(t, "language-identification-"+name)
	for name, value := range values {
		if err := s.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// expandable sets expandable segments on or off.
func expandable(s *scenario.Scenario, on bool) *scenario.Scenario {
	s.Env = map[string]string{"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}
	if on {
		s.Env["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
	}
	return s
}

// TestLanguageIdentification: for 20 draws of lengths, batches of a quarter of the card fail,
// because a batch holds more than its clips: 5.23 GiB padded, beside those of the last batch.
// Expandable segments do not help, because too little is free. Batches of an eighth survive.
func TestLanguageIdentification(t *testing.T) {
	for seed := uint64(1); seed <= seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			for _, on := range []bool{false, true} {
				s := expandable(languages(t, "before", nil), on)
				s.Files.Seed = seed
				f := simulate(t, s).FirstFailure
				if f == nil || f.File != 2 || f.Stage != "Loading" || f.Of.Name != "padded" ||
					f.Fragmented() {
					t.Errorf("before, expandable segments %t: got %+v, want the padded clips of the second "+
						"batch to fail, for lack of memory", on, f)
				}
			}
			s := languages(t, "after", nil)
			s.Files.Seed = seed
			if o := simulate(t, s); o.FirstFailure != nil {
				t.Errorf("after: batch %d fails, want none", o.FirstFailure.File)
			}
		})
	}
}

// TestLanguageIdentificationByFragmentation: with a fifth of the card, enough is free for the third
// batch, but not in one piece. There expandable segments help.
func TestLanguageIdentificationByFragmentation(t *testing.T) {
	fifth := map[string]float64{"fraction": 5}
	f := simulate(t, expandable(languages(t, "before", fifth), false)).FirstFailure
	if f == nil || !f.Fragmented() {
		t.Errorf("without expandable segments: got %+v, want a failure by fragmentation", f)
	}
	o := simulate(t, expandable(languages(t, "before", fifth), true))
	if o.FirstFailure != nil {
		t.Errorf("with expandable segments: batch %d fails, want none", o.FirstFailure.File)
	}
}

// TestLanguageIdentificationReadings prints the readings after a batch beside the document's, and
// what its advice gains. The document does not say how much padding its clips need. Here it is the
// longest, 20 s, against the mean, 11 s. With 17.3 s it would be the document's 2.34 GB.
func TestLanguageIdentificationReadings(t *testing.T) {
	read := func(values map[string]float64) (allocated, reserved float64) {
		for _, f := range simulate(t, languages(t, "after", values)).PerFile {
			allocated = max(allocated, gib(f.Idle.Allocated))
			reserved = max(reserved, gib(f.Idle.Reserved))
		}
		return allocated, reserved
	}
	allocated, reserved := read(nil)
	for _, c := range []struct {
		what           string
		document, ours float64
	}{{"allocated", 2.34, allocated}, {"reserved", 2.86, reserved}} {
		t.Logf("after a batch, %s: document %.2f GB, simulated %.2f GiB, %+.0f %%", c.what, c.document,
			c.ours, 100*(c.ours/c.document-1))
		documented(t, c.what+" after a batch", fmt.Sprintf("%.2f", c.document),
			fmt.Sprintf("%.2f", c.ours))
	}
	// The model, and 1/8 of the card times 20 / 11.
	s := languages(t, "after", nil)
	want := gib(s.GPU.Total)/8*20/11 + 0.08
	if math.Abs(allocated-want) > 0.01 {
		t.Errorf("after a batch: %.3f GiB allocated, want %.3f: the model and the padded clips",
			allocated, want)
	}
	sixteenth, _ := read(map[string]float64{"fraction": 16})
	sorted, _ := read(map[string]float64{"small_first": 1})
	t.Logf("1/16 of the card instead of 1/8: %.2f GiB less after a batch", allocated-sixteenth)
	t.Logf("small files first: %.2f GiB less after a batch", allocated-sorted)
	documented(t, "1/16 instead of 1/8", "less", fmt.Sprintf("%.2f less", allocated-sixteenth))
	documented(t, "small files first", "less", fmt.Sprintf("%.2f less", allocated-sorted))
	if allocated-sixteenth < 1 || allocated-sorted < 0.5 {
		t.Errorf("1/16 gains %.2f GiB and small files first %.2f, want more than 1 and 0.5",
			allocated-sixteenth, allocated-sorted)
	}
}

// TestLanguageIdentificationAssumptions varies the numbers that the scenario assumes, by half and
// twice, and the lengths of the clips, which come from a source. None decides whether it fails.
func TestLanguageIdentificationAssumptions(t *testing.T) {
	for _, name := range []string{"chunk", "shortest"} {
		for _, by := range []float64{0.5, 2} {
			vary := func(story string) *simulator.Outcome {
				s := languages(t, story, nil)
				for _, p := range s.Parameters {
					if p.Name == name {
						_ = s.Set(name, by*p.Value) // the scenario has it
					}
				}
				return simulate(t, s)
			}
			before, after := vary("before"), vary("after")
			if before.FirstFailure == nil || after.FirstFailure != nil {
				t.Errorf("%s x %g: before %+v, after %+v; want before to fail, and after not", name, by,
					before.FirstFailure, after.FirstFailure)
			}
			t.Logf("%s x %g: after needs %.2f GiB", name, by, float64(after.Peak.Allocated)/
				float64(record.GiB))
		}
	}
}
