package check

import (
	"slices"
	"strings"
	"time"
)

// A ShardCount says how many shards a run has, and how many of them are complete.
type ShardCount struct {
	Count    int `json:"count"`
	Complete int `json:"complete"` // shards whose log ends with the end of their run
	Nodes    int `json:"nodes"`    // machines that worked on them
	// Incomplete lists the shards that never started or were cut short, in words: "3, 7 and 12-40".
	Incomplete string `json:"incomplete,omitempty"`
}

// NewMerged returns a report without findings, for the merged findings of several reports. The
// parameter ended is when the last of them ended; zero if no log says it.
func NewMerged(policy Policy, ended time.Time) *Report {
	return &Report{Schema: Schema, Policy: policy, Findings: []Finding{}, ended: ended}
}

// Ended returns when the run ended, by its log. It is zero if the log does not say it.
func (r *Report) Ended() time.Time { return r.ended }

// Unwaived returns the findings as they were before the policy waived or required anything. They no
// longer refer to the timeline.
func (r *Report) Unwaived() []Finding {
	all := slices.Clone(r.found)
	for i := range all {
		all[i].causeInput = nil
	}
	return all
}

// HasNoData reports whether the finding only says that a check has no data.
func (f *Finding) HasNoData() bool { return f.noData }

// Merge adds a finding of another shard on the same check and subject, with the same verdict. A
// waiver must cover the worst value of both.
func (f *Finding) Merge(other *Finding) {
	for _, worst := range []*float64{f.worst, f.Measured, other.worst, other.Measured} {
		if worst != nil && f.Verdict != Pass {
			f.includes(*worst)
		}
	}
}

// Worse reports whether another finding with the same verdict measured something worse.
func (f *Finding) Worse(than *Finding) bool {
	switch {
	case f.Measured == nil || than.Measured == nil:
		return f.Measured != nil && than.Measured == nil
	case f.Unit != than.Unit:
		return false
	}
	return f.worse(*f.Measured, *than.Measured)
}

// Follows sets another finding as the cause of this one.
func (f *Finding) Follows(from *Finding) { f.cause = from.named() }

// Add adds what another part of the same run did.
func (w *Work) Add(other *Work) {
	w.AudioSeconds += other.AudioSeconds
	w.Seconds += other.Seconds
	if w.Seconds > 0 {
		w.TimesRealTime = w.AudioSeconds / w.Seconds
	}
	timed := w.EmbeddingsPerSecond*w.EmbeddingSeconds +
		other.EmbeddingsPerSecond*other.EmbeddingSeconds
	w.Embeddings += other.Embeddings
	if w.EmbeddingSeconds += other.EmbeddingSeconds; w.EmbeddingSeconds > 0 {
		w.EmbeddingsPerSecond = timed / w.EmbeddingSeconds
	}
	w.Fallbacks += other.Fallbacks
	w.CacheClears += other.CacheClears
	w.CacheFreed += other.CacheFreed
	for _, lost := range other.Lost {
		i := slices.IndexFunc(w.Lost, func(l LostWork) bool { return l.Stage == lost.Stage })
		if i >= 0 {
			w.Lost[i].Files += lost.Files
		} else if len(w.Lost) < MostAlike {
			w.Lost = append(w.Lost, lost)
		}
	}
	for _, s := range other.Suggestions {
		known := func(t Suggestion) bool { return t.Text == s.Text }
		if len(w.Suggestions) < MostAlike && !slices.ContainsFunc(w.Suggestions, known) {
			w.Suggestions = append(w.Suggestions, s)
		}
	}
}

// Pooled returns the finding on growth as the growths of many shards together decide it.
func (f *Finding) Pooled(verdict Verdict, growth float64, message string) Finding {
	g := *f
	g.Verdict, g.Message, g.found = verdict, message, ""
	g.File, g.FirstFile, g.At, g.Stage, g.Advice = 0, nil, nil, "", nil
	g.Shard, g.Node, g.InShards, g.cause = 0, "", 0, nil
	ledger, _, _ := strings.Cut(g.Unit, PerFile)
	g.Measured = new(rounded(growth, ledger))
	g.worst = nil
	return g
}
