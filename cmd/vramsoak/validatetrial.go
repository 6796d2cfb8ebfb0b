package main

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
	"vramsoak/pipeline/validation"
)

// A simulated run is one on the virtual GPU, with what there is to say of it.
type simulatedRun struct {
	validation.Assessment
	outcome *simulator.Outcome
	report  *check.Report // on its log
	// unlimited is the batch on a device without limit, where an allocation failed on the card.
	unlimited *validation.Assessment
	notes     []string // on what was decided by more than the log
}

// trial is a simulation of a search that began at an answer: up to the first file that fails. Its log is judged where all files
// are simulated, and where it was a check that failed; over fewer, what warms up looks like a leak.
func (s *subject) trial(began validation.Answer, show *display) validation.Trial {
	var begun atomic.Int64
	return func(of *scenario.Scenario, files validation.Files) (validation.Result, error) {
		show.say(fmt.Sprintf("looking for the smallest change: simulation %d, of %d files", begun.Add(1), files.Count))
		if files.Count < s.files && began != validation.Fails {
			return s.memoryOnly(of, files)
		}
		r, err := s.simulate(of, files, true)
		if err != nil {
			return validation.Result{}, err
		}
		r.Why = r.why()
		return r.Result, nil
	}
}

// memoryOnly is a simulation up to the first file that fails, of which only the memory is looked at.
func (s *subject) memoryOnly(of *scenario.Scenario, files validation.Files) (validation.Result, error) {
	o, err := simulator.Run(of, simulator.Options{First: files.First, Files: files.Count, EndAtFailure: true})
	if err != nil {
		return validation.Result{}, err
	}
	return validation.Assess(of, o, float64(s.policy.Peak.Max)).Result, nil
}

// simulate runs a scenario and judges its log as vramsoak check does. Beyond that, what needs more of the card than the
// policy's maximum fails: check sees what the allocator handed out, and a card must hold the context and what others hold, too.
func (s *subject) simulate(of *scenario.Scenario, files validation.Files, early bool) (*simulatedRun, error) {
	var log bytes.Buffer
	outcome, err := simulator.Run(of, simulator.Options{First: files.First, Files: files.Count, Log: &log, EndAtFailure: early})
	if err != nil {
		return nil, err
	}
	r := &simulatedRun{Assessment: validation.Assess(of, outcome, float64(s.policy.Peak.Max)), outcome: outcome}
	if early && r.Answer == validation.DoesNotFit {
		return r, nil
	}
	b := &parser.Builder{}
	if err := b.Read(&log, of.Path+" (simulated)"); err != nil {
		return nil, err
	}
	r.report = check.Of(b.Timeline(), s.policy)
	if r.Files < files.Count {
		r.Files, r.Failed = files.Count, files.Count-r.Files+r.Failed // those that were not begun
	}
	fails := func(f check.Finding) bool { return f.Gates && f.Verdict == check.Fail && f.Check != check.Peak }
	switch {
	case r.Answer < validation.Fails && slices.ContainsFunc(r.report.Findings, fails):
		r.Answer = validation.Fails
	case r.Answer < validation.Tight && r.report.Verdict == check.Fail:
		r.Answer = validation.Tight // by check's peak
	}
	if r.Answer == validation.DoesNotFit {
		if r.unlimited, err = s.withoutLimit(of, files, outcome); err != nil {
			return nil, err
		}
	} else {
		s.decideGrowth(r)
	}
	r.report.Join(s.onCard(r))
	r.settle()
	return r, nil
}

// settle has an answer be no surer than the findings are.
func (r *simulatedRun) settle() {
	if r.Answer == validation.Fits && r.report.Verdict == check.Undecided {
		r.Answer = validation.Unsure
	}
}

// cardSubject is what the finding of [subject.onCard] is about.
const cardSubject = "what the card must hold"

// onCard is the finding on what the card must hold. Where it fails it gates whatever the policy says, for the question is whether
// the batch fits.
func (s *subject) onCard(r *simulatedRun) check.Finding {
	needs := r.needs()
	share := needs.Share
	f := check.Finding{
		Check: check.Peak, Verdict: check.Pass, Subject: cardSubject, Unit: check.Ratio, Measured: &share,
		Limit: new(float64(s.policy.Peak.Max)),
	}
	stage := needs.Highest()
	f.File = stage.File
	found := fmt.Sprintf("%s of %s in %s, the context and what others hold included", parser.FormatBytes(needs.Need),
		parser.FormatBytes(s.GPU.Total), stage.Stage)
	switch {
	case r.Answer == validation.DoesNotFit:
		f.Verdict, f.File = check.Fail, r.FirstFailed
		f.Message = found + ", and an allocation failed"
	case share > float64(s.policy.Peak.Max):
		f.Verdict = check.Fail
		f.Message = "critical: " + found
	case share > float64(s.policy.Peak.Notice):
		f.Message = "notice: " + found
	default:
		f.Message = found
	}
	f.Gates = f.Verdict == check.Fail
	return f
}
