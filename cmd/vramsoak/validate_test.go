package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
)

// The origin's rule of thumb for its pipeline of four models: 8 GB: base or small, tight; 12 GB: medium, comfortable; 16 GB:
// large-v3, tight; 24 GB: large-v3, plenty. What is above its card's model does not fit.
func TestRuleOfThumb(t *testing.T) {
	s := readPipeline(t)
	s.files = 3
	table, err := s.cardTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ card, model, word string }{
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
			t.Fatalf("no %s, %s in %v, %v", c.card, c.model, table.Cards, table.Models)
		}
		if got := table.Cells[card][model]; got.Word != c.word {
			t.Errorf("%s on %s: got %s (%.1f %%), want %s", c.model, c.card, got.Word, 100*got.Share, c.word)
		}
	}
}

// Where check's peak of the simulated log fails, so does the validation. Between them lies what the allocator does not see: the
// context and what others hold.
func TestPeakAgreesWithCheck(t *testing.T) {
	for total := int64(13) << 30; total <= 18<<30; total += 1 << 29 {
		s := readPipeline(t)
		s.prepare = func(of *scenario.Scenario) { of.GPU.Total = total }
		s.prepare(s.Scenario)
		r, err := s.simulate(s.Scenario, validation.Files{First: 1, Count: 3}, false)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.report.Findings, func(f check.Finding) bool {
			return f.Check == check.Peak && f.Subject != cardSubject
		})
		if i < 0 {
			t.Fatalf("check has no peak on a card of %d", total)
		}
		if r.report.Findings[i].Verdict == check.Fail && r.Answer < validation.Tight {
			t.Errorf("on a card of %d check's peak fails, and the answer is %s", total, says(r.Answer))
		}
		agrees(t, r, fmt.Sprintf("on a card of %d", total))
	}
}

// agrees says that an answer and the verdict that becomes the exit code are of one mind.
func agrees(t *testing.T, r *simulatedRun, of string) {
	t.Helper()
	want := check.Fail
	switch r.Answer {
	case validation.Fits:
		want = check.Pass
	case validation.Unsure:
		want = check.Undecided
	}
	if r.report.Verdict != want {
		t.Errorf("%s: the answer is that it %s, the verdict is %s", of, says(r.Answer), r.report.Verdict)
	}
}

// Whatever fails in a scenario, and whatever its policy looks at: validate is never milder than the same files by vramsoak
// simulate | vramsoak check -.
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
	answers := map[validation.Answer]int{}
	for _, gate := range []string{"", "gate: [recovery]", "gate: [drift]", "require: [drift]", "gate: []"} {
		policy, err := check.ParsePolicy([]byte(gate), "vramsoak.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, total := range []string{"700MiB", "3GiB", "4GiB", "16GiB"} {
			for _, onOOM := range []string{"fail", "halve", "skip"} {
				for _, once := range []string{"true", "false"} {
					for _, fault := range []string{"", "leak: 50MiB", "crash: 5", "keep: buffers", "keep: result, share: 0.5, from_file: 3"} {
						if fault != "" {
							fault = "faults: [{" + fault + "}]\n"
						}
						src := fmt.Sprintf(pattern, total, once, onOOM, onOOM, fault)
						read, err := scenario.Read([]byte(src), "p.yaml")
						if err != nil {
							t.Fatalf("%v in\n%s", err, src)
						}
						s := &subject{Scenario: read, policy: policy, files: read.Files.Count}
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
						if alone := check.Of(b.Timeline(), policy).Verdict; slices.Index(mildness, r.report.Verdict) > slices.Index(mildness, alone) {
							t.Errorf("%s: check says %s, and validate %s", of, alone, r.report.Verdict)
						}
						if (o.Failed > 0 || o.Skipped > 0) && r.Answer != validation.DoesNotFit {
							t.Errorf("%s: %d files fail, %d stages are given up, and it %s", of, o.Failed, o.Skipped, says(r.Answer))
						}
					}
				}
			}
		}
	}
	for a := validation.Fits; a <= validation.DoesNotFit; a++ {
		if answers[a] == 0 {
			t.Errorf("no scenario of these %s: %v", says(a), answers)
		}
	}
}

func readPipeline(t *testing.T) *subject {
	t.Helper()
	s, err := readSubject("../../fixtures/scenarios/pipeline.yaml", validateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of each story that fails there is a change with which it fits, and with which it was simulated.
func TestStoriesHaveAChange(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for story, files := range map[string]int{
		"gan-vit": 5, "training": 5, "transcription": 6, "language-identification": 6, "long-batch": 52,
	} {
		t.Run(story, func(t *testing.T) {
			s, err := readSubject("../../fixtures/scenarios/"+story+"-before.yaml", validateOptions{files: files})
			if err != nil {
				t.Fatal(err)
			}
			v, report, err := answer(t.Context(), s, validateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if v.Answer != reports.DoesNotFit || report.Verdict != check.Fail || v.Failure == nil {
				t.Errorf("got %s, %s; want that it does not fit, and what fails first", v.Answer, report.Verdict)
			}
			if c := v.Smallest; c == nil || c.Answer != reports.Fits || c.Failed > 0 || c.Files != files {
				t.Errorf("got %+v, want a change that fits, proved over %d files", c, files)
			}
		})
	}
}

// The documentation names each card and each model that is known.
func TestDocsNameCardsAndModels(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reference/cards-and-models.md")
	if err != nil {
		t.Fatal(err)
	}
	names := models.Names()
	for _, c := range scenario.Cards() {
		names = append(names, c.Card)
	}
	_, list, _ := strings.Cut(string(docs), "## Cards and models that are known by name")
	list = strings.ReplaceAll(list, "\n", " ")
	for _, name := range names {
		if !strings.Contains(list, " "+name+",") && !strings.Contains(list, " "+name+".") {
			t.Errorf("docs/reference/cards-and-models.md does not name %s", name)
		}
	}
}
