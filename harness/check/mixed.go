package check

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A mixMark counts signs that several processes print the checkpoints of one lane. The log does not
// name these processes. In the log of one process, a stage ends before the stage of the same name
// begins again, and before the next file begins. Two processes that print line by line give
//
//	Before Transcription, Before Transcription, After Transcription, After Transcription
//
// and one that lags behind the other ends its stages in the other's next file. Programs without
// stages print each name several times in a row.
type mixMark struct {
	pairs, files int // the stages and cleanups, and the files, that could show a sign
	crossed      int // pairs inside a pair of their own name, or with their ends in two files
	doubled      int // files in which each name comes several times in a row
	first        *record.Checkpoint
	unpaired     int // Befores without an After in the last file

	// stages and cleanups belong to the last file. Files with the same checkpoints share them.
	stages   []timeline.Stage
	cleanups []timeline.Cleanup
	signs    pairSigns // of these

	// The following fields are about the current file.

	last    *record.Checkpoint
	row     int // how often its name came in a row
	names   int // rows so far
	singles int // rows with one checkpoint only
	befores int // Befores without an After
	afters  int // Afters, if unpaired is not 0
}

// pairSigns says how many stages and cleanups a file has, and how many of them lie inside another
// of their name.
type pairSigns struct {
	pairs, inside int
	first         int // index of the checkpoint that begins the first of these
}

// mixLeast is the least number of signs that count, and mixShare the least part of the pairs or
// files that must show one. A program that calls itself may give a few.
const (
	mixLeast = 3
	mixShare = 0.05
)

// add adds the next checkpoint of a file.
func (m *mixMark) add(c *record.Checkpoint) {
	if c.Sampled {
		return
	}
	if m.last != nil && m.last.Name == c.Name {
		m.row++
	} else {
		m.endRow()
		m.row = 1
	}
	m.last = c
	if m.unpaired > 0 && c.IsAfter() {
		m.afters++
	}
}

func (m *mixMark) endRow() {
	if m.last == nil {
		return
	}
	if m.names++; m.names > 1 && m.row == 1 { // a file may begin with the other process's first name
		m.singles++
	}
}

// endFile ends the file f for one lane.
func (m *mixMark) endFile(f *timeline.File) {
	m.endRow()
	if m.crossed += m.signs.inside; m.signs.inside > 0 && m.first == nil {
		m.first = new(f.Checkpoints[m.signs.first])
	}
	if late := min(m.afters-m.signs.pairs, m.unpaired); late > 0 && !f.Supervised {
		if m.crossed += late; m.first == nil && m.last != nil {
			m.first = new(*m.last)
		}
	}
	m.pairs += m.signs.pairs
	if m.names > 2 {
		m.files++
		if m.singles == 0 {
			if m.doubled++; m.first == nil {
				m.first = new(*m.last)
			}
		}
	}
	m.unpaired, m.befores, m.afters = m.befores, 0, 0
	m.last, m.row, m.names, m.singles = nil, 0, 0, 0
}

// findSigns counts the Befores without an After and finds the signs in the pairs of a file, for
// each of its lanes. It goes through the file once for all lanes, because a file may have 20,000.
func (j *Judge) findSigns(f *timeline.File) {
	for _, at := range f.Unpaired {
		j.byLane[f.Checkpoints[at].Lane].mix.befores++
	}
	changed := func(l *lane) bool {
		return !same(l.mix.stages, f.Stages) || !same(l.mix.cleanups, f.Cleanups)
	}
	if !slices.ContainsFunc(j.open, changed) {
		return
	}
	for _, l := range j.open {
		l.mix.stages, l.mix.cleanups, l.mix.signs = f.Stages, f.Cleanups, pairSigns{}
	}
	ofLane := map[*mixMark][]pair{} // the first pairs of each lane
	for p := range pairsOf(f) {
		m := &j.byLane[f.Checkpoints[p.before].Lane].mix
		if m.signs.pairs++; m.signs.pairs <= pairsMost {
			ofLane[m] = append(ofLane[m], p)
		}
	}
	for m, pairs := range ofLane {
		m.signs.addInside(pairs)
	}
}

// addInside counts the pairs that lie inside another of their name.
func (s *pairSigns) addInside(pairs []pair) {
	for _, p := range pairs {
		if slices.ContainsFunc(pairs, func(o pair) bool {
			return o.before < p.before && p.after < o.after && o.name == p.name
		}) {
			if s.inside++; s.inside == 1 {
				s.first = p.before
			}
		}
	}
}

// pairsMost is how many pairs of a file are compared with each other.
const pairsMost = 256

// A pair is a stage or a cleanup of a file: the indices of its two checkpoints, and its name.
type pair struct {
	before, after int
	name          string
}

// pairsOf yields the stages and the cleanups of a file.
func pairsOf(f *timeline.File) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for i := range f.Stages {
			if s := &f.Stages[i]; !yield(pair{s.Before, s.After, s.Name}) {
				return
			}
		}
		for i := range f.Cleanups {
			if c := &f.Cleanups[i]; !yield(pair{c.Before, c.After, c.Name}) {
				return
			}
		}
	}
}

// mixed reports whether several processes seem to print the lane's checkpoints.
func (m *mixMark) mixed() bool {
	return m.crossed >= mixLeast && float64(m.crossed) >= mixShare*float64(m.pairs) ||
		m.doubled >= mixLeast && 2*m.doubled > m.files
}

// mixedWriters adds a finding for each lane whose checkpoints several processes seem to print. What
// was found on such a lane says nothing about a process: its failures become undecided.
func (j *Judge) mixedWriters() {
	for _, l := range j.lanes {
		if !l.mix.mixed() {
			continue
		}
		mark := ""
		if len(j.lanes) > 1 {
			mark = j.laneMark(l.id, j.ranks)
		}
		for i := range j.findings {
			f := &j.findings[i]
			// Pairs of checkpoints are counted over all processes.
			ofLane := strings.HasSuffix(f.Subject, mark) || f.Check == Completeness
			if f.Verdict == Fail && ofLane && slices.Contains(checksOfOneProcess, f.Check) {
				f.Verdict = Undecided
				f.Message += "; several processes seem to print into this log"
			}
		}
		sign := fmt.Sprintf("%d stages or cleanups lie inside another of the same name, or end in the "+
			"next file (%d begin and end in one file)", l.mix.crossed, l.mix.pairs)
		if l.mix.crossed == 0 {
			sign = fmt.Sprintf("in %s each name comes several times in a row",
				Plural(l.mix.doubled, "file"))
		}
		j.add(Finding{
			Check: Consistency, Verdict: Undecided, Subject: j.subject("one process", l.id),
			At: new(l.mix.first.Pos),
			Message: "several processes seem to print into this log, and nothing tells them apart: " + sign +
				fmt.Sprintf(", as at %q; give each process a log of its own, or print its rank before "+
					"each line (srun --label, torchrun --tee 3, [rank1]:)", l.mix.first.Name),
		})
	}
}

// checksOfOneProcess lists the checks that compare the readings of one process with each other. If
// several processes print the readings, these checks cannot fail a log.
var checksOfOneProcess = slices.Concat([]string{Recovery}, ledgerChecks(), []string{
	Drift, Completeness, Consistency,
})
