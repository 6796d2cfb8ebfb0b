//go:build !race

package validation

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// TestRuleOfThumb: on the original pipeline, the simulation agrees with the rule of thumb of its
// authors for four models. 8 GB: base or small, tight; 12 GB: medium, comfortable; 16 GB: large-v3,
// tight; 24 GB: large-v3, plenty. Larger models do not fit.
func TestRuleOfThumb(t *testing.T) {
	s := readPipeline(t)
	s.Files = 3
	table, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		card, model string
		word        Word
	}{
		{"8 GB", "whisper-base", "tight"},
		{"8 GB", "whisper-small", "tight"},
		{"8 GB", "whisper-medium", "no"},
		{"12 GB", "whisper-medium", "comfortable"},
		{"12 GB", "whisper-large-v3", "no"},
		{"16 GB", "whisper-large-v3", "tight"},
		{"24 GB", "whisper-large-v3", "plenty"},
	} {
		card, model := slices.Index(table.Cards, c.card), slices.Index(table.Models, c.model)
		if card < 0 || model < 0 {
			t.Fatalf("want %s and %s, got %v and %v", c.card, c.model, table.Cards, table.Models)
		}
		if got := table.Cells[card][model]; got.Word != c.word {
			t.Errorf("%s on %s: got %s (%.1f %%), want %s", c.model, c.card, got.Word,
				100*got.Share, c.word)
		}
	}
}

// TestPeakAgreesWithCheck: if the peak check of the simulated log fails, validate's answer is tight
// or worse. It may be worse because the card must also hold the context and other processes.
func TestPeakAgreesWithCheck(t *testing.T) {
	for total := int64(13) << 30; total <= 18<<30; total += 1 << 29 {
		s := readPipeline(t)
		s.Change(func(of *scenario.Scenario) { of.GPU.Total = total })
		r, err := s.simulate(s.Scenario, Files{First: 1, Count: 3}, false)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.checks.Findings, func(f check.Finding) bool {
			return f.Check == check.Peak && f.Subject != cardSubject
		})
		if i < 0 {
			t.Fatalf("check has no peak on a card of %d", total)
		}
		if r.checks.Findings[i].Verdict == check.Fail && r.Answer < Tight {
			t.Errorf("on a card of %d: check's peak fails, but the answer is %s", total, r.Answer)
		}
		agrees(t, r, fmt.Sprintf("on a card of %d", total))
	}
}

// agrees fails the test if the answer contradicts the verdict, which becomes the exit code.
func agrees(t *testing.T, r *simulation, of string) {
	t.Helper()
	want := check.Fail
	switch r.Answer {
	case Fits:
		want = check.Pass
	case Unsure:
		want = check.Undecided
	}
	if r.checks.Verdict != want {
		t.Errorf("%s: the answer is that it %s, the verdict is %s", of, r.Answer, r.checks.Verdict)
	}
}

