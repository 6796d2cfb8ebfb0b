package record

import (
	"fmt"
)

// A Lane is one device of one process of a distributed job, for example device 1 of rank 3.
// Readings of different lanes are never compared.
type Lane struct {
	Device int // CUDA device ordinal; 0 if the log names none
	Rank   int // distributed rank; 0 if the log names none
}

// Name returns "rank 3, device 1" if ranks is set, else "device 1". Callers set ranks if the log
// has ranks.
func (l Lane) Name(ranks bool) string {
	if !ranks {
		return fmt.Sprintf("device %d", l.Device)
	}
	return fmt.Sprintf("rank %d, device %d", l.Rank, l.Device)
}

// A Checkpoint is one memory reading with a name:
//
//	[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) |
//	    Reserved: 1.02GB (4.3%) | Free: 23.82GB | Total: 24.00GB
type Checkpoint struct {
	Header
	Name   string // "After Whisper Cleanup"
	Lane   Lane
	Stream string // CUDA stream; "" if the log names none
	// Sampled is set if a timer or a step counter caused the reading, not a fixed point in the
	// program. A sampled reading does not begin a file, and it does not begin or end a stage or a
	// cleanup.
	Sampled bool
	// Own is set if Used is the memory of the program's own process. Otherwise Used is all memory in
	// use on the device, by any process.
	Own bool
	// Graphics is set if the reading is of a process that only draws on a screen, such as Xorg.
	Graphics bool
	// PID is the number of the process that holds the memory in Buffer. Only rows of the driver's
	// table of processes set PID; in other readings it is 0.
	PID int32
	Reading
}

// A Change is the difference between two readings, as the log prints it. Its bytes may be
// negative:
//
//	Memory freed - Allocated: 1.20GB, Cached: 2.00GB
//	Memory recovered: 7.05GB (97%)
type Change struct {
	Header
	Name string // "Memory freed"
	Lane Lane
	Reading
	// Percent is the share that the program says it freed, in percent. PercentStep is one unit of its
	// last printed digit: 1 for "97%", 0.1 for "97.5%". It is 0 if the line prints no share.
	Percent, PercentStep float64
}

// These are the names of a [Change] with which a program says what a cleanup freed.
const (
	MemoryRecovered = "Memory recovered"
	MemoryFreed     = "Memory freed"
)

// An Event is a line in which a pipeline says what it did, or what it goes on to do. The line is no
// reading of memory:
//
//	CLEANUP: GPU memory cleared
//	Progress: 10/32 batches (160 embeddings extracted)
type Event struct {
	Header
	Kind EventKind
	Lane Lane
	Text string // the line's message, shortened to 300 bytes
	Figures
	// Lost names what the file goes on without: "diarization". It is "" if the line does not say that
	// a part of the work is left out.
	Lost string
	// File is the file that the line names, or "".
	File string
	// Speaker names the process that printed the line, as in [OutOfMemory]. It is set only if Kind
	// is [EventFallback].
	Speaker string
	// NamesFailure is set if Kind is [EventFallback] and the line also names the failure.
	NamesFailure bool
}

// Figures are the numbers of an event. A number that the line does not give is 0.
type Figures struct {
	Done, Of int64 // batches or segments that are done, and all of them: 10 of 32
	Items    int64 // embeddings that were extracted: 160
	// Seconds is the time that the items took. If Kind is [EventAudio], it is the audio's length.
	Seconds float64
	Rate    float64 // items a second, as printed
	Freed   Size    // what the driver got back
}

// PerSecond returns the items a second: from the items and their time, or else as printed. It
// returns 0 if the line gives neither.
func (f *Figures) PerSecond() float64 {
	if f.Items > 0 && f.Seconds > 0 {
		return float64(f.Items) / f.Seconds
	}
	return f.Rate
}

// An EventKind is one kind of event.
type EventKind string

// The kinds of events.
const (
	EventCacheCleared EventKind = "cache-cleared" // the allocator gave its cache back to the driver
	EventCleanup      EventKind = "cleanup"       // the pipeline released objects
	EventPeakReset    EventKind = "peak-reset"    // the pipeline reset the peak statistics
	EventProgress     EventKind = "progress"      // the pipeline said that batches or files are done
	EventExtracted    EventKind = "extracted"     // the pipeline extracted embeddings
	EventAudio        EventKind = "audio"         // the pipeline said how long a file's audio is
	EventFallback     EventKind = "fallback"      // after a failure, the pipeline uses less memory
	EventSkipped      EventKind = "skipped"       // the pipeline left out a stage and did not say why
	EventSuggestion   EventKind = "suggestion"    // the pipeline suggested smaller settings
)

// A Warning is a line in which the pipeline warns of memory pressure, or says that a reading
// failed:
//
//	NOTICE: GPU memory usage is elevated (72.3%). Monitor for potential OOM conditions.
type Warning struct {
	Header
	// Level is "notice" (above 70 %, or something that is left out), "critical" (above 85 %) or
	// "failed" (no reading).
	Level   string
	Percent float64 // allocated over total; 0 if the line does not give it
	Text    string  // the line's message
}

// An OutOfMemory is an allocation that failed.
type OutOfMemory struct {
	Header
	Lane Lane
	// Requested is the size of the failed request. It is valid only if HasRequested is set.
	Requested    Size
	HasRequested bool
	// Allowed is the most that the program's allocator may reserve, if the program limits it:
	// torch.cuda.set_per_process_memory_fraction. 0 bytes means that the message gives no limit.
	Allowed Size
	// Reading holds the quantities that the message gives. They may be Total, Free, Allocated,
	// Reserved, Active and Used. Here Used is the memory of this process.
	Reading
	Text string // the line's message, shortened to 300 bytes
	// Stage is the work that failed, if the line names it: "GAN config". Else it is "".
	Stage string
	// Batch is the batch size that did not fit, if the line or a line near it gives it. Else it is 0.
	Batch int
	// Speaker names the process that printed the message, as the beginning of the line gives it:
	// "rank3", "pid=4711". It is "" if the line names no process.
	Speaker string
	// NamesFallback is set if the line with this message also says how the pipeline goes on.
	// Repeated is set if the line says that it repeats an earlier error.
	NamesFallback, Repeated bool
	// Caught is set if the line says that a batch failed, and not how the program goes on. The part of
	// the program that gets the error says it in a later line:
	//
	//	❌ Batch processing failed: CUDA error: out of memory
	//	⚠️  CUDA OOM during voice enrollment, using fallback fast-path
	Caught bool
	// Traceback is the number of lines from the first line of a Python traceback down to this
	// message, or 0 if the message ends no traceback.
	Traceback int
	// Fallback is set if the pipeline said how it goes on with less memory, in the line of this
	// message or in a later line; see [EventFallback]. Only a timeline sets Fallback.
	Fallback bool
	// Held holds the sums of the memory that the allocator held when the allocation failed. They
	// come from a [SegmentMap] near the message. Held is nil if the log has no such map. Only a
	// timeline sets Held.
	Held *SegmentSums
}

// A Crash is the message with which a program dies, unless the message is an [OutOfMemory]. A
// program that catches an exception may print the same message and go on.
type Crash struct {
	Header
	Lane Lane
	Text string // the message, shortened to 300 bytes; the last line of a traceback
	// Traceback is the number of lines from the traceback's first line down to its last line.
	Traceback int
}

// Line returns the position of the message's line. For a traceback this is the last line.
func (c *Crash) Line() Position {
	at := c.Pos
	at.Line += c.Traceback
	return at
}
