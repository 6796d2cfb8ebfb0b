package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// An EventSum adds up what a pipeline says beside its checkpoints, in a file or between two files.
type EventSum struct {
	// Embeddings is the number of embeddings that were extracted. Timed is the number of those whose
	// time is known, and Seconds is this time.
	Embeddings, Timed int64
	Seconds           float64
	CacheClears       int
	Freed             int64 // bytes that these cache clears freed, as far as the lines say so
	Fallbacks         int
	Losses            []Loss
	// Printed holds what the pipeline says that its cleanups freed.
	Printed []record.Change

	// progress is the number of embeddings in the last line of progress of an extraction that has not
	// ended. first is that of the sum's first such line, unless another extraction ended before it.
	progress, first int64
	ended           bool          // an extraction ended in this sum
	fallback        *record.Event // the last fallback, as long as the sum may grow; nil if none
	audio           float64       // length of the audio; see noteAudio
	lengths         int           // number of different lengths
	// gaps are the parts of the sum of a file that the builder may still split, or that has not ended.
	gaps []eventGap
}

// A Loss is a part of the work that the pipeline left out for a file, or for a part of a file.
type Loss struct {
	Stage string // "diarization"
	File  string // the file, if the line names it; else ""
	At    record.Position
	// Unexplained is set if the line gives no reason, and nothing before it in the file does: no
	// failed allocation, and no fallback.
	Unexplained bool
}

// eventGap is what the pipeline said between two checkpoints of a file.
type eventGap struct {
	checkpoints int // number of the file's checkpoints before it
	line        int // of the first event
	EventSum
}

// add adds an event. The parameter inFile is set if the sum is of a file. The parameter explained
// is set if a failed allocation or a fallback precedes the event in the file.
func (s *EventSum) add(r *record.Event, inFile, explained bool) {
	switch r.Kind {
	case record.EventProgress:
		if r.Items == 0 {
			return
		}
		if s.first == 0 && !s.ended {
			s.first = r.Items
		}
		s.advance(r.Items, r.Items)
	case record.EventExtracted:
		s.progress, s.ended = 0, true
		s.Embeddings += r.Items
		if rate := r.PerSecond(); rate > 0 {
			s.Timed += r.Items
			s.Seconds += float64(r.Items) / rate
		}
	case record.EventCacheCleared:
		s.CacheClears++
		s.Freed += r.Freed.Bytes
	case record.EventAudio:
		s.noteAudio(r.Seconds)
	case record.EventFallback:
		again := repeatsFallback(s.fallback, r)
		if !again {
			s.Fallbacks++
		}
		s.fallback = r
		s.lose(r, inFile || again, false)
	case record.EventSkipped:
		s.lose(r, inFile || repeatsFallback(s.fallback, r), !explained && s.Fallbacks == 0)
	}
}

// advance notes lines of progress: the numbers of embeddings in the first and in the last of them.
// If the first number is smaller than the last one before, another extraction has begun.
func (s *EventSum) advance(first, last int64) {
	if first < s.progress {
		s.Embeddings += s.progress
	}
	s.progress = last
}

// repeatsFallback reports whether the fallback next is another line about the fallback r:
//
//	⚠️  CUDA OOM during voice enrollment, using fallback fast-path
//	🚀 FALLBACK FAST-PATH: Always assuming Dr. Chaffee content
func repeatsFallback(r, next *record.Event) bool {
	return r != nil && r.Lost != "" && r.Lost == next.Lost && r.Text != next.Text &&
		next.Pos.Line-r.Pos.Line <= tracebackGap &&
		(r.File == next.File || r.File == "" || next.File == "")
}

// lose adds the part of the work that an event leaves out, unless it is known for that file. The
// parameter sameFile is set if an event that names no file is of the same file as the last one.
func (s *EventSum) lose(r *record.Event, sameFile, unexplained bool) {
	if r.Lost == "" {
		return
	}
	for i := max(0, len(s.Losses)-lossesNear); i < len(s.Losses) && (sameFile || r.File != ""); i++ {
		if loss := &s.Losses[i]; loss.Stage == r.Lost && loss.File == r.File {
			loss.Unexplained = loss.Unexplained && unexplained
			return
		}
	}
	s.Losses = append(s.Losses, Loss{r.Lost, r.File, r.Pos, unexplained})
}

// lossesNear is how many of the last losses are searched for the same one. A log may name any
// number of files.
const lossesNear = 64

// noteAudio notes the length of an audio that the pipeline works on. If a file has several lines
// with the same length, the pipeline did the file again. If it has different lengths, they may be
// parts of the file, or the file and some parts of it, and its length is unknown.
func (s *EventSum) noteAudio(seconds float64) {
	if seconds > 0 && seconds != s.audio {
		s.audio = seconds
		s.lengths++
	}
}

