package main

import (
	"fmt"
	"math"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/strictyaml"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
)

// far is how far a measured footprint may lie from the estimated one for estimates to be trusted.
const far = 0.2

// measureBy has a profile's footprints take the place of estimated ones.
func (s *subject) measureBy(path string) ([]profile.Comparison, error) {
	src, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	p, err := profile.Read(src, path)
	if err != nil {
		return nil, err
	}
	learned := p.Apply(s.Clone())
	s.also(func(of *scenario.Scenario) { p.Apply(of) })
	return learned, nil
}

func footprints(all []profile.Comparison) []reports.Footprint {
	var out []reports.Footprint
	for _, c := range all {
		out = append(out, footprint(c))
	}
	return out
}

func footprint(c profile.Comparison) reports.Footprint {
	return reports.Footprint{
		Stage: c.Stage, Measured: c.Measured, Estimated: c.Estimated, Ratio: c.Ratio, Used: c.Used, Note: c.Note,
	}
}

// also does something to the scenario, and to each that is made of it.
func (s *subject) also(do func(*scenario.Scenario)) {
	before := s.prepare
	s.prepare = func(of *scenario.Scenario) {
		before(of)
		do(of)
	}
	do(s.Scenario)
}

// doubt is why an answer by the footprints of a source decides nothing; nil where it does. An answer hangs on the stage that needs
// most: if that one was not measured, and estimates of others are far from what was measured, it may be as far off.
func doubt(stage, source string, footprints []reports.Footprint) *check.Finding {
	f := &check.Finding{Check: check.Peak, Verdict: check.Undecided, Subject: "footprints"}
	worst, measured, estimated := reports.Footprint{Ratio: 1}, 0, false
	var there, wanted []string
	for _, c := range footprints {
		switch {
		case c.Used == profile.Unused:
			there = append(there, c.Stage)
			continue
		case c.Measured > 0 || c.Used == profile.Measured:
			measured++
			if c.Ratio > 0 && math.Abs(c.Ratio-1) > math.Abs(worst.Ratio-1) {
				worst = c
			}
		case c.Stage == stage:
			estimated = true
		}
		wanted = append(wanted, c.Stage)
	}
	switch {
	case len(footprints) == 0:
		return nil
	case measured == 0:
		f.Message = fmt.Sprintf("%s has none of the stages: it has %s, the file has %s; name them in the file as the log's checkpoints do",
			source, strings.Join(there, ", "), strings.Join(wanted, ", "))
	case estimated && math.Abs(worst.Ratio-1) > far:
		f.Message = fmt.Sprintf("the highest need, in %s, is estimated, and the estimate of %s is %.2f of what was measured; "+
			"print checkpoints around %s, soak, and learn a profile from that", stage, worst.Stage, 1/worst.Ratio, stage)
	default:
		return nil
	}
	return f
}

// longerFiles has an answer be undecided where the batch has longer files than the profile, it does not know how stages grow with
// the length, and with what they may take then the answer would be worse.
func (s *subject) longerFiles(r *simulatedRun, learned []profile.Comparison) error {
	longer := s.Clone()
	var grown *profile.Comparison
	for i, c := range learned {
		st := longer.Stage(c.Stage)
		if st == nil || c.AtMost <= c.Measured {
			continue
		}
		st.Footprint.Base += c.AtMost - c.Measured
		if grown == nil || c.AtMost > grown.AtMost {
			grown = &learned[i]
		}
	}
	if grown == nil || r.Answer > validation.Tight {
		return nil
	}
	worst, err := s.memoryOnly(longer, s.all())
	if err != nil || worst.Answer <= r.Answer {
		return err
	}
	r.unsure(check.Finding{
		Check: check.Peak, Verdict: check.Undecided, Subject: "footprints",
		Message: fmt.Sprintf("%s: %s; it may take up to %s in a file of %.4g s, and with that it %s; soak 5 or more files of several lengths, "+
			"up to that of the batch, and learn a profile from that", grown.Stage, grown.Note, parser.FormatBytes(grown.AtMost), grown.Seconds,
			says(worst.Answer)),
	})
	return nil
}

// unsure has a run that was found to fit, or to be tight, be undecided for the reason that is given.
func (r *simulatedRun) unsure(why check.Finding) {
	if r.Answer <= validation.Tight {
		r.Answer = validation.Unsure
		r.report.Unsettle(check.Peak)
	}
	r.report.Join(why)
}

// against holds the answer by two files of the real command against that by estimates. Two files are too few to go by where they make
// it better.
func (r *simulatedRun) against(predicted *simulatedRun) {
	if side(predicted.Answer) == side(r.Answer) {
		return
	}
	f := check.Finding{
		Check: check.Peak, Verdict: check.Undecided, Subject: "live",
		Message: fmt.Sprintf("by estimates it %s, by two files of the command it %s; soak some fifty, learn a profile from that "+
			"(vramsoak profile), and validate with --profile", says(predicted.Answer), says(r.Answer)),
	}
	if r.Answer < predicted.Answer {
		r.unsure(f)
	} else {
		r.report.Join(f)
	}
}

// side is an answer, where fits and cannot tell are one.
func side(a validation.Answer) validation.Answer {
	if a == validation.Unsure {
		return validation.Fits
	}
	return a
}
