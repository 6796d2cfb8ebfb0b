package wording

import (
	"cmp"
	"slices"
	"strconv"

	"vramsoak/harness/check"
)

// A Group is a finding that has a cause of its own, with the findings that follow from it.
type Group struct {
	check.Finding
	Consequences []check.Finding
}

// Groups returns the findings that fail or are undecided, in the order in which a reader should see
// them. Findings that decide the verdict come first, failures before undecided ones. Among
// failures, those for which a file failed come first, and then the order is that of the report.
func Groups(rep *check.Report) []Group {
	var groups []Group
	for _, f := range WithVerdict(Sorted(rep), check.Fail, check.Undecided) {
		if f.Cause == nil {
			groups = append(groups, Group{Finding: f})
		}
	}
	for _, f := range rep.Findings {
		if f.Cause == nil {
			continue
		}
		for i := range groups {
			if g := &groups[i]; g.Check == f.Cause.Check && g.Subject == f.Cause.Subject {
				g.Consequences = append(g.Consequences, f)
				break
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.rank(), b.rank()) })
	return groups
}

// Deciding returns the groups that decide the verdict, the worst first. It returns none if the
// report passes.
func Deciding(rep *check.Report) []Group {
	return slices.DeleteFunc(Groups(rep), func(g Group) bool {
		return !g.Decides() || g.Verdict != rep.Verdict || rep.Verdict == check.Pass
	})
}

// rank orders groups by how bad they are.
func (g Group) rank() int {
	switch {
	case !g.Decides():
		return 3
	case g.Verdict == check.Undecided:
		return 2
	case g.failsFiles():
		return 0
	}
	return 1
}

// Decides reports whether the finding takes part in the verdict.
func (g Group) Decides() bool { return g.Gates && g.Waived == nil }

// failsFiles reports whether a file failed because of the finding.
func (g Group) failsFiles() bool {
	failed := func(f check.Finding) bool {
		return f.Check == check.OutOfMemory || f.Check == check.Completeness
	}
	return failed(g.Finding) || slices.ContainsFunc(g.Consequences, failed)
}

// Consequence returns what followed from the cause of a finding, without the advice: "peak,
// high-water mark: critical: 23.1 GiB allocated, of 24.0 GiB (96.3 %) at the failed allocation".
func Consequence(f check.Finding) string { return Named(f) + ": " + FirstClause(f.Found()) }

// Named returns the check and the subject of a finding: "leak, idle level". A subject that is the
// check's name is not repeated. In a run of many shards, it also names the shard: "leak, idle level
// in shard 3 on node n2 and 6 others".
func Named(f check.Finding) string {
	if f.Subject == "" || f.Subject == f.Check {
		return f.Check + InShard(f)
	}
	return f.Check + ", " + f.Subject + InShard(f)
}

// InShard returns the shard that decided a finding, behind a space: " in shard 3 on node n2 and 6
// others". For a finding that all shards decide together it returns " over 128 shards", and "" in a
// run without shards.
func InShard(f check.Finding) string {
	on := ""
	if f.Node != "" {
		on = " on node " + f.Node
	}
	switch {
	case f.Shard == 0 && f.InShards > 1:
		return " over " + Plural(f.InShards, "shard")
	case f.Shard == 0:
		return on
	}
	text := " in shard " + strconv.Itoa(f.Shard) + on
	switch more := f.InShards - 1; {
	case more == 1:
		text += " and another one"
	case more > 1:
		text += " and " + Count(more) + " others"
	}
	return text
}
