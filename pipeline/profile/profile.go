package profile

import (
	"fmt"

	"vramsoak/parser/record"
)

// A Profile says how much memory and time the stages of a run took. Sizes are bytes, times are
// seconds.
type Profile struct {
	Log   string // the log it was learned from
	Files int    // files that ended well
	// Shortest and Longest are the lengths of the files in seconds of audio; 0 if the log does not
	// say.
	Shortest, Longest float64
	Total             int64 // of the card; 0 if the log does not say
	// Context is the memory in use on the device minus what the allocator reserved: the median over
	// Contexts files. Both are 0 if the log does not say how much of the device is used (used=, or
	// the harness's samples).
	Context  int64
	Contexts int
	// Resident is the memory allocated before the first stage of a file, in all files of a process but
	// the first.
	Resident int64
	// Growth is how much the level at a file's end grows from file to file: a leak.
	Growth int64
	Stages []Stage
}

// A Stage says how much memory and time one stage of a pipeline took.
type Stage struct {
	Name  string
	Files int
	// Shortest and Longest are the lengths in seconds of audio of the files that the line was
	// fitted to: all but the first file of each process, which loads and warms up, and files whose
	// peak is hidden. 0 if the log does not say.
	Shortest, Longest float64
	// Base and PerSecond are the line: bytes above the stage's start, and bytes per second of
	// audio.
	Base      int64
	PerSecond float64
	// Spread is how far the highest file lies above that line, in bytes. It is at least the log's
	// resolution.
	Spread int64
	// Peak is the highest peak seen, above the stage's start.
	Peak int64
	// Kept and KeptPerSecond are the line for the memory that the stage allocated and did not free by
	// its end.
	Kept          int64
	KeptPerSecond float64
	// Reserved is the stage's highest reserved over its highest allocated, the median over files; 0
	// if the log has no reserved.
	Reserved float64
	// Seconds is how long the stage took per second of audio; 0 if the log has no times or lengths.
	Seconds float64
	// Note says why there is no slope; "" if there is one.
	Note string
}

// Upper returns the most that the stage takes in a file of that length, in bytes above its start.
func (s Stage) Upper(seconds float64) int64 {
	return s.Base + s.Spread + int64(s.PerSecond*seconds)
}

// stage returns the stage with that name, or nil.
func (p *Profile) stage(name string) *Stage {
	for i := range p.Stages {
		if p.Stages[i].Name == name {
			return &p.Stages[i]
		}
	}
	return nil
}

// leastGrowth is the least growth that Notes names. 64 KiB a file are 31 MiB in 500 files, less
// than what counts as a leak.
const leastGrowth = 64 * record.KiB

// Notes returns sentences on the memory that belongs to no stage, and on what the profile could not
// measure.
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
