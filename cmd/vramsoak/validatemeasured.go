package main

import (
	"fmt"
	"math"
	"os"

	"vramsoak/harness/check"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
)

// far is how far a measured footprint may lie from the estimated one for estimates to be trusted.
const far = 0.2

// measureBy has a profile's footprints take the place of estimated ones.
func (s *subject) measureBy(path string) ([]reports.Footprint, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	p, err := profile.Read(src, path)
	if err != nil {
		return nil, err
	}
	var out []reports.Footprint
	for _, c := range p.Apply(s.Clone()) {
		out = append(out, footprint(c))
	}
	s.also(func(of *scenario.Scenario) { p.Apply(of) })
	return out, nil
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

// doubt is why an answer by these footprints decides nothing; nil where it does. An answer hangs on the stage that needs most: if
// that one was estimated, and estimates of others are far from what was measured, it may be as far off.
func doubt(stage string, footprints []reports.Footprint) *check.Finding {
	f := &check.Finding{Check: check.Peak, Verdict: check.Undecided, Subject: "footprints"}
	worst, measured, estimated := reports.Footprint{Ratio: 1}, 0, false
	for _, c := range footprints {
		switch {
		case c.Used == profile.Measured:
			measured++
			if c.Ratio > 0 && math.Abs(c.Ratio-1) > math.Abs(worst.Ratio-1) {
				worst = c
			}
		case c.Stage == stage:
			estimated = true
		}
	}
	switch {
	case len(footprints) == 0:
		return nil
	case measured == 0:
		f.Message = "the profile has none of the stages; name them in the file as the log's checkpoints do"
	case estimated && math.Abs(worst.Ratio-1) > far:
		f.Message = fmt.Sprintf("the highest need, in %s, is estimated, and the estimate of %s is %.2f of what was measured; "+
			"print checkpoints around %s, soak, and learn a profile from that", stage, worst.Stage, 1/worst.Ratio, stage)
	default:
		return nil
	}
	return f
}

// differ says that two answers are not on the same side.
func differ(a, b validation.Answer) bool {
	return (a <= validation.Unsure) != (b <= validation.Unsure)
}
