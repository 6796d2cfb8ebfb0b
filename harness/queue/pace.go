package queue

import "time"

// A Pace holds the numbers from which the time left is estimated.
type Pace struct {
	Done, Left           int           // files
	DoneAudio, LeftAudio float64       // seconds of audio
	AudioKnown           bool          // of every file
	Spent                time.Duration // on the files that are done, with everything between them
	Since                time.Duration // the last of them was done
}

// Pace sums up the batch. lastEnd is when the last file ended.
func (b *Batch) Pace(started, lastEnd, now time.Time) Pace {
	done := b.Ended()
	return Pace{
		Done: done, Left: b.Len() - done,
		DoneAudio: b.doneAudio, LeftAudio: b.audio - b.doneAudio, AudioKnown: b.audioKnown,
		Spent: lastEnd.Sub(started), Since: now.Sub(lastEnd),
	}
}

// Remaining estimates the time that the files that are left take, supposing that they go as fast as
// those that are done: by length of audio if it is known, else by number. It returns false while
// nothing is done.
func (p Pace) Remaining() (time.Duration, bool) {
	if p.Left == 0 {
		return 0, true
	}
	ratio := 0.0
	switch {
	case p.AudioKnown && p.DoneAudio > 0:
		ratio = p.LeftAudio / p.DoneAudio
	case p.Done > 0:
		ratio = float64(p.Left) / float64(p.Done)
	default:
		return 0, false
	}
	return max(0, time.Duration(ratio*float64(p.Spent))-p.Since), true
}
