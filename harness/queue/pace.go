package queue

import "time"

// A Pace holds the numbers from which the time left is estimated.
type Pace struct {
	Done, Left           int           // files
	DoneAudio, LeftAudio float64       // seconds of audio
	AudioKnown           bool          // the length of every file is known
	Spent                time.Duration // from the start of the run to the last end of a file
	Since                time.Duration // the last file ended
}

// Pace returns the numbers of the batch. The parameter lastEnd is when the last file ended.
func (b *Batch) Pace(started, lastEnd, now time.Time) Pace {
	done := b.Ended()
	return Pace{
		Done: done, Left: b.Len() - done,
		DoneAudio: b.doneAudio, LeftAudio: b.audio - b.doneAudio, AudioKnown: b.audioKnown,
		Spent: lastEnd.Sub(started), Since: now.Sub(lastEnd),
	}
}

// Remaining estimates how long the remaining files will take. It assumes that a second of audio
// takes as long as in the finished files or, if the length of a file is unknown, that a file takes
// as long. It returns false while no file is done.
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
