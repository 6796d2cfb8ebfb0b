package profile

import (
	"fmt"

	"vramsoak/pipeline/scenario"
)

// The values of Comparison.Used.
const (
	Measured  = "measured"
	Estimated = "estimated"
	Unused    = "unused" // measured, and the scenario has no such stage
)

// A Comparison compares the measured memory of a stage with the memory estimated from its models
// and tensors. Both are the highest memory in a file, in bytes above the memory at the start of the
// stage.
type Comparison struct {
	Stage string `json:"stage"`
	// Measured and Estimated are 0 if they are not known.
	Measured  int64   `json:"measured,omitempty"`
	Estimated int64   `json:"estimated,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"` // measured / estimated; 0 if one is not known
	Used      string  `json:"used"`            // "measured", "estimated" or "unused"
	Note      string  `json:"note,omitempty"`  // what the measurement does not cover

	Seconds float64 `json:"-"` // length of the file in which the stage takes these sizes
	// AtMost is the most memory that the stage may take in a file longer than the measured files,
	// if the profile does not say how the stage's memory grows with the length. Otherwise AtMost
	// equals Measured.
	AtMost int64 `json:"-"`
}

// Apply puts the measurements into a scenario. Each stage gets the footprint and the time of the
// profile's stage of the same name, the card gets the measured context and the resident memory, and
// a measured growth becomes a fault. Apply returns for each stage its measured and its estimated
// memory, and which of the two the scenario uses now.
func (p *Profile) Apply(s *scenario.Scenario) []Comparison {
	p.card(s)
	seconds := s.Files.High
	var all []Comparison
	used := map[string]bool{}
	for i := range s.Stages {
		st := &s.Stages[i]
		c := Comparison{Stage: st.Name, Used: Estimated, Seconds: seconds}
		estimate, err := s.Estimate(st, seconds)
		if err == nil {
			c.Estimated = estimate
		}
		m := p.stage(st.Name)
		if m == nil {
			c.Note = "the profile has no such stage"
			all = append(all, c)
			continue
		}
		used[st.Name] = true
		c.Used, c.Measured, c.Note = Measured, m.Upper(seconds), m.note(seconds)
		c.AtMost = m.atMost(s.Files)
		if c.Estimated > 0 {
			c.Ratio = float64(c.Measured) / float64(c.Estimated)
		}
		st.Footprint = &scenario.Footprint{
			Base: m.Base + m.Spread, PerSecond: m.PerSecond, Kept: m.Kept,
			KeptPerSecond: m.KeptPerSecond, Reserved: m.Reserved,
		}
		if m.Seconds > 0 {
			st.Seconds = scenario.PerSecond(m.Seconds)
		}
		all = append(all, c)
	}
	for i := range p.Stages {
		if m := &p.Stages[i]; !used[m.Name] {
			all = append(all, Comparison{
				Stage: m.Name, Used: Unused, Seconds: seconds, Measured: m.Upper(seconds),
				Note: "the scenario has no such stage",
			})
		}
	}
	return all
}

// card adds the memory that belongs to no stage to the scenario: the context, the resident memory,
// and the growth from file to file as a leak.
func (p *Profile) card(s *scenario.Scenario) {
	if p.Contexts > 0 {
		s.GPU.Context = p.Context
	}
	resident := false
	for _, m := range s.Models {
		resident = resident || m.Resident
	}
	if !resident {
		s.GPU.Context += p.Resident // allocated, but always present like the context
	}
	if p.Growth > 0 {
		s.Faults = append(s.Faults, scenario.Fault{Leak: p.Growth, Share: 1, FromFile: 1})
	}
}

// If a file is more than beyond times as long as the longest measured file, the note says so.
const beyond = 1.1

// atMost returns the most memory, in bytes, that a stage may take in the longest of the files.
//
// If the profile has no slope for the stage although the lengths of the measured files differ,
// atMost takes the steepest line that the spread allows: it rises by twice the spread from the
// shortest to the longest file. If all files have the same length, the memory may grow in
// proportion to the length. If the log gives no lengths, its files may have been as short as the
// shortest of the batch.
func (s *Stage) atMost(files scenario.Files) int64 {
	upper := s.Upper(files.High)
	longest := s.Longest
	if longest == 0 {
		longest = files.Low
	}
	switch {
	case s.PerSecond > 0 || files.High <= beyond*longest:
		return upper
	case s.Longest > 0 && s.Longest-s.Shortest >= leastVaried*s.Longest:
		return upper + int64(2*float64(s.Spread)/(s.Longest-s.Shortest)*(files.High-s.Longest))
	}
	return int64(float64(upper) * files.High / longest)
}

// note returns a sentence on what the measurement of a stage does not cover for files of this
// length, or "" if the measurement covers them.
func (s *Stage) note(seconds float64) string {
	if s.Longest > 0 && seconds > beyond*s.Longest {
		if s.PerSecond > 0 {
			return fmt.Sprintf("files of %.4g s, measured up to %.4g s: the line is drawn on",
				seconds, s.Longest)
		}
		return fmt.Sprintf("files of %.4g s, measured up to %.4g s: longer ones may take more",
			seconds, s.Longest)
	}
	return s.Note
}