// TestNeverMilderThanCheck: the verdict of validate is at least as bad as the verdict of vramsoak
// simulate | vramsoak check - over the same files, for several failures and policies.
func TestNeverMilderThanCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const pattern = `gpu: {total: %s, context: 256MiB}
files: {count: 12, seconds: 60}
models: [{id: model, weights: 1GiB, resident: true}]
stages:
  - {name: First, once: %s, on_oom: %s, tensors: [{name: table, size: 512MiB}]}
  - name: Work
    models: [model]
    items: 16
    batch: 4
    on_oom: %s
    seconds: 30
    tensors:
      - {name: buffers, size: batch * 512 * MiB, each: pass}
      - {name: result, size: 64MiB, until: file}
    cleanups: [{name: Buffers}]
%s`
	mildness := []check.Verdict{check.Fail, check.Undecided, check.Pass}
	answers := map[Answer]int{}
	for _, gate := range []string{
		"", "gate: [recovery]", "gate: [drift]", "require: [drift]",
		"gate: []",
	} {
		policy, err := check.ParsePolicy([]byte(gate), "vramsoak.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, total := range []string{"700MiB", "3GiB", "4GiB", "16GiB"} {
			for _, onOOM := range []string{"fail", "halve", "skip"} {
				for _, once := range []string{"true", "false"} {
					for _, fault := range []string{
						"", "leak: 50MiB", "crash: 5", "keep: buffers",
						"keep: result, share: 0.5, from_file: 3",
					} {
						if fault != "" {
							fault = "faults: [{" + fault + "}]\n"
						}
						src := fmt.Sprintf(pattern, total, once, onOOM, onOOM, fault)
						read, err := scenario.Read([]byte(src), "p.yaml")
						if err != nil {
							t.Fatalf("%v in\n%s", err, src)
						}
						s := &Batch{Scenario: read, Policy: policy, Files: read.Files.Count}
						r, err := s.simulate(read, s.all(), false)
						if err != nil {
							t.Fatal(err)
						}
						of := fmt.Sprintf("%s\n%s", gate, src)
						agrees(t, r, of)
						answers[r.Answer]++
						var log bytes.Buffer
						o, err := simulator.Run(read, simulator.Options{Log: &log})
						if err != nil {
							t.Fatal(err)
						}
						b := &parser.Builder{}
						if err := b.Read(&log, "-"); err != nil {
							t.Fatal(err)
						}
						alone := check.Of(b.Timeline(), policy).Verdict
						mild := slices.Index(mildness, r.checks.Verdict)
						if mild > slices.Index(mildness, alone) {
							t.Errorf("%s: check's verdict is %s, validate's %s", of, alone,
								r.checks.Verdict)
						}
						if (o.Failed > 0 || o.Skipped > 0) && r.Answer != DoesNotFit {
							t.Errorf("%s: %d files fail, %d stages are given up, and it %s", of,
								o.Failed, o.Skipped, r.Answer)
						}
					}
				}
			}
		}
	}
	for a := Fits; a <= DoesNotFit; a++ {
		if answers[a] == 0 {
			t.Errorf("no scenario has the answer %s: %v", a, answers)
		}
	}
}

func readPipeline(t *testing.T) *Batch { return readBatch(t, "pipeline", 0) }

// readBatch reads a scenario of fixtures/scenarios. files is the number of files to simulate; 0
// keeps the scenario's own number.
func readBatch(t *testing.T, name string, files int) *Batch {
	t.Helper()
	path := "../../fixtures/scenarios/" + name + ".yaml"
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read, err := scenario.Read(src, path)
	if err != nil {
		t.Fatal(err)
	}
	b := &Batch{
		Scenario: read, Source: src, Files: cmp.Or(files, read.Files.Count),
		Policy: check.DefaultPolicy(),
	}
	b.Change(func(s *scenario.Scenario) { s.SetFiles(b.Files) })
	return b
}

// TestStoriesHaveAChange: for each scenario that re-enacts a real failure (NAME-before.yaml),
// validate finds a change with which the batch fits, and proves it by a simulation of all files.
func TestStoriesHaveAChange(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for story, files := range map[string]int{
		"gan-vit": 5, "training": 5, "transcription": 6, "language-identification": 6,
		"long-batch": 100,
	} {
		t.Run(story, func(t *testing.T) {
			quiet := func(string) {}
			r, err := readBatch(t, story+"-before", files).Validate(Evidence{Progress: quiet})
			if err != nil {
				t.Fatal(err)
			}
			if r.Answer != DoesNotFit || r.Checks.Verdict != check.Fail || r.Failure == nil {
				t.Errorf("got %s, %s; want that it does not fit, and what fails first", r.Answer,
					r.Checks.Verdict)
			}
			if c := r.Smallest; c == nil || c.Answer != Fits || c.Failed > 0 || c.Files != files {
				t.Errorf("got %+v, want a change that fits, proved over %d files", c, files)
			}
		})
	}
}
