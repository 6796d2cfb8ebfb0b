package validation

import (
	"fmt"
	"math"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
)

// trustedWithin is the largest relative difference between the measured and the estimated memory of
// a stage at which validate still trusts the estimates of other stages.
const trustedWithin = 0.2

// useProfile replaces estimated footprints by the footprints that a profile measured. For each
// stage it returns a comparison of the two.
func (b *Batch) useProfile(p *profile.Profile) []profile.Comparison {
	learned := p.Apply(b.Clone())
	b.Change(func(s *scenario.Scenario) { p.Apply(s) })
	return learned
}

// doubt returns a finding that makes the answer undecided, or nil. The answer depends on stage,
// which needs most memory. If this stage was not measured, and the estimate of a measured stage is
// far from its measurement, then the estimate of this stage may be wrong by as much. doubt also
// returns a finding if no stage was measured. source names the measurements in the message, such as
// "the profile".
func doubt(stage, source string, footprints []profile.Comparison) *check.Finding {
	f := &check.Finding{Check: check.Peak, Verdict: check.Undecided, Subject: "footprints"}
	worst, measured, estimated := profile.Comparison{Ratio: 1}, 0, false
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
		f.Message = fmt.Sprintf("%s has none of the stages: it has %s, the file has %s; name "+
			"them in the file as the log's checkpoints do",
			source, strings.Join(there, ", "), strings.Join(wanted, ", "))
	case estimated && math.Abs(worst.Ratio-1) > trustedWithin:
		f.Message = fmt.Sprintf("the highest need, in %s, is estimated, and the estimate of %s "+
			"is %.2f of what was measured; "+
			"print checkpoints around %s, soak, and learn a profile from that", stage, worst.Stage,
			1/worst.Ratio, stage)
	default:
		return nil
	}
	return f
}

// longerFiles makes the answer undecided if three conditions hold: the batch has longer files than
// the profile, the profile does not say how the memory of some stage grows with the length, and the
// answer would be worse if such stages took as much as Comparison.AtMost.
func (b *Batch) longerFiles(s *simulation, learned []profile.Comparison) error {
	longer := b.Clone()
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
	if grown == nil || s.Answer > Tight {
		return nil
	}
	worst, err := b.memoryOnly(longer, b.all())
	if err != nil || worst.Answer <= s.Answer {
		return err
	}
	s.unsure(check.Finding{
		Check: check.Peak, Verdict: check.Undecided, Subject: "footprints",
		Message: fmt.Sprintf("%s: %s; it may take up to %s in a file of %.4g s, and with that "+
			"%s; soak 5 or more files of several lengths, "+
			"up to that of the batch, and learn a profile from that", grown.Stage, grown.Note,
			record.FormatBytes(grown.AtMost), grown.Seconds,
			worst.Answer.Clause()),
	})
	return nil
}
