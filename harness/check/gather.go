package check

import (
	"fmt"
	"slices"
	"strings"
)

// MostAlike is how many findings of one check that have the same verdict a report lists one by one.
// The rest are summed in one more, the others: a log can name 20,000 devices, or 200,000 cleanups,
// and each is judged.
const MostAlike = 256

// A gathering holds findings as they are made, in memory that does not grow with their number.
type gathering struct {
	findings []Finding
	marks    map[string]bool // what subjects end with where there are several lanes
	same     map[sameFinding]*alike
	kinds    map[kind]*group
	order    []kind // in which they came up
}

// A sameFinding is what two findings on different lanes have in common if they say the same.
type sameFinding struct {
	check   string
	verdict Verdict
	subject string // without the lane
	message string
}

type alike struct{ at, count int }

// A group is the findings of a kind.
type group struct {
	listed int
	others Finding
}

// A kind is what findings that are summed together have in common.
type kind struct {
	check   string
	verdict Verdict
	gates   bool
	absent  bool
}

func newGathering() gathering {
	return gathering{marks: map[string]bool{}, same: map[sameFinding]*alike{}, kinds: map[kind]*group{}}
}

// add adds a finding. One that says the same of several lanes is kept once, where nothing is
// measured: a job of 64 ranks has no total 64 times.
func (g *gathering) add(f Finding) {
	subject, ofLane := f.Subject, false
	foldable := f.Verdict == Skipped || f.Verdict == Pass && f.Check == Consistency
	if i := strings.LastIndex(f.Subject, " ("); foldable && i >= 0 && g.marks[f.Subject[i:]] {
		subject, ofLane = f.Subject[:i], true
	}
	key := sameFinding{f.Check, f.Verdict, subject, f.Message}
	if first := g.same[key]; foldable && ofLane && first != nil {
		first.count++
		g.findings[first.at].Subject = fmt.Sprintf("%s (%d alike)", subject, first.count)
		return
	}
	of := kind{f.Check, f.Verdict, f.Gates, f.absent}
	k := g.kinds[of]
	if k == nil {
		k = &group{}
		g.kinds[of], g.order = k, append(g.order, of)
	}
	if k.listed < MostAlike && f.count == 0 {
		k.listed++
		if foldable {
			g.same[key] = &alike{len(g.findings), 1}
		}
		g.findings = append(g.findings, f)
		return
	}
	if k.others.Check == "" { // the first of them shows where they are
		k.others = f
		k.others.Measured, k.others.Limit, k.others.Unit, k.others.Stage = nil, nil, "", ""
		k.others.count = 0
	}
	k.others.count += max(1, f.count)
}

// summed returns the findings with those beyond MostAlike of each kind summed in one.
func summed(findings []Finding) []Finding {
	g := newGathering()
	for _, f := range findings {
		g.add(f)
	}
	return g.gathered()
}

// gathered are the findings by their checks, with one for the others of each kind.
func (g *gathering) gathered() []Finding {
	for _, of := range g.order {
		k := g.kinds[of]
		if k.others.count == 0 {
			continue
		}
		k.others.Subject = Grouped(fmt.Sprint(k.others.count)) + " others"
		k.others.Message = fmt.Sprintf("%s: %s besides the %d that are listed, each judged as they are",
			of.verdict, Plural(k.others.count, "finding"), k.listed)
		g.findings = append(g.findings, k.others)
	}
	slices.SortStableFunc(g.findings, byCheck)
	return g.findings
}
