package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// ranks orders verdicts, the worst last. A finding that only says that its check has no data counts
// less than a verdict of any other shard.
const (
	skippedRank = iota
	noDataRank
	passRank
	undecidedRank
	failRank
	ranksCount
)

func rankOf(f *check.Finding) int {
	switch {
	case f.Verdict == check.Fail:
		return failRank
	case f.Verdict == check.Undecided && f.HasNoData():
		return noDataRank
	case f.Verdict == check.Undecided:
		return undecidedRank
	case f.Verdict == check.Pass:
		return passRank
	}
	return skippedRank
}

// A key identifies the findings of all shards that are merged into one.
type key struct{ check, subject string }

// A merged holds the findings of all shards on one check and subject.
type merged struct {
	by [ranksCount]*worstOf // by the rank of the verdict; nil if no shard has it
	growths
}

// A worstOf is the worst finding with one verdict, and the shards that have such a finding.
type worstOf struct {
	check.Finding
	bound  float64 // of growth that passes: the most that is not ruled out
	shards ranges
}

// keysMost is how many subjects are merged one by one. Logs may give each cleanup its own name.
// Findings on further subjects are merged with others of their check.
const keysMost = 4096

// otherSubjects is the subject of such findings.
const otherSubjects = "other subjects"

// add merges the findings of a shard.
func (m *merger) add(s *judgedShard) {
	for _, f := range s.report.Unwaived() {
		if f.Check == check.Completeness && f.Subject == check.Files {
			m.files.add(&f, s)
			continue
		}
		if s.report.Files == 0 && (f.HasNoData() || f.Verdict == check.Skipped) {
			continue // a shard without files: there are more shards than files
		}
		k := m.key(f.Check, f.Subject)
		f.Shard, f.Node = s.number, s.node
		m.of(k).add(&f, s)
	}
	longest(s.report)
	for i := range s.report.Growths {
		g := &s.report.Growths[i]
		if of := m.merged[m.key(g.Check, g.Subject)]; of != nil {
			of.growths.add(g, s)
		}
	}
	m.pool.Add(s.number, s.node, s.report)
}

// key returns the key of a subject, or that of all other subjects if there are too many.
func (m *merger) key(check, subject string) key {
	k := key{check, subject}
	if m.merged[k] == nil && len(m.order) >= keysMost {
		k.subject = otherSubjects
	}
	return k
}

func (m *merger) of(k key) *merged {
	of := m.merged[k]
	if of == nil {
		of = &merged{}
		m.merged[k] = of
		m.order = append(m.order, k)
	}
	return of
}

func (m *merged) add(f *check.Finding, s *judgedShard) {
	rank := rankOf(f)
	w := m.by[rank]
	if w == nil {
		w = &worstOf{Finding: *f, bound: boundOf(s, f)}
		m.by[rank] = w
	} else if bound := boundOf(s, f); cmp.Or(cmp.Compare(bound, w.bound), worse(f, &w.Finding)) > 0 {
		before := w.Finding
		w.Finding, w.bound = *f, bound
		w.Merge(&before)
	} else {
		w.Merge(f)
	}
	if last := len(w.shards.list); last == 0 || w.shards.list[last-1][1] != s.number {
		w.shards.add(s.number)
	}
}

func worse(f, than *check.Finding) int {
	if f.Worse(than) {
		return 1
	}
	return 0
}

// finding returns the merged finding.
func (m *merged) finding() check.Finding {
	rank := ranksCount - 1
	for m.by[rank] == nil {
		rank--
	}
	if rank == undecidedRank && m.by[passRank] != nil && m.tooShort() {
		rank = passRank
	}
	w := m.by[rank]
	f := w.Finding
	f.InShards = w.shards.count
	if rank >= undecidedRank && w.shards.count > 1 {
		f.Message += "; in " + w.shards.named("shard")
	}
	if rank == skippedRank || rank == passRank { // true of all shards, and of none in particular
		f.Shard, f.Node, f.InShards = 0, "", 0
	}
	return f
}

// findings returns the merged findings, in the order in which their subjects first appeared. Growth
// is judged over all shards together where no shard fails by itself.
func (m *merger) findings() []check.Finding {
	judgement := m.pool.Judge()
	m.judged.Pooled = judgement.Ledgers
	ledgers := map[string]*pooled{} // by their check
	for i := range judgement.Ledgers {
		l := &judgement.Ledgers[i]
		ledgers[l.Check] = &pooled{Ledger: l}
	}
	for k, of := range m.merged {
		if l := ledgers[k.check]; l != nil {
			l.shards = max(l.shards, of.shards)
			l.said = l.said || of.by[failRank] != nil && !l.unconfirmed()
		}
	}
	all := make([]check.Finding, 0, len(m.order))
	for _, k := range m.order {
		of := m.merged[k]
		f := of.finding()
		if l := ledgers[k.check]; l != nil && of.shards > 0 {
			unsettled := of.unsettled
			if f.Verdict == check.Fail && l.unconfirmed() {
				f, unsettled = doubted(f), true
			}
			if f.Verdict != check.Fail {
				f = l.decide(f, unsettled)
			}
		}
		all = append(all, m.inSomeShards(f, of))
	}
	if len(m.partly) > 0 {
		m.notes.first = append(m.notes.first, "not judged in every shard, for want of files in one "+
			"process or of readings: "+strings.Join(m.partly, ", "))
	}
	for i := range judgement.Ledgers {
		if l := ledgers[judgement.Ledgers[i].Check]; l.said {
			if note := l.note(); note != "" {
				m.notes.first = append(m.notes.first, note)
			}
		}
	}
	return slices.DeleteFunc(all, func(f check.Finding) bool {
		// Of a shard without readings something else may be known, and others have readings.
		return f.HasNoData() && f.Verdict == check.Skipped && m.report.Checkpoints > 0
	})
}

// inSomeShards notes if growth that passes could not be judged in some shards. If the policy
// requires its check, it is undecided then: a leak in one of these shards would not show.
func (m *merger) inSomeShards(f check.Finding, of *merged) check.Finding {
	skipped := of.by[skippedRank]
	if f.Verdict != check.Pass || skipped == nil || check.LedgerOf(f.Check) == nil {
		return f
	}
	where := skipped.shards.named("shard")
	if slices.Contains(m.policy.Require, f.Check) {
		f.Verdict, f.Gates = check.Undecided, true
		f.Message = fmt.Sprintf("required by the policy, but not judged in %s: %s", where,
			skipped.Message)
		return f
	}
	name := f.Check
	if f.Subject != "" && check.LedgerOf(f.Check).Name != f.Subject { // one of several devices
		name += ", " + f.Subject
	}
	m.partly = append(m.partly, fmt.Sprintf("%s (%s)", name, where))
	return f
}
