package main

import (
	"slices"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/pipeline/scenario"
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

// What vramsoak check says of the simulated log is never milder than the validation: where its peak fails, so does the
// validation. Between them lies what the allocator does not see: the context and what others hold.
func TestAgreesWithCheck(t *testing.T) {
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
		if (r.Answer >= validation.Tight) != (r.report.Verdict == check.Fail) {
			t.Errorf("on a card of %d the answer is %s and the verdict %s", total, says(r.Answer), r.report.Verdict)
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
	for story, files := range map[string]int{
		"gan-vit": 5, "training": 5, "transcription": 12, "language-identification": 6, "long-batch": 60,
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
