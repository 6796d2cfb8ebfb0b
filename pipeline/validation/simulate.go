package validation

import (
	"bytes"
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// A simulation is a run of a scenario on a simulated card, with the verdict of vramsoak check on
// its log.
type simulation struct {
	assessment
	outcome *simulator.Outcome
	checks  *check.Report // nil if the simulation ended early
	// unlimited is the batch on a device without limit. It is nil if no allocation failed on the card.
	unlimited *assessment
	notes     []string // on findings that decideGrowth decided
}

// simulate runs a scenario and judges its log as vramsoak check does. If early is true, it ends at
// the first file that fails. simulate also fails a batch that needs more of the card than the
// policy allows: the checks count only memory that the allocator handed out, but the card must also
// hold the context and other processes.
func (b *Batch) simulate(of *scenario.Scenario, files Files, early bool) (*simulation, error) {
	var log bytes.Buffer
	outcome, err := simulator.Run(of, simulator.Options{
		First: files.First, Files: files.Count,
		Log: &log, EndAtFailure: early,
	})
	if err != nil {
		return nil, err
	}
	s := &simulation{assessment: assess(of, outcome, b.limit()), outcome: outcome}
	if early && s.Answer == DoesNotFit {
		return s, nil
	}
	lines := &parser.Builder{}
	if err := lines.Read(&log, of.Path+" (simulated)"); err != nil {
		return nil, err
	}
	s.checks = check.Of(lines.Timeline(), b.Policy)
	if s.Files < files.Count { // the run ended before some files
		s.Files, s.Failed = files.Count, files.Count-s.Files+s.Failed
	}
	fails := func(f check.Finding) bool {
		return f.Gates && f.Verdict == check.Fail && f.Check != check.Peak
	}
	switch {
	case s.Answer < Fails && slices.ContainsFunc(s.checks.Findings, fails):
		s.Answer = Fails
	case s.Answer < Tight && s.checks.Verdict == check.Fail:
		s.Answer = Tight // check's own peak finding fails
	}
	if s.Answer == DoesNotFit {
		if s.unlimited, err = b.withoutLimit(of, files, outcome); err != nil {
			return nil, err
		}
	} else {
		b.decideGrowth(s)
	}
	s.checks.Join(b.onCard(s))
	s.agree()
	return s, nil
}

// memoryOnly simulates files up to the first that fails, without running the checks on the log.
func (b *Batch) memoryOnly(of *scenario.Scenario, files Files) (Result, error) {
	o, err := simulator.Run(of, simulator.Options{
		First: files.First, Files: files.Count,
		EndAtFailure: true,
	})
	if err != nil {
		return Result{}, err
	}
	return assess(of, o, b.limit()).Result, nil
}

// limit returns the largest share of the card that the policy allows, from 0 to 1.
func (b *Batch) limit() float64 { return float64(b.Policy.Peak.Max) }

// agree changes the answer from fits to undecided if the verdict of the checks is undecided.
func (s *simulation) agree() {
	if s.Answer == Fits && s.checks.Verdict == check.Undecided {
		s.Answer = Unsure
	}
}

// unsure changes an answer of fits or tight to undecided, and adds the finding that says why.
func (s *simulation) unsure(why check.Finding) {
	if s.Answer <= Tight {
		s.Answer = Unsure
		s.checks.Unsettle(check.Peak)
	}
	s.checks.Join(why)
}

// cardSubject is the subject of the finding that [Batch.onCard] makes.
const cardSubject = "what the card must hold"

// onCard returns the finding on all memory that the card must hold. If this finding fails, it
// decides the verdict even if the policy makes the peak check advisory, because validate asks
// whether the batch fits.
func (b *Batch) onCard(s *simulation) check.Finding {
	required := s.required()
	share := required.Share
	f := check.Finding{
		Check: check.Peak, Verdict: check.Pass, Subject: cardSubject, Unit: check.Ratio,
		Measured: &share, Limit: new(b.limit()),
	}
	stage := required.Highest()
	f.File = stage.File
	found := fmt.Sprintf("%s of %s in %s, the context and other processes included",
		record.FormatBytes(required.Need),
		record.FormatBytes(b.GPU.Total), stage.Stage)
	switch {
	case s.Answer == DoesNotFit:
		f.Verdict, f.File = check.Fail, s.FirstFailed
		f.Message = found + ", and an allocation failed"
	case share > b.limit():
		f.Verdict = check.Fail
		f.Message = "critical: " + found
	case share > float64(b.Policy.Peak.Notice):
		f.Message = "notice: " + found
	default:
		f.Message = found
	}
	f.Gates = f.Verdict == check.Fail
	return f
}