// merge adds a later sum.
func (s *EventSum) merge(o *EventSum) {
	if s.first == 0 && !s.ended {
		s.first = o.first
	}
	switch {
	case o.first > 0:
		s.advance(o.first, o.progress)
	case o.ended: // the extraction ended whose progress came before
		s.progress = o.progress
	}
	s.ended = s.ended || o.ended
	s.Embeddings, s.Timed, s.Seconds = s.Embeddings+o.Embeddings, s.Timed+o.Timed, s.Seconds+o.Seconds
	s.CacheClears, s.Freed = s.CacheClears+o.CacheClears, s.Freed+o.Freed
	s.Fallbacks += o.Fallbacks
	if o.Fallbacks > 0 {
		s.fallback = o.fallback
	}
	s.Losses, s.Printed = append(s.Losses, o.Losses...), append(s.Printed, o.Printed...)
	if o.lengths > 0 {
		if s.lengths > 0 && s.audio == o.audio {
			s.lengths--
		}
		s.audio, s.lengths = o.audio, s.lengths+o.lengths
	}
}

// finish adds the embeddings of an extraction that has no end. Its last line of progress counts.
func (s *EventSum) finish() {
	s.Embeddings, s.progress, s.fallback = s.Embeddings+s.progress, 0, nil
}

// eventSum returns the sum to which an event of the pipeline belongs: that of the file that is
// being processed, or that of the part of the log since the last file. As long as files may still
// be split, each part of a file between two checkpoints has a sum of its own.
func (b *Builder) eventSum(line int) *EventSum {
	gaps := &b.log.between
	checkpoints := 0
	if b.file != nil {
		gaps = b.file.gapsToSum()
		checkpoints = len(b.file.Checkpoints)
	}
	n := len(*gaps)
	if n == 0 || !b.log.splitKnown && (*gaps)[n-1].checkpoints != checkpoints {
		*gaps = append(*gaps, eventGap{checkpoints: checkpoints, line: line})
		n++
	}
	return &(*gaps)[n-1].EventSum
}

// noteEvent adds an event to its file.
func (b *Builder) noteEvent(r *record.Event) {
	if r.Kind == record.EventSuggestion {
		if len(b.tl.Suggestions) < maxSuggestions {
			b.tl.Suggestions = append(b.tl.Suggestions, *r)
		}
		return
	}
	explained := r.Kind == record.EventSkipped && b.isExplained(r)
	b.eventSum(r.Pos.Line).add(r, b.file != nil, explained)
}

// maxSuggestions is the most suggestions of the pipeline that are kept.
const maxSuggestions = 16

// isExplained reports whether a failed allocation or a fallback in the same file precedes an event.
// Between files, it must be near.
func (b *Builder) isExplained(r *record.Event) bool {
	if f := b.file; f != nil {
		return len(f.OOMs) > 0 || slices.ContainsFunc(*f.gapsToSum(), func(g eventGap) bool {
			return g.Fallbacks > 0
		})
	}
	near := func(line int) bool { return line > 0 && r.Pos.Line-line <= failureRange }
	if f := b.outside; f != nil && len(f.OOMs) > 0 && near(f.OOMs[len(f.OOMs)-1].Pos.Line) {
		return true
	}
	n := len(b.log.between)
	return n > 0 && b.log.between[n-1].fallback != nil && near(b.log.between[n-1].fallback.Pos.Line)
}

// notePrinted adds what the pipeline says that a cleanup freed.
func (b *Builder) notePrinted(r *record.Change) {
	if r.Name != record.MemoryRecovered && r.Name != record.MemoryFreed {
		return
	}
	if s := b.eventSum(r.Pos.Line); len(s.Printed) < maxPrinted {
		s.Printed = append(s.Printed, *r)
	}
}

// maxPrinted is the most printed recoveries that a file keeps.
const maxPrinted = 1 << 10

// gapsToSum returns the parts of the file's sum of events.
func (f *File) gapsToSum() *[]eventGap {
	if f.Events == nil {
		f.Events = &EventSum{}
	}
	return &f.Events.gaps
}

// takeGaps makes gaps the parts of the file's sum of events.
func (f *File) takeGaps(gaps []eventGap) {
	if len(gaps) > 0 {
		*f.gapsToSum() = gaps
	}
}

// sumEvents adds up Events of a file whose beginning is certain. It sets the length of its audio if
// only the events give it.
func (f *File) sumEvents() {
	if f.Events == nil {
		return
	}
	if len(f.Events.gaps) == 0 {
		f.Events = nil
		return
	}
	sum, gaps := f.Events, f.Events.gaps
	*sum = gaps[0].EventSum
	for i := range gaps[1:] {
		sum.merge(&gaps[i+1].EventSum)
	}
	sum.finish()
	if f.AudioSeconds == 0 && sum.lengths == 1 {
		f.AudioSeconds = sum.audio
	}
}

// takeGap gives what the pipeline said between two checkpoints to the file that is being processed,
// or to the part of the log since the last file.
func (b *Builder) takeGap(gap eventGap) {
	gaps := &b.log.between
	if b.file != nil {
		gaps = b.file.gapsToSum()
	}
	*gaps = append(*gaps, gap)
}

// moveGaps adds what the pipeline said in a part of a file to the timeline's sum of what it said
// between files.
func (b *Builder) moveGaps(gaps []eventGap) {
	for i := range gaps {
		b.tl.Between.merge(&gaps[i].EventSum)
	}
}
