package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Work is what a pipeline did beside its checkpoints, as its log says: how fast it was, and how
// often it fell back or cleared its cache.
type Work struct {
	// AudioSeconds is the length of the audio of the files that ended well, and Seconds the time that
	// they took. Files without one of the two do not count.
	AudioSeconds  float64 `json:"audio_seconds,omitempty"`
	Seconds       float64 `json:"seconds,omitempty"`
	TimesRealTime float64 `json:"times_real_time,omitempty"` // the ratio of the two
	// Embeddings is the number of embeddings that were extracted. EmbeddingSeconds is the time that
	// this took, as far as the log says it, and EmbeddingsPerSecond those extracted in this time.
	Embeddings          int64   `json:"embeddings,omitempty"`
	EmbeddingSeconds    float64 `json:"embedding_seconds,omitempty"`
	EmbeddingsPerSecond float64 `json:"embeddings_per_second,omitempty"`
	Fallbacks           int     `json:"fallbacks"`
	CacheClears         int     `json:"cache_clears"`
	CacheFreed          int64   `json:"cache_freed,omitempty"` // bytes, as far as the log says it
	// Lost lists what files went on without, one entry for each part of the work.
	Lost []LostWork `json:"lost,omitempty"`
	// Suggestions are the settings that the program itself suggests, after memory ran out.
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// A LostWork is a part of the work that files went on without.
type LostWork struct {
	Stage string     `json:"stage"` // "diarization"
	Files int        `json:"files"`
	First *FirstFile `json:"first_file,omitempty"` // nil if the log does not name it
}

// A Suggestion is a setting that the program itself suggests.
type Suggestion struct {
	Text string          `json:"text"`
	At   record.Position `json:"at"`
}

// work returns what the pipeline did, from all files and attempts.
func (j *Judge) work() *Work {
	if j.worked != nil {
		return j.worked
	}
	w := &Work{}
	j.worked = w
	var sum timeline.EventSum
	add := func(s *timeline.EventSum) {
		sum.Embeddings += s.Embeddings
		sum.Timed += s.Timed
		sum.Seconds += s.Seconds
		w.CacheClears += s.CacheClears
		w.CacheFreed += s.Freed
		w.Fallbacks += s.Fallbacks
	}
	add(&j.tl.Between)
	for _, f := range j.tl.Files {
		if f.Events != nil {
			add(f.Events)
		}
		if f.AudioSeconds > 0 && f.Seconds > 0 && j.endedWell(f) {
			w.AudioSeconds, w.Seconds = w.AudioSeconds+f.AudioSeconds, w.Seconds+f.Seconds
		}
	}
	if w.Seconds > 0 {
		w.TimesRealTime = w.AudioSeconds / w.Seconds
	}
	if w.Embeddings = sum.Embeddings; sum.Seconds > 0 {
		w.EmbeddingSeconds, w.EmbeddingsPerSecond = sum.Seconds, float64(sum.Timed)/sum.Seconds
	}
	for _, l := range j.losses() {
		if !l.Unexplained {
			w.lose(&l)
		}
	}
	for _, s := range j.tl.Suggestions {
		w.Suggestions = append(w.Suggestions, Suggestion{s.Text, s.Pos})
	}
	return w
}

func (w *Work) lose(l *loss) {
	for i := range w.Lost {
		if w.Lost[i].Stage == l.Stage {
			w.Lost[i].Files++
			return
		}
	}
	lost := LostWork{Stage: l.Stage, Files: 1}
	if l.file != nil {
		lost.First = &FirstFile{l.file.Index, l.file.Path}
	} else if l.File != "" {
		lost.First = &FirstFile{Path: l.File}
	}
	w.Lost = append(w.Lost, lost)
}

// isEmpty reports whether the log says nothing of the work.
func (w *Work) isEmpty() bool {
	return w.Seconds == 0 && w.Embeddings == 0 && w.Fallbacks == 0 && w.CacheClears == 0 &&
		len(w.Lost) == 0 && len(w.Suggestions) == 0
}

// String returns the numbers in one sentence: "throughput: 12.4 x real time (...), 40.7 embeddings
// a second (...); 3 fallbacks, 57 cache clears". It returns "" if there are none.
func (w *Work) String() string {
	var speeds, counts []string
	if w.Seconds > 0 {
		speeds = append(speeds, fmt.Sprintf("%s (%s of audio in %s)", Quantity(w.TimesRealTime,
			TimesRealTime), Quantity(w.AudioSeconds, Seconds), Quantity(w.Seconds, Seconds)))
	}
	timed := int64(math.Round(w.EmbeddingsPerSecond * w.EmbeddingSeconds))
	if timed > 0 {
		speeds = append(speeds, fmt.Sprintf("%s embeddings a second (%s in %s)",
			significant(w.EmbeddingsPerSecond), Grouped(strconv.FormatInt(timed, 10)),
			Quantity(w.EmbeddingSeconds, Seconds)))
	}
	if w.Embeddings > timed {
		counts = append(counts, counted(w.Embeddings, "embedding"))
	}
	if w.Fallbacks > 0 {
		counts = append(counts, counted(int64(w.Fallbacks), "fallback"))
	}
	if w.CacheClears > 0 {
		clears := counted(int64(w.CacheClears), "cache clear")
		if w.CacheFreed > 0 {
			clears += " (" + record.FormatBytes(w.CacheFreed) + " freed, by the log)"
		}
		counts = append(counts, clears)
	}
	var parts []string
	if len(speeds) > 0 {
		parts = append(parts, "throughput: "+strings.Join(speeds, ", "))
	}
	if len(counts) > 0 {
		parts = append(parts, strings.Join(counts, ", "))
	}
	return strings.Join(parts, "; ")
}

// counted returns a number with commas between its thousands, and its noun: "12,800 embeddings".
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(strconv.FormatInt(n, 10)) + " " + noun
}
