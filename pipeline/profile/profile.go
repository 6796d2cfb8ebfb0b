package profile

import (
	"fmt"

	"vramsoak/parser/record"
)

// A Profile is what a run's stages took. Sizes are bytes, times are seconds.
type Profile struct {
	Log   string // that it was learned from
	Files int    // that ended well
	// Shortest and Longest are the lengths of the files in seconds of audio; 0 where the log does
	// not say.
	Shortest, Longest float64
	Total             int64 // of the card; 0 where the log does not say
	// Context is what the device had in use beside what the allocator reserved, the median over
	// files; Contexts is of how many files, 0 where the log has no device used (used=, or the
	// harness's samples).
	Context  int64
	Contexts int
	// Resident is what is allocated before a file's first stage, from the second file of a process
	// on.
	Resident int64
	// Growth is by how much the level at a file's end grows, a file: a leak.
	Growth int64
	Stages []Stage
}

// A Stage is what one of a pipeline's stages took.
type Stage struct {
	Name  string
	Files int
	// Shortest and Longest are the lengths of the files that the line is drawn through, in seconds
	// of audio: of all, but for the first of each process, which loads and warms up, and those
	// whose peak is hidden. 0 where the log does not say.
	Shortest, Longest float64
	// Base and PerSecond are the line: bytes above the stage's start, and per second of audio.
	Base      int64
	PerSecond float64
	// Spread is how far the highest file lies above that line, in bytes; at least the resolution of
	// the log.
	Spread int64
	// Peak is the largest seen, above the stage's start.
	Peak int64
	// Kept and KeptPerSecond are what is still allocated at the stage's end and was not at its
	// start: a line, too.
	Kept          int64
	KeptPerSecond float64
	// Reserved is the largest reserved of the stage over the largest allocated, the median over
	// files; 0 where the log has no reserved.
	Reserved float64
	// Seconds is how long it took, per second of audio; 0 where the log has no times or no lengths.
	Seconds float64
	// Note says why there is no slope; "" where there is one.
	Note string
}

// Upper is what the stage takes at most in a file of that length, in bytes above its start.
func (s Stage) Upper(seconds float64) int64 {
	return s.Base + s.Spread + int64(s.PerSecond*seconds)
}

// stage is the stage of that name; nil where there is none.
func (p *Profile) stage(name string) *Stage {
	for i := range p.Stages {
		if p.Stages[i].Name == name {
			return &p.Stages[i]
		}
	}
	return nil
}

// leastGrowth is less than a leak is judged by: 64 KiB a file are 31 MiB in 500 files.
const leastGrowth = 64 * record.KiB

// Notes say in words what stands beside the stages, and what the profile does not know.
func (p *Profile) Notes() []string {
	var all []string
	if p.Total > 0 {
		all = append(all, "card: "+record.FormatBytes(p.Total))
	}
	if p.Contexts > 0 {
		all = append(all, fmt.Sprintf("outside of the allocator: %s (device used - reserved, "+
			"median of %d files)", record.FormatBytes(p.Context), p.Contexts))
	} else {
		all = append(all, "outside of the allocator: not known, the log has no device used; an "+
			"estimate stands in for it")
	}
	if p.Resident > 0 {
		all = append(all, fmt.Sprintf("allocated before a file's first stage: %s",
			record.FormatBytes(p.Resident)))
	}
	if p.Growth > 0 {
		all = append(all, fmt.Sprintf("a leak: %s more at the end of each file",
			record.FormatBytes(p.Growth)))
	}
	if p.Longest > 0 {
		all = append(all, fmt.Sprintf("files of %.4g to %.4g s of audio", p.Shortest, p.Longest))
	}
	for _, s := range p.Stages {
		if s.Note != "" {
			all = append(all, fmt.Sprintf("%s has no slope: %s", s.Name, s.Note))
		}
	}
	return all
}
