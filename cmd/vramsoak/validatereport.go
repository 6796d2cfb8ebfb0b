package main

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/simulator"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
)

// answerOf is an answer as reports have it.
func answerOf(a validation.Answer) reports.Answer {
	return [...]reports.Answer{reports.Fits, reports.Unsure, reports.Tight, reports.Fails, reports.DoesNotFit}[a]
}

// describe puts a simulated run into a validation.
func (r *simulatedRun) describe(s *subject, v *reports.Validation) {
	v.Answer, v.Failed, v.FirstFailed, v.Speed = answerOf(r.Answer), r.Failed, r.FirstFailed, r.Speed
	v.Simulations = 1
	needs := r.needs()
	for i, st := range needs.Stages {
		on := r.Stages[i] // the card
		need := reports.StageNeed{
			Stage: st.Stage, Reached: on.Reached, File: st.File, Need: st.Need, Share: st.Share, Allocated: st.Allocated, Reserved: on.Reserved,
			Used: on.Used, Cache: on.Cache, Parts: []reports.Part{},
		}
		if of := s.Stage(st.Stage); of != nil {
			need.Measured = of.Footprint != nil
		}
		need.Parts = partsOf(st.Parts)
		v.Stages = append(v.Stages, need)
	}
	v.Headroom = v.Total - needs.Need
	v.Notes = r.notes
	if n := len(r.Fragmentation); n > 0 {
		v.Fragmentation = &reports.FragmentedEnd{
			Files: n, First: r.Fragmentation[0], Last: r.Fragmentation[n-1], Most: slices.Max(r.Fragmentation),
			PerFile: validation.PerFile(r.Fragmentation), LargestFree: r.outcome.PerFile[n-1].LargestFree,
		}
	}
	v.Retry = r.outcome.FirstPressure
	if f := r.outcome.FirstFailure; f != nil {
		v.Failure = refusal(f)
	}
	if r.Answer == validation.Fails {
		v.Why = r.why()
	}
}

// why names the checks that make an answer other than fits, in one clause.
func (r *simulatedRun) why() string {
	of, ends := check.Fail, " fails"
	switch r.Answer {
	case validation.Fails:
	case validation.Unsure:
		of, ends = check.Undecided, " is undecided"
	default:
		return ""
	}
	var which []string
	for _, f := range r.report.Findings {
		if f.Gates && f.Verdict == of {
			which = append(which, f.Check+" of "+f.Subject)
		}
	}
	return strings.Join(slices.Compact(which), ", ") + ends
}

// partsOf are what a need is made up of, without the allocator's cache.
func partsOf(parts []simulator.Part) []reports.Part {
	var out []reports.Part
	for _, p := range parts {
		if p.Kind != simulator.Cache {
			out = append(out, reports.Part{What: partName(p), Bytes: p.Bytes})
		}
	}
	return out
}

// partName is "weights of asr", "mel", "context".
func partName(p simulator.Part) string {
	switch {
	case p.Kind == simulator.Kept:
		return "kept after use"
	case p.Kind == simulator.Others:
		return "other processes"
	case p.Name == "":
		return string(p.Kind)
	case p.Kind == simulator.Tensors:
		return p.Name
	case p.Kind == simulator.Measured:
		return p.Name + " as measured"
	}
	return fmt.Sprintf("%s of %s", p.Kind, p.Name)
}

// refusal is an allocation that failed.
func refusal(f *simulator.Failure) *reports.Refusal {
	r := &reports.Refusal{File: f.File, Stage: f.Stage, What: f.What, Recovered: f.Recovered, Parts: partsOf(f.Parts)}
	if f.Of.Name != "" {
		r.What = partName(f.Of)
	}
	if o := f.OOM; o != nil {
		r.Requested, r.FreeInSum, r.LargestFree = o.Requested, f.Free(), f.LargestFree()
		r.Missing, r.Fragmentation = f.Missing(), f.Fragmented()
		r.Message = o.Error()
	}
	return r
}

// proposals puts what a search found into a validation.
func (s *subject) proposals(v *reports.Validation, found *validation.Found) {
	v.Simulations += found.Simulations
	if found.Smallest != nil {
		v.Smallest = new(s.proposal(*found.Smallest))
	}
	for _, c := range found.Others {
		v.Others = append(v.Others, s.proposal(c))
	}
}

func (s *subject) proposal(c validation.Change) reports.Change {
	out := reports.Change{
		Kind: c.Kind(), Answer: answerOf(c.Answer), Failed: c.Failed, Files: c.Files, Need: c.Need, Share: c.Share, Speed: c.Speed,
		Cost: c.Cost(), Why: c.Why,
	}
	for _, e := range c.Edits {
		at := parser.Position{Path: s.Path, Line: e.Line}
		out.Timeless = out.Timeless || s.timeless(e.Key)
		out.Edits = append(out.Edits, reports.Edit{
			At: fmt.Sprintf("%s:%d", at, e.Column), Key: e.Key, Old: e.Old, New: e.New, Add: e.Add, Under: e.Under, Export: e.Export,
		})
	}
	return out
}

// timeless says that an edit is of the batch of a stage whose seconds, in the file, do not depend
// on it.
func (s *subject) timeless(key string) bool {
	var stage int
	n, _ := fmt.Sscanf(key, "stages[%d].batch", &stage) // another key has none
	return n == 1 && strings.HasSuffix(key, ".batch") && stage < len(s.Stages) && !s.Stages[stage].Seconds.Uses("batch")
}

// tableFiles are the files of each simulation of a table, where --files does not say otherwise.
const tableFiles = 50

// cardTable answers for cards of all sizes, by the models of a family.
func (s *subject) cardTable() (*reports.CardTable, error) {
	found, err := validation.Cards(s.Scenario, s.memoryOnly, s.files)
	if err != nil {
		return nil, err
	}
	t := &reports.CardTable{Schema: reports.CardTableSchema, Scenario: s.Name, Files: s.files, Replaced: found.Replaced, Models: found.Models}
	for i, card := range found.Cards {
		t.Cards = append(t.Cards, sizeName(card))
		var row []reports.CardFit
		for _, r := range found.Cells[i] {
			word := r.Word(float64(s.policy.Peak.Notice), float64(s.policy.Peak.Max))
			row = append(row, reports.CardFit{Word: string(word), Share: r.Share})
		}
		t.Cells = append(t.Cells, row)
	}
	return t, nil
}
