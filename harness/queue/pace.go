package queue

import "time"

// A Pace holds the numbers from which [Pace.Remaining] estimates the time until the run is done.
type Pace struct {
	Done, Left           int           // files
	DoneAudio, LeftAudio float64       // seconds of audio
	AudioKnown           bool          // the length of every file is known
	Spent                time.Duration // from the start of the run to the last end of a file
	Since                time.Duration // since the last end of a file
	Workers              int           // how many files are in work at a time; 0 counts as 1
}

// Pace returns the pace of the batch at the time now. The parameter started is when the run began,
// and lastEnd is when a file ended last.
func (b *Batch) Pace(started, lastEnd, now time.Time) Pace {
	done := b.Ended()
	return Pace{
		Done: done, Left: b.Len() - done,
		DoneAudio: b.doneAudio, LeftAudio: b.audio - b.doneAudio, AudioKnown: b.audioKnown,
		Spent: lastEnd.Sub(started), Since: now.Sub(lastEnd),
	}
}

// Remaining estimates how long the remaining files will take. It assumes that a second of audio
// takes as long as in the files that have ended. If the length of any file is unknown, it assumes
// that each file takes as long as the mean of those that have ended. A file that takes longer than
// that, or hangs, does not shorten the time for the files after it. Remaining returns false while
// no file has ended.
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
	all := time.Duration(ratio * float64(p.Spent))
	waiting := max(0, p.Left-max(1, p.Workers))
	return max(all-p.Since, time.Duration(float64(all)*float64(waiting)/float64(p.Left))), true
}
