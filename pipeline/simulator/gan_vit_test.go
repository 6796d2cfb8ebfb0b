package simulator_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// source returns a scenario of the fixtures.
func source(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(scenarios + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// parts returns the GiB of each kind of memory in a stage, and the sum of all but the cache.
func parts(o *simulator.Outcome, stage string) (of map[simulator.PartKind]float64, need float64) {
	of = map[simulator.PartKind]float64{}
	for _, s := range o.Stages {
		if s.Stage != stage {
			continue
		}
		for _, p := range s.Parts {
			of[p.Kind] += float64(p.Bytes) / (1 << 30)
			if p.Kind != simulator.Cache {
				need += float64(p.Bytes) / (1 << 30)
			}
		}
	}
	return of, need
}

// failsForTheData fails the test unless the ViT's first step runs out of memory, while the data on
// the card is what holds most.
func failsForTheData(t *testing.T, what string, o *simulator.Outcome) {
	t.Helper()
	f := o.FirstFailure
	switch {
	case f == nil || f.File != 1 || f.Stage != "ViT Training" || f.What != "activations of vit":
		t.Errorf("%s: got %+v, want that activations of the ViT fail in file 1", what, f)
	case f.Parts[0].Name != "data" || f.Parts[0].Bytes < 12<<30 || f.Fragmented():
		t.Errorf("%s: got %+v, fragmented: %v, want that the data leaves too little", what, f.Parts,
			f.Fragmented())
	}
}

// TestGANViT compares the notebook's networks, simulated with the document's batches, with the
// document's readings. The sums need not agree, because the document's readings do not say when
// they were taken, and the networks were not chosen to meet them. Before must fail because of the
// data on the card, and after must fit.
func TestGANViT(t *testing.T) {
	_, before := run(t, source(t, "gan-vit-before"), simulator.Options{})
	failsForTheData(t, "before", before)
	if before.Failed != 5 {
		t.Errorf("before: %d of 5 epochs fail", before.Failed)
	}
	_, after := run(t, source(t, "gan-vit-after"), simulator.Options{})
	if after.Failed > 0 || after.FirstFailure != nil {
		t.Errorf("after: %d epochs fail, %+v", after.Failed, after.FirstFailure)
	}
	vit, vitNeed := parts(after, "ViT Training")
	gan, ganNeed := parts(after, "GAN Training")
	for _, c := range []struct {
		what, document string
		gib            float64
	}{
		{"data, before", "13.0", float64(before.FirstFailure.Parts[0].Bytes) / (1 << 30)},
		{"data, after", "0.4", vit[simulator.Tensors]},
		{"weights of all models", "1.5, with more", vit[simulator.Weights]},
		{"gradients of the GAN", "in the 1.5", gan[simulator.Gradients]},
		{"optimizer states", "in the 1.5", vit[simulator.Optimizer]},
		{"activations of the ViT, batch of 12", "0.5", vit[simulator.Activations]},
		{"activations of the GAN, batch of 24", "0.5", gan[simulator.Activations]},
		{"cached", "1.6", vit[simulator.Cache]},
		{"context", "not said", vit[simulator.Context]},
		{"ViT training", "4 to 6 (was 12)", vitNeed},
		{"GAN training", "3 to 5 (was 15)", ganNeed},
		{"used at most", "4.0, peak 6 to 8", float64(after.Peak.Used) / (1 << 30)},
	} {
		t.Logf("%-38s document %-18s simulated %5.2f", c.what, c.document, c.gib)
		documented(t, c.what, c.document, fmt.Sprintf("%.2f", c.gib))
	}
	// The components by hand: 327.3 MiB of the ViT's weights, 139.2 of the GAN's; Adam's moments are
	// twice that; the ViT's step of 12 images as measured (1,355 saved, and what a layer works with).
	want(t, "weights", 1024*vit[simulator.Weights], 327.3+139.2, 0.01)
	want(t, "optimizer states", 1024*vit[simulator.Optimizer], 2*(327.3+139.2), 0.02)
	want(t, "activations of the ViT", 1024*vit[simulator.Activations], 1355+58, 0.02)
	want(t, "data", 1024*vit[simulator.Tensors], 0.4*1024, 0.01)
}

var (
	parameterLine = regexp.MustCompile(`(?m)^  ([a-z_]+): .*# (.*)$`)
	said          = regexp.MustCompile(`from the document|from a source: |measured|assumed`)
)

// TestNumbersSaySources: each number of these scenarios says where it comes from.
func TestNumbersSaySources(t *testing.T) {
	for _, name := range []string{
		"gan-vit-before", "gan-vit-after", "habit-outputs-on-gpu", "habit-loss-with-graph",
		"habit-list-over-epochs",
	} {
		_, body, _ := strings.Cut(source(t, name), "\ngpu:")
		numbers := 0
		for line := range strings.Lines("gpu:" + body) {
			key := strings.TrimLeft(line, " -{")
			numbered := strings.HasPrefix(line, "gpu:") || strings.HasPrefix(line, "files:") ||
				strings.HasPrefix(line, "clear:") || strings.HasPrefix(key, "id:") ||
				regexp.MustCompile(`^  [a-z_]+: `).MatchString(line) || strings.Contains(line, "workers:")
			if !numbered {
				continue
			}
			numbers++
			if _, comment, _ := strings.Cut(line, "#"); !said.MatchString(comment) {
				t.Errorf("%s: %q does not say where its numbers come from", name, line)
			}
		}
		if numbers < 5 {
			t.Errorf("%s: found %d lines with numbers", name, numbers)
		}
	}
}

// TestAssumedNumbers halves and doubles each number that the scenarios assume. The answer must not
// depend on any of them. To save time, it simulates up to 10 epochs, halved and doubled too.
func TestAssumedNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for name, holds := range map[string]func(t *testing.T, what string, o *simulator.Outcome){
		"gan-vit-before": failsForTheData,
		"gan-vit-after": func(t *testing.T, what string, o *simulator.Outcome) {
			t.Helper()
			if o.Failed > 0 || o.FirstFailure != nil {
				t.Errorf("%s: %d files fail, %+v", what, o.Failed, o.FirstFailure)
			}
		},
	} {
		src := source(t, name)
		tried := 0
		try := func(what string, change func(s *scenario.Scenario, by float64)) {
			for _, by := range []float64{0.5, 2} {
				s, err := scenario.Read([]byte(src), name)
				if err != nil {
					t.Fatal(err)
				}
				s.SetFiles(min(s.Files.Count, 10))
				change(s, by)
				o, err := simulator.Run(s, simulator.Options{})
				if err != nil {
					t.Fatal(err)
				}
				tried++
				holds(t, name+": "+what, o)
				answer := "fits"
				if f := o.FirstFailure; f != nil {
					answer = "fails first at " + f.What + " in " + f.Stage
				}
				_, vit := parts(o, "ViT Training")
				_, gan := parts(o, "GAN Training")
				t.Logf("%-15s %-14s x %-4g %-48s ViT %5.2f GiB, GAN %5.2f GiB, %7.1f s", name, what, by,
					answer, vit, gan, o.Seconds)
			}
		}
		for _, m := range parameterLine.FindAllStringSubmatch(src, -1) {
			if strings.HasPrefix(m[2], "assumed") {
				try(m[1], func(s *scenario.Scenario, by float64) {
					if err := s.Set(m[1], by*s.Values()[m[1]]); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
		try("files.count", func(s *scenario.Scenario, by float64) {
			s.SetFiles(int(by * float64(s.Files.Count)))
		})
		try("files.seconds", func(s *scenario.Scenario, by float64) {
			s.Files.Low, s.Files.High = by*s.Files.Low, by*s.Files.High
		})
		try("workers", func(s *scenario.Scenario, by float64) {
			for i := range s.Stages {
				for k := range s.Stages[i].Tensors {
					w := &s.Stages[i].Tensors[k].Workers
					*w = int(by * float64(*w))
				}
			}
		})
		try("nothing", func(*scenario.Scenario, float64) {})
		if tried < 2*6 {
			t.Errorf("%s: tried %d changes of assumed numbers", name, tried)
		}
	}
}

// TestHabits: each of a notebook's bad habits keeps the same amount of memory in each epoch, and
// this memory fills the card in the end.
func TestHabits(t *testing.T) {
	for name, c := range map[string]struct {
		kept string
		mib  float64 // kept of each epoch, by hand
	}{
		"habit-outputs-on-gpu": {"outputs", 1920 * 197 * 768 * 4 / (1 << 20)},
		// Measured on an H200: what autograd saves of 8 images is 897 MiB; an epoch has 4.
		"habit-loss-with-graph":  {"graph of vit", 897 * 4 / 8},
		"habit-list-over-epochs": {"", 500 * 128 * 128 * 4 / (1 << 20)},
	} {
		_, o := run(t, source(t, name), simulator.Options{})
		for i := 3; i < 8; i++ {
			grows := o.PerFile[i].Idle.Allocated - o.PerFile[i-1].Idle.Allocated
			want(t, name+": growth", float64(grows)/(1<<20), c.mib, 0.04)
		}
		f := o.FirstFailure
		switch {
		case c.kept == "" && f != nil:
			t.Errorf("%s: %+v, want that 60 epochs survive", name, f)
		case c.kept != "" && (f == nil || f.OOM == nil || f.File < 5):
			t.Errorf("%s: got %+v, want out of memory after some epochs", name, f)
		case c.kept != "" && (f.Parts[0].Name != c.kept || f.Parts[0].Bytes < 12<<30):
			t.Errorf("%s: %+v holds most, want %s", name, f.Parts[0], c.kept)
		}
	}
}
