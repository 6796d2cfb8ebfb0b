package harness

import (
	"time"

	"vramsoak/parser"
)

// Progress is how far a run is.
type Progress struct {
	Done, Files int    // files that have ended, and all; Files is 0 where it is not known
	Failed      int    // of Done, those that did not end well
	Current     string // path of the file that is worked on, "" between files
	// Reading is the pipeline's last checkpoint's; empty before the first.
	Reading parser.Reading
	Elapsed time.Duration
	// Left is an estimate of the time that the remaining files take; HasLeft is false where nothing is known yet.
	Left    time.Duration
	HasLeft bool
	// Workers is the same of each worker, where there are several, and GPU the worker's.
	Workers []Progress
	GPU     int

	pace pace
}

// pace is what an estimate of the time left is made of.
type pace struct {
	done, left           int
	doneAudio, leftAudio float64       // seconds of audio
	audioKnown           bool          // of every file
	spent                time.Duration // on the files that are done, with everything between them
	since                time.Duration // the last of them was done
}

// remaining supposes that the files that are left go as fast as those that are done, by length of audio where that is
// known, else by number.
func (p pace) remaining() (time.Duration, bool) {
	if p.left == 0 {
		return 0, true
	}
	share := 0.0
	switch {
	case p.audioKnown && p.doneAudio > 0:
		share = p.leftAudio / p.doneAudio
	case p.done > 0:
		share = float64(p.left) / float64(p.done)
	default:
		return 0, false
	}
	return max(0, time.Duration(share*float64(p.spent))-p.since), true
}

// pace sums up the batch; lastEnd is when the last file ended.
func (b *batch) pace(started, lastEnd, now time.Time) pace {
	return pace{
		done: b.ended(), left: len(b.files) - b.ended(),
		doneAudio: b.doneAudio, leftAudio: b.audio - b.doneAudio, audioKnown: b.audioKnown,
		spent: lastEnd.Sub(started), since: now.Sub(lastEnd),
	}
}

// A board calls a progress function beside the pump, with the newest there is.
type board struct {
	newest chan Progress
	gone   chan struct{}
}

func newBoard(show func(Progress)) *board {
	b := &board{newest: make(chan Progress, 1), gone: make(chan struct{})}
	go func() {
		defer close(b.gone)
		for p := range b.newest {
			if show != nil {
				show(p)
			}
		}
	}()
	return b
}

// put replaces what has not been shown yet. Only one goroutine calls it.
func (b *board) put(p Progress) {
	select {
	case <-b.newest:
	default:
	}
	b.newest <- p
}

// close waits until the last one is shown.
func (b *board) close() {
	close(b.newest)
	<-b.gone
}
