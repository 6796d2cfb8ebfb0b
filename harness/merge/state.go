package merge

import (
	"slices"

	"vramsoak/harness/check"
)

// A State is how one shard ended.
type State struct {
	Number   int
	Name     string // of its folder; "" if the shard is missing
	Node     string
	Files    int           // of the shard that began
	Failed   int           // files that did not end ok
	Complete bool          // the log ends with the end of its run
	Verdict  check.Verdict // on the shard alone; "" if it is missing
	Seconds  float64       // sum over its files, as far as the log says it
	// Peak is the highest memory of a device, and Total the size of the device, in bytes. They are 0
	// if the log does not say them.
	Peak, Total int64
	// Open holds the first findings that decide the verdict, unless it is a pass. They do not know
	// what the policy waives or requires, which is about the whole run.
	Open []check.Finding
	// Growths says how much each series of [Judged.Series] grows in the shard.
	Growths []ShardGrowth
}

// A Series is a series that is judged for growth in the shards, such as the idle level.
type Series struct {
	Check, Subject, Unit string  // as in [check.Growth]
	Limit                float64 // allowed growth from one value to the next, in Unit
	Gates                bool    // the policy gates on Check
}

// A ShardGrowth is the growth of a series in a shard: in the process that has the worst verdict,
// and of these the longest.
type ShardGrowth struct {
	Series  int // index in [Judged.Series]
	Files   int // number of values
	Verdict check.Verdict
	// Slope is the growth per file, Error its standard error, and Rounding how much rounding may hide
	// or feign. Error is infinite if the length of the audio explains the growth as well.
	Slope, Error, Rounding float64
}

// The limits of a [State].
const (
	openMost   = 3  // findings of a shard
	seriesMost = 12 // series, in the order in which they first appeared
)

// state returns how a shard ended.
func (m *merger) state(s *judgedShard) State {
	rep := s.report
	state := State{
		Number: s.number, Name: s.name, Node: s.node, Files: rep.Files, Failed: s.failed,
		Complete: s.complete, Verdict: rep.Verdict, Seconds: s.seconds, Growths: m.growthsOf(rep),
	}
	if p := rep.PeakBy; p != nil {
		state.Peak, state.Total = p.Bytes, p.Total
	} else {
		h := &rep.HighWater
		state.Peak, state.Total = max(h.Allocated, h.Reserved, h.Used), h.Total
	}
	for i := range rep.Findings {
		f := rep.Findings[i]
		if len(state.Open) == openMost || rep.Verdict == check.Pass {
			break
		}
		if f.Verdict == rep.Verdict && f.Gates && f.Cause == nil {
			f.Advice, f.Also = nil, nil
			state.Open = append(state.Open, f)
		}
	}
	return state
}

// growthsOf returns how the series of a shard grow.
func (m *merger) growthsOf(rep *check.Report) []ShardGrowth {
	var all []ShardGrowth
	for i := range rep.Growths {
		g := &rep.Growths[i]
		series := m.seriesOf(g)
		if series < 0 {
			continue
		}
		s := ShardGrowth{
			Series: series, Files: g.Files, Verdict: g.Verdict, Slope: g.Slope, Error: g.Error,
			Rounding: g.Rounding,
		}
		k := slices.IndexFunc(all, func(of ShardGrowth) bool { return of.Series == series })
		switch {
		case k < 0:
			all = append(all, s)
		case growthRank(s.Verdict) > growthRank(all[k].Verdict) ||
			s.Verdict == all[k].Verdict && s.Files > all[k].Files:
			all[k] = s
		}
	}
	return slices.Clip(all)
}

// seriesOf returns the index of a series in [Judged.Series], or -1 if there are too many series.
func (m *merger) seriesOf(g *check.Growth) int {
	of := &m.judged.Series
	i := slices.IndexFunc(*of, func(s Series) bool {
		return s.Check == g.Check && s.Subject == g.Subject
	})
	if i >= 0 || len(*of) == seriesMost {
		return i
	}
	*of = append(*of, Series{
		Check: g.Check, Subject: g.Subject, Unit: g.Unit, Limit: g.Limit, Gates: g.Gates,
	})
	return len(*of) - 1
}

// growthRank orders verdicts, the worst last.
func growthRank(v check.Verdict) int {
	return slices.Index([]check.Verdict{check.Skipped, check.Pass, check.Undecided, check.Fail}, v)
}
