package record

import (
	"fmt"
)

// A Lane is one device of one process of a distributed job. Lanes are separate ledgers: nothing is
// compared across them.
type Lane struct {
	Device int // CUDA device ordinal; 0 where the log names none
	Rank   int // distributed rank; 0 where the log names none
}

// Name is "device 1", or in a log that has ranks "rank 3, device 1".
func (l Lane) Name(ranks bool) string {
	if !ranks {
		return fmt.Sprintf("device %d", l.Device)
	}
	return fmt.Sprintf("rank %d, device %d", l.Rank, l.Device)
}

// A Checkpoint is one named reading:
//
//	[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) | Reserved: 1.02GB (4.3%) | Free: 23.82GB | Total: 24.00GB
type Checkpoint struct {
	Header
	Name   string // "After Whisper Cleanup"
	Lane   Lane
	Stream string // CUDA stream, where the log names one
	// Sampled says that the reading was taken by the clock or the step, not at a place in the
	// program that has a name: it begins no file and is half of no pair.
	Sampled bool
	// Own says that Used is what the process itself has on the device. Else it is all that is in
	// use there, whoever's it is.
	Own bool
	// Graphics says that the reading is of a process that only draws: Xorg.
	Graphics bool
	// PID is the process whose memory Buffer is, in a row of the driver's table of processes; 0 for
	// other readings.
	PID int32
	Reading
}

// A Change is a difference between two levels, as the log gives it; the bytes may be negative. It
// is not a level.
//
//	Memory freed - Allocated: 1.20GB, Cached: 2.00GB
type Change struct {
	Header
	Name string // "Memory freed"
	Lane Lane
	Reading
}

// An Event is what a pipeline does about its memory, without a reading.
//
//	CLEANUP: GPU memory cleared
type Event struct {
	Header
	Kind EventKind
	Lane Lane
	Text string // the line's message, shortened to 300 bytes
	// Of an [EventFallback], Speaker is as in [OutOfMemory], and Named says that the line itself
	// names what failed.
	Speaker      string
	NamesFailure bool
}

// An EventKind is one kind of event.
type EventKind string

// The kinds of events.
const (
	EventCacheCleared EventKind = "cache-cleared" // the allocator gave its cache back
	EventCleanup      EventKind = "cleanup"       // objects were let go
	EventPeakReset    EventKind = "peak-reset"    // the peak statistics begin anew
	EventProgress     EventKind = "progress"      // so many batches or files are done
	EventFallback     EventKind = "fallback"      // a smaller batch, one by one, or without a model, after a failure
)

// A Warning is a pipeline's own word on memory pressure, or that a reading failed:
//
//	NOTICE: GPU memory usage is elevated (72.3%). Monitor for potential OOM conditions.
type Warning struct {
	Header
	Level   string  // "notice" (above 70 %), "critical" (above 85 %) or "failed" (no reading could be had)
	Percent float64 // allocated over total, 0 where Level is "failed"
	Text    string  // the line's message
}

// An OutOfMemory is an allocation that failed.
type OutOfMemory struct {
	Header
	Lane Lane
	// Requested is what was asked for, where the message gives it; see HasRequested.
	Requested    Size
	HasRequested bool
	// Reading has what the message gives of Total, Free, Allocated, Reserved, Active and Used (by
	// this process).
	Reading
	Text string // the line's message, shortened to 300 bytes
	// Speaker is what the head of the line says of the process that prints it: "rank3", "pid=4711";
	// "" where it says nothing.
	Speaker string
	// Named says that the line also tells how the pipeline goes on; Again, that it repeats an
	// error.
	NamesFallback, Repeated bool
	// Traceback is how many lines of a traceback are above the message, which ends it.
	Traceback int
	// Fallback says that the pipeline then said how it goes on with less: see [EventFallback].
	// Known only in a timeline.
	Fallback bool
	// Held is what the allocator held then, where a [SegmentMap] of the failure follows the
	// message; nil else. Known only in a timeline.
	Held *SegmentSums
}

// A Crash is the words with which a program dies, other than an [OutOfMemory]. A program that catches
// an exception may print them too.
type Crash struct {
	Header
	Lane Lane
	Text string // the message, shortened to 300 bytes; of a traceback its last line
	// Traceback is how many lines below the head of a traceback its last line is.
	Traceback int
}

// Line is that of the words: of a traceback the last one.
func (c *Crash) Line() Position {
	at := c.Pos
	at.Line += c.Traceback
	return at
}
