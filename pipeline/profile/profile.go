package profile

import (
	"fmt"

	"vramsoak/parser/record"
)

// A Profile says how much memory and time the stages of a run took. Sizes are in bytes, times in
// seconds.
type Profile struct {
	Log   string // the log from which the profile was learned
	Files int    // files that ended well
	// Shortest and Longest are the lengths of the shortest and the longest file, in seconds of audio;
	// 0 if the log does not say.
	Shortest, Longest float64
	Total             int64 // of the card; 0 if the log does not say
	// Context is the memory in use on the device minus what the allocator reserved: the median over
	// Contexts files. Both are 0 if the log does not say how much of the device is used (used=, or the
	// harness's samples).
	Context  int64
	Contexts int
	// Resident is the memory allocated before the first stage of a file: the median over all files
	// except the first of each process.
	Resident int64
	// Growth is how many bytes more are allocated at the end of each file than at the end of the
	// file before it: a leak.
	Growth int64
	Stages []Stage
}

// A Stage says how much memory and time one stage of a pipeline took.
type Stage struct {
	Name  string
	Files int
	// Shortest and Longest are the lengths, in seconds of audio, of the shortest and the longest
	// file to which the line was fitted. The line does not use the first file of each process,
	// which loads and warms up, and files whose peak the log does not show. Both are 0 if the log
	// gives no lengths.
	Shortest, Longest float64
	// Base and PerSecond are the line. Base is in bytes above the memory at the stage's start,
	// PerSecond in bytes for each second of audio.
	Base      int64
	PerSecond float64
	// Spread is the largest distance of a file above the line, in bytes. It is at least the
	// resolution of the log's numbers.
	Spread int64
	// Peak is the highest memory in any file, in bytes above the memory at the stage's start.
	Peak int64
	// Kept and KeptPerSecond are the line for the memory that the stage allocated and did not free
	// by its end.
	Kept          int64
	KeptPerSecond float64
	// Reserved is the stage's highest reserved memory divided by its highest allocated memory, the
	// median over files; 0 if the log has no reserved memory.
	Reserved float64
	// Seconds is the time that the stage took for each second of audio; 0 if the log has no times
	// or lengths.
	Seconds float64
	// Note says why PerSecond is 0; "" if PerSecond is not 0.
	Note string
}

// Upper returns the most memory that the stage takes in a file of this length, in bytes above the
// memory at the stage's start.
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

// leastGrowth is the smallest growth per file that counts, in bytes. 64 KiB per file are 31 MiB in
// 500 files, which vramsoak check does not call a leak.
const leastGrowth = 64 * record.KiB

// Notes returns sentences for a person: on the memory that belongs to no stage, and on what the
// profile could not measure.
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
