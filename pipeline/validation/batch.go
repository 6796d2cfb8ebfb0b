package validation

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
)

// A Batch is what validate checks: a scenario with its card, the number of files and the policy.
type Batch struct {
	*scenario.Scenario
	Source []byte // the scenario file's text
	Files  int
	Card   string // the card's name as the user gave it; "" if the user gave a size
	Policy check.Policy

	changes []func(*scenario.Scenario)
	fixed   []string // parameters that the caller set
}

// Change calls the function do with the scenario, for example to set the card. To find a change
// that makes the batch fit, the search edits the scenario file and reads it again. It then calls do
// with each scenario that it reads.
func (b *Batch) Change(do func(*scenario.Scenario)) {
	b.changes = append(b.changes, do)
	do(b.Scenario)
}

// Set sets a parameter for the whole validation: no change of the report has another value for it.
func (b *Batch) Set(name string, value float64) error {
	if err := b.Scenario.Set(name, value); err != nil {
		return err
	}
	b.fixed = append(b.fixed, name)
	b.Change(func(s *scenario.Scenario) { _ = s.Set(name, value) }) // every edit keeps the parameter
	return nil
}

func (b *Batch) prepare(s *scenario.Scenario) {
	for _, do := range b.changes {
		do(s)
	}
}

// all returns all files of the batch.
func (b *Batch) all() Files { return Files{First: 1, Count: b.Files} }

// Evidence is what Validate may use besides the scenario: measurements, and a run of the real
// command.
type Evidence struct {
	Profile *profile.Profile // of an earlier run, or nil
	Live    *LiveRun         // of the real command; nil if the command was not run
	// Picture is the command line that draws the simulated fragmentation. The report shows this
	// line unless it is "".
	Picture string
	// Validate calls Progress with a text that tells the user what it is doing. Several goroutines
	// may call Progress.
	Progress func(what string)
}

// Validate simulates the batch and reports whether it fits on its card. If it does not fit,
// Validate searches for the smallest change with which it fits.
func (b *Batch) Validate(e Evidence) (*Report, error) {
	card := cmp.Or(b.Card, record.FormatBytes(b.GPU.Total))
	r := &Report{Scenario: b.Name, Card: card, Total: b.GPU.Total, Files: b.Files}
	if e.Profile != nil {
		r.Footprints = b.useProfile(e.Profile)
	}
	var predicted *simulation // the simulation without the live measurements
	if e.Live != nil {
		var err error
		if predicted, err = b.simulate(b.Scenario, b.all(), false); err != nil {
			return nil, err
		}
		r.Live, r.LiveFailed = b.compareLive(e.Live.Profile), e.Live.Failures
	}
	e.Progress(fmt.Sprintf("simulating %d files", b.Files))
	s, err := b.simulate(b.Scenario, b.all(), false)
	if err != nil {
		return nil, err
	}
	highest := s.Highest().Stage
	byProfile := doubt(highest, "the profile", r.Footprints)
	byLive := doubt(highest, "the command's log", r.Live)
	for _, f := range []*check.Finding{byProfile, byLive} {
		if f != nil {
			s.checks.Join(*f)
		}
	}
	if err := b.longerFiles(s, r.Footprints); err != nil {
		return nil, err
	}
	simulated, failed := s.Answer, ""
	if predicted != nil {
		s.against(predicted)
		simulated = s.Answer
		failed = b.failedLive(s, e.Live)
	}
	s.agree()
	s.describe(r)
	if f := r.Failure; f != nil && f.Fragmentation {
		f.Picture = e.Picture
	}
	if failed != "" {
		r.Why = failed
	}
	// A change of the file would not help.
	if s.Answer <= Unsure || failed != "" && simulated <= Unsure {
		return r, nil
	}
	return r, b.mend(s, r, e.Progress)
}

// mend searches for a larger card on which the batch fits, and for the smallest change of the
// scenario file with which it fits on this card. It puts both into the report.
func (b *Batch) mend(s *simulation, r *Report, progress func(string)) error {
	if err := b.larger(s, r); err != nil {
		return err
	}
	stage := s.Highest().Stage
	if f := s.outcome.FirstFailure; f != nil && f.Stage != "" {
		stage = f.Stage
	}
	found, err := search(b.Source, b.Path, s.Result, b.trial(s.Answer, progress), searchOptions{
		Files: b.Files, Stage: stage, Sample: s.Sample(b.Files), Prepare: b.prepare,
		Fixed: b.fixed,
	})
	if err != nil {
		return err
	}
	r.Refused = found.Refused
	r.Simulations += found.Simulations
	r.Smallest, r.Others = found.Smallest, found.Others
	return nil
}

// trial returns the function with which a search simulates changes. began is the answer without any
// change. The function simulates up to the first file that fails. It runs the checks on the
// simulated log in two cases only: if it simulates all files, or if began is Fails. Over a few
// files, a check could mistake a warm-up for a leak.
func (b *Batch) trial(began Answer, progress func(string)) Trial {
	var begun atomic.Int64
	return func(of *scenario.Scenario, files Files) (Result, error) {
		progress(fmt.Sprintf("looking for the smallest change: simulation %d, of %d files",
			begun.Add(1), files.Count))
		if files.Count < b.Files && began != Fails {
			return b.memoryOnly(of, files)
		}
		s, err := b.simulate(of, files, true)
		if err != nil {
			return Result{}, err
		}
		s.Why = s.why()
		return s.Result, nil
	}
}
