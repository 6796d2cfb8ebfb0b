package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A Situation describes the process, the device and the file when an allocation failed.
// [Situation.Advise] turns it into advice. All sizes are in bytes.
type Situation struct {
	Refused *meter.OutOfMemoryError

	Items int // items in the batch that failed; 0 if no batch failed
	Fits  int // items in the largest later batch of the same file that did fit; 0 if none
	// Item is what a batch consists of, such as "clip", and Flag sets the size of a batch.
	Item, Flag string

	Files int // files that this process has worked on, including this one; 0 if unknown
	// First is the memory that was allocated when the first file of the process began. Start is the
	// memory that was allocated when the current file began.
	First, Start int64
	// Held is the number of bytes that each cleanup of this file was expected to free, by the name of
	// the cleanup.
	Held map[string]int64

	Models    int64   // held by the loaded models
	Audio     int64   // memory that grows with the length of the file
	Seconds   float64 // length of the file's audio; 0 if unknown
	KeepCache bool    // the cache is never cleared
	Isolated  bool    // each stage runs in its own process
}

// worth is the smallest part of the device's memory that a piece of advice must save. Advice that
// saves less is given only if it alone makes the failed allocation fit.
const worth = 0.05

const suffices = "; that alone is enough"

// minSplit is the length of audio, in seconds, from which it helps to split a file. It is above 30
// s, because Whisper processes 30 s at once even if the file is shorter.
const minSplit = 60.0

// Advise returns advice on how to make the failed allocation fit, with figures. The advice that
// saves most memory comes first. Advise leaves out advice that does not apply or saves next to
// nothing.
func (s Situation) Advise() []string {
	type advice struct {
		gain int64
		text string
	}
	var all []advice
	reading := s.Refused.Reading
	total, allocated := reading.Bytes(record.Total), reading.Bytes(record.Allocated)
	free := max(0, total-allocated)
	missing := s.Refused.Requested - free
	if missing <= 0 { // enough memory was free, but not in one block
		missing = s.Refused.Requested
	}
	tooMuch := total > 0 && s.Refused.Requested > total
	add := func(gain int64, smaller bool, format string, args ...any) {
		enough := missing > 0 && gain >= missing
		if gain <= 0 || !enough && float64(gain) < worth*float64(total) || tooMuch && !smaller {
			return
		}
		text := fmt.Sprintf(format, args...)
		if enough {
			text += suffices
		}
		all = append(all, advice{gain, text})
	}
	size := record.FormatBytes

	if s.Items > 1 && s.Refused.Requested > 0 {
		item := s.Refused.Requested / int64(s.Items)
		fits := cmp.Or(s.Fits, int(min(max(1, free/max(1, item)), int64(s.Items)-1)))
		text := fmt.Sprintf("smaller batches: %d %ss asked for %s, batches of %d ask for %s (%s %d)",
			s.Items, s.Item, size(s.Refused.Requested), fits, size(item*int64(fits)), s.Flag, fits)
		if gain := item * int64(s.Items-fits); s.Fits > 0 { // batches of this size did fit
			all = append(all, advice{gain, text + suffices})
		} else {
			add(gain, true, "%s", text)
		}
	} else if s.Items > 1 && s.Fits > 0 { // the engine did not say how much it asked for
		all = append(all, advice{0, fmt.Sprintf("smaller batches: %d %ss did not fit, "+
			"batches of %d did (%s %d)%s", s.Items, s.Item, s.Fits, s.Flag, s.Fits, suffices)})
	}
	unused := max(0, reading.Bytes(record.Reserved)-allocated)
	grown := int64(0)
	if s.Files > 1 {
		grown = max(0, s.Start-s.First)
	}
	if s.KeepCache {
		add(unused, false, "clear the cache: %s is reserved and not in use (--clear-every 5)",
			size(unused))
	} else if unused >= s.Refused.Requested && s.Refused.Requested > 0 {
		grown += unused // enough memory is free, but not in one piece
	}
	if s.Files > 1 {
		add(grown, false, "restart the process every %d files: over %d files %s came to be held "+
			"or split up (vramsoak soak --restart-every %d)",
			max(1, s.Files/2), s.Files, size(grown), max(1, s.Files/2))
	}
	// The next smaller Whisper model takes half the memory or less (whisper.cpp's README.md,
	// "Memory usage").
	add(s.Models/2, true, "a smaller model: the models hold %s of %s", size(s.Models), size(total))
	if s.Seconds >= minSplit {
		add(s.Audio/2, true, "split the file: its %.0f s of audio hold %s, half of it holds half",
			s.Seconds, size(s.Audio))
	}
	if !s.Isolated {
		add(s.Start, false, "stages in processes of their own: %s stayed allocated between files "+
			"(--isolate whisper,diarization)", size(s.Start))
	}
	slices.SortStableFunc(all, func(a, b advice) int { return cmp.Compare(b.gain, a.gain) })
	var texts []string
	for _, a := range all {
		texts = append(texts, a.text)
	}
	if tooMuch && len(texts) == 0 {
		texts = append(texts, fmt.Sprintf("a larger device: %s are more than all of its %s",
			size(s.Refused.Requested), size(total)))
	}
	return texts
}

// advise logs advice for a situation. It first fills in what the runner and [Runner.Describe] know.
func (r *Runner) advise(s Situation) {
	r.mu.Lock()
	s.Files, s.First, s.Start, s.Held, s.KeepCache = r.files, r.first, r.start, maps.Clone(r.held),
		r.KeepCache
	r.mu.Unlock()
	if r.Describe != nil {
		r.Describe(&s)
	}
	for _, text := range s.Advise() {
		r.Logf("ADVICE: %s", text)
	}
}

// beginFile records how much memory is allocated when a file begins.
func (r *Runner) beginFile() {
	level := r.allocated()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files++; r.files == 1 {
		r.first = level
	}
	r.start = level
	clear(r.held)
}

// recordHeld records how many bytes a cleanup is expected to free.
func (r *Runner) recordHeld(name string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[string]int64{}
	}
	r.held[name] = max(r.held[name], bytes)
}
