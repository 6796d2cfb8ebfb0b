package queue

import (
	"time"

	"vramsoak/parser/record"
)

// A Pace holds the numbers from which [Pace.Remaining] estimates the time until the run is done.
type Pace struct {
	Done, Left           int           // files
	DoneAudio, LeftAudio float64       // seconds of audio
	AudioKnown           bool          // the length of every file is known
	Spent                time.Duration // from the start of the run to the last end of a file
	Since                time.Duration // since the last end of a file
	// InWork counts those of the files left that are in work. Between two files, the next one counts.
	InWork      int
	InWorkAudio float64 // their seconds of audio
}

// Pace returns the pace of the batch at the time now. The parameter active is the index of the file
// in work or None, started is when the run began, and lastEnd is when a file ended last.
func (b *Batch) Pace(active int, started, lastEnd, now time.Time) Pace {
	done := b.Ended()
	p := Pace{
		Done: done, Left: b.Len() - done,
		DoneAudio: b.doneAudio, LeftAudio: b.audio - b.doneAudio, AudioKnown: b.audioKnown,
		Spent: lastEnd.Sub(started), Since: now.Sub(lastEnd),
	}
	if active == None {
		active = append(b.Waiting(1), None)[0]
	}
	if active != None && b.status[active] == record.StatusUnknown { // a file tried again has ended
		p.InWork, p.InWorkAudio = 1, b.files[active].AudioSeconds
	}
	return p
}

// Remaining estimates how long the remaining files will take. It assumes that a second of audio
// takes as long as in the files that have ended. If the length of any file is unknown, it assumes
// that each file takes as long as the mean of those that have ended. A file that takes longer than
// that, or hangs, does not shorten the time for the files that are not in work yet. Remaining
// returns false while no file has ended.
func (p Pace) Remaining() (time.Duration, bool) {
	if p.Left == 0 {
		return 0, true
	}
	done, left, inWork := float64(p.Done), float64(p.Left), float64(p.InWork)
	if p.AudioKnown && p.DoneAudio > 0 {
		done, left, inWork = p.DoneAudio, p.LeftAudio, p.InWorkAudio
	}
	if done == 0 {
		return 0, false
	}
	timeFor := func(amount float64) time.Duration {
		return time.Duration(amount / done * float64(p.Spent))
	}
	return max(timeFor(left)-p.Since, timeFor(left-inWork), 0), true
}
