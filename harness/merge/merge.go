package merge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/pool"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Judged is a judged run of many shards.
type Judged struct {
	Report *check.Report
	// Started is when the run began, by the first shard's log; zero if it does not say so.
	Started time.Time
	Start   record.RunStart // the first line of the first shard's log
	Shards  []State         // of all shards, by their number
	Series  []Series        // those that are judged for growth; at most 12
	Pooled  []pool.Ledger   // the growth over all shards together
	// ByShard is set if the run has too many files to measure them one by one. Report.Measured then
	// has each shard as a file, with the highest of its peaks and the medians of its other values.
	ByShard bool
}

// Judge reads and judges all shards, and merges their reports into one.
func (r *Run) Judge(policy check.Policy, dialects *parser.Set) (*Judged, error) {
	m := newMerger(&r.Start, policy)
	if r.Measures {
		m.measurer = newMeasurer(r.Start.Of)
	}
	var errs []error
	for s, err := range r.results(policy, dialects) {
		if err != nil {
			errs = append(errs, err)
			if len(errs) > errorsMost {
				break
			}
			continue
		}
		m.take(s)
	}
	if len(errs) > 0 {
		return nil, shortened(errs)
	}
	if !m.judgeable {
		return nil, fmt.Errorf("expected checkpoints, found none in the logs of %s; "+
			"vramsoak check %s says why", check.Plural(len(r.shards), "shard"),
			r.shards[0].Logs[0].Name)
	}
	if m.measurer != nil && m.measurer.tooMany {
		return nil, errTooMany
	}
	return m.done(), nil
}

// A merger merges the reports of shards into one, in the order of the shards.
type merger struct {
	report *check.Report
	ended  time.Time
	judged *Judged
	policy check.Policy
	shards int // expected
	// judgeable is set if any log has something to judge.
	judgeable bool
	merged    map[key]*merged
	order     []key
	files     filesEnded
	pool      pool.Run
	notes     notes
	measurer  *measurer // nil if nothing is measured
	nodes     map[string]bool
	unread    map[string]bool
	// begun has the shards that have a log, and incomplete those that were cut short.
	begun      places
	incomplete ranges
	// partly names the checks that pass in some shards and could not be judged in others.
	partly []string
}

func newMerger(start *record.RunStart, policy check.Policy) *merger {
	return &merger{
		report: &check.Report{}, policy: policy, shards: start.Shards,
		judged: &Judged{Started: start.Time, Start: *start}, merged: map[key]*merged{},
		nodes: map[string]bool{}, unread: map[string]bool{},
		files: filesEnded{of: start.Of},
	}
}

// take merges the next shard.
func (m *merger) take(s *judgedShard) {
	rep := s.report
	m.judgeable = m.judgeable || rep.Checkpoints > 0 || s.failed > 0 || s.warned
	m.begun.add(s.number)
	for _, n := range s.nodes {
		m.nodes[n] = true
	}
	if !s.complete {
		m.incomplete.add(s.number)
	}
	for _, name := range rep.Unread {
		m.unread[name] = true
	}
	into := m.report
	into.Files += rep.Files
	into.Checkpoints += rep.Checkpoints
	into.Logs += rep.Logs
	into.Series += rep.Series
	into.HighWater = check.HighWater{
		Allocated: max(into.HighWater.Allocated, rep.HighWater.Allocated),
		Reserved:  max(into.HighWater.Reserved, rep.HighWater.Reserved),
		Used:      max(into.HighWater.Used, rep.HighWater.Used),
		Total:     max(into.HighWater.Total, rep.HighWater.Total),
	}
	if higher(rep.PeakBy, into.PeakBy) {
		into.PeakBy = rep.PeakBy
	}
	if rep.Work != nil {
		if into.Work == nil {
			into.Work = &check.Work{}
		}
		into.Work.Add(rep.Work)
	}
	m.ended = latest(m.ended, rep.Ended())
	m.add(s)
	m.files.noteEnded(s)
	m.notes.add(s)
	m.judged.Shards = append(m.judged.Shards, m.state(s))
	if m.measurer != nil {
		m.measurer.add(rep.Measured, s.number)
	}
}

// higher reports whether a peak takes more of its device than another one does.
func higher(p, than *check.PeakBy) bool {
	switch {
	case p == nil || than == nil:
		return p != nil
	case p.Total > 0 && than.Total > 0:
		return float64(p.Bytes)*float64(than.Total) > float64(than.Bytes)*float64(p.Total)
	}
	return p.Bytes > than.Bytes
}

// done returns the merged report.
func (m *merger) done() *Judged {
	rep := check.NewMerged(m.policy, m.ended)
	from := m.report
	rep.Files, rep.Checkpoints, rep.Logs = from.Files, from.Checkpoints, from.Logs
	rep.HighWater, rep.PeakBy, rep.Work, rep.Series = from.HighWater, from.PeakBy, from.Work,
		from.Series
	missing := m.begun.missing(m.shards)
	rep.Shards = &check.ShardCount{
		Count: m.shards, Complete: m.begun.count - m.incomplete.count, Nodes: len(m.nodes),
	}
	findings := m.findings()
	shards := m.shardsFinding(&missing)
	if shards != nil {
		rep.Shards.Incomplete = shards.which
		findings = append(findings, shards.Finding)
	}
	if f := m.files.finding(shards, len(m.judged.Shards)); f != nil {
		findings = append(findings, *f)
	}
	if rep.Checkpoints == 0 {
		rep.Unread = slices.Sorted(maps.Keys(m.unread))
	}
	rep.Notes = m.notes.all()
	rep.Join(findings...)
	if m.measurer != nil {
		rep.Measured, m.judged.ByShard = m.measurer.measured(), m.measurer.byShard
	}
	m.judged.Report = rep
	m.judged.Shards = withMissing(m.judged.Shards, m.shards)
	return m.judged
}

// withMissing returns the states with one for each shard that is missing.
func withMissing(states []State, shards int) []State {
	all := make([]State, shards)
	for i := range all {
		all[i].Number = i + 1
	}
	for _, s := range states {
		all[s.Number-1] = s
	}
	return all
}

// Timeline returns a timeline of the run without files, for reports that need one.
func (j *Judged) Timeline() *timeline.Timeline { return &timeline.Timeline{} }
