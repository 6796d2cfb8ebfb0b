package record

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// A Position is a line of a log. Line counts from 1, by '\n'; Path is the name given to [parser.Read].
type Position struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.Path, p.Line) }

// A Record is one thing that a log says: a [Checkpoint], [Change], [Event], [Warning],
// [OutOfMemory], [Crash], [RunStart], [FileStart], [FileEnd], [Sample], [Exit], [Orphan], [Idle],
// [Holder], [Resume], [RunEnd], [Quoted], [SegmentMap] or [SyntaxError]. They are values: a record
// may be kept.
type Record interface {
	// At is the line that the record was read from.
	At() Position
	// When is the time that the line gives, or the zero time where it gives none.
	When() time.Time
	// Head returns what every record has.
	Head() Header
	// Moved returns the record with its line so many lines further on.
	Moved(lines int) Record
}

// Header is what every record has: where it stands and what time it gives.
type Header struct {
	Pos  Position
	Time time.Time
	// Local says that the line gave a time without a zone; Time then holds its digits as if they
	// were UTC.
	Local bool
	// Dateless says that the line gave a time of day alone; Time then is on January 1 of the year 0. Yearless says that it
	// gave no year; Time then is in the year 0. [parser.Build] counts the days or years from there on.
	Dateless, Yearless bool
	// Dialect is the one that the line is written in: "transcription".
	Dialect string
}

// FormatTime is the time as the line gives it, to the millisecond: RFC 3339, without a zone where
// the line has none, "--11-20T02:00:03.123" (ISO 8601:2000) without a year, "02:00:03.123" without
// a date; "" where it gives no time.
func (h Header) FormatTime() string {
	if h.Time.IsZero() {
		return ""
	}
	layout := TimeLayout
	switch {
	case h.Dateless:
		layout = TimeLayout[len("2006-01-02T"):]
	case h.Yearless:
		layout = "--" + TimeLayout[len("2006-"):]
	}
	if h.Local {
		layout = strings.TrimSuffix(layout, "Z07:00")
	}
	return h.Time.Format(layout)
}

// At implements [Record].
func (h Header) At() Position { return h.Pos }

// When implements [Record].
func (h Header) When() time.Time { return h.Time }

// Head implements [Record].
func (h Header) Head() Header { return h }

// A Quantity names one kind of memory reading.
type Quantity uint8

// The Quantities, in PyTorch's words (torch.cuda.memory_stats).
const (
	Allocated     Quantity = iota // bytes handed out by the allocator
	Reserved                      // bytes the allocator holds from the driver ("cached" in older logs)
	Total                         // bytes of the device
	Free                          // bytes left: total minus allocated in the transcription pipelines, by the driver elsewhere
	Peak                          // largest allocated since the last reset
	PeakReserved                  // largest reserved since the last reset
	Active                        // allocated, plus blocks waiting for a stream
	InactiveSplit                 // free pieces of blocks that are partly in use
	Used                          // bytes in use according to the driver (NVML)
	Holds                         // bytes that the coming cleanup should free
	Buffer                        // bytes of one buffer or model: a part of what is allocated, not a level
	Quantities
)

var QuantityKeys = [Quantities]string{
	"allocated", "reserved", "total", "free", "peak", "peak_reserved", "active", "inactive_split", "used", "holds", "buffer",
}

// String is the quantity's key in our lines: "inactive_split".
func (q Quantity) String() string { return QuantityKeys[q] }

// QuantityByKey maps a key of our tail to its quantity.
var QuantityByKey = func() map[string]Quantity {
	m := make(map[string]Quantity, Quantities)
	for q := range Quantities {
		m[q.String()] = q
	}
	return m
}()

// ParseQuantity is the quantity of a key.
func ParseQuantity(key string) (Quantity, error) {
	if q, ok := QuantityByKey[key]; ok {
		return q, nil
	}
	return 0, fmt.Errorf("expected a quantity (%s), found %q", strings.Join(QuantityKeys[:], ", "), key)
}

// A Reading is the quantities that one line gives. The zero value has none. Lines give four mostly,
// so that not every quantity has a place of its own.
type Reading struct {
	// places has four bits a quantity: its place, from 1, in sizes and then in more; 0 where the
	// line does not give it. The four highest are the number of places that are taken.
	places uint64
	sizes  [readingSizes]Size
	more   *[Quantities - readingSizes]Size // not to be written to: copies share it
}

const readingSizes = 5

const _ = 15 - Quantities // a place has four bits

// place is a quantity's, from 1, 0 where it has none.
func (r *Reading) place(q Quantity) uint64 { return r.places >> (4 * q) & 15 }

// Get returns a quantity and whether the line gave it.
func (r *Reading) Get(q Quantity) (Size, bool) {
	place := r.place(q)
	if i := place - 1; i < readingSizes {
		return r.sizes[i], true
	}
	if place == 0 {
		return Size{}, false
	}
	return r.more[place-1-readingSizes], true
}

// Cache returns what the allocator reserved and did not hand out. ok is false for a reading without
// both.
func (r *Reading) Cache() (s Size, ok bool) {
	allocated, ok := r.Get(Allocated)
	reserved, hasReserved := r.Get(Reserved)
	if !ok || !hasReserved {
		return Size{}, false
	}
	if reserved.Bytes < allocated.Bytes {
		return Size{}, true
	}
	return Size{
		Bytes: reserved.Bytes - allocated.Bytes, Resolution: reserved.Resolution + allocated.Resolution,
	}, true
}

// Has reports whether the line gave a quantity.
func (r *Reading) Has(q Quantity) bool { return r.place(q) != 0 }

// Bytes returns a quantity's bytes, 0 where the line does not give it.
func (r *Reading) Bytes(q Quantity) int64 {
	s, _ := r.Get(q)
	return s.Bytes
}

// Set gives a quantity a value.
func (r *Reading) Set(q Quantity, s Size) {
	place := r.place(q)
	if place == 0 {
		place = r.places>>60 + 1
		r.places += 1<<60 | place<<(4*q)
	}
	if place <= readingSizes {
		r.sizes[place-1] = s
		return
	}
	var more [Quantities - readingSizes]Size
	if r.more != nil {
		more = *r.more
	}
	more[place-1-readingSizes] = s
	r.more = &more
}

// SameSizes says whether two readings give the same. They are not to be compared with ==, which
// looks at where the quantities are kept too.
func (r *Reading) SameSizes(other *Reading) bool {
	if r.Len() != other.Len() {
		return false
	}
	for q, s := range r.All() {
		if o, ok := other.Get(q); !ok || o != s {
			return false
		}
	}
	return true
}

// Len is the number of quantities that the line gave.
func (r *Reading) Len() int { return int(r.places >> 60) }

// All ranges over the quantities that the line gave, in the order of their constants.
func (r *Reading) All() iter.Seq2[Quantity, Size] {
	return func(yield func(Quantity, Size) bool) {
		for q := range Quantities {
			if s, ok := r.Get(q); ok && !yield(q, s) {
				return
			}
		}
	}
}

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
	Speaker string
	Named   bool
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
	Named, Again bool
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

// A RunStart is the harness's first line of a run.
type RunStart struct {
	Header
	Files   int    // number of files in the batch; 0 where unknown
	Feed    string // how files reach the command: "process", "list" or "stdin"
	Command string // the command, for a person to read
	Version string // of vramsoak
	Policy  string // the policy file's text by which the run is judged; "" for the defaults
	ID      string // marks the run's processes, in their environment; "" in logs of older versions
	// Until is how many seconds the run is to soak, with the batch over and over; 0 where it ends
	// with the batch. Files is then 0: how many there will be is not known.
	Until float64
	// Workers is on how many GPUs the run works at once, 0 where it does not say: a log then is of
	// one of them, of the GPU of this number, and Files counts those of all.
	Workers, GPU int
}

// WorkerID is the ID of the worker of a GPU, in a run of this id.
func WorkerID(run string, gpu int) string { return run + workerMark + strconv.Itoa(gpu) }

const workerMark = "-gpu"

// RunID is the id of the run: what the IDs of its workers share.
func (r RunStart) RunID() string {
	if r.Workers == 0 {
		return r.ID
	}
	return strings.TrimSuffix(r.ID, workerMark+strconv.Itoa(r.GPU))
}

// A FileStart says that work on a file begins. The harness writes one; a pipeline that names its
// files writes one of its own (see [ProtocolPrefix]), which has no Index.
type FileStart struct {
	Header
	Pipeline     bool    // the pipeline's own line, not the harness's
	Index        int     // place in the batch, from 1; 0 where unknown
	Path         string  // as fed
	AudioSeconds float64 // length of the audio; 0 where unknown
}

// A Status is how a file ended.
type Status string

// The statuses of a file.
const (
	StatusUnknown Status = ""        // the log does not say
	StatusOK      Status = "ok"      // finished
	StatusFailed  Status = "failed"  // the pipeline said so, or its process exited non-zero
	StatusTimeout Status = "timeout" // took longer than allowed and was ended
	StatusCrashed Status = "crashed" // its process died
	StatusOOM     Status = "oom"     // out of memory
)

// A FileEnd says how work on a file ended.
type FileEnd struct {
	Header
	Pipeline bool // the pipeline's own line, not the harness's
	Index    int  // place in the batch, from 1; 0 where unknown
	Path     string
	Status   Status
	Seconds  float64 // wall time; 0 where unknown
	Error    string  // the pipeline's reason where it failed
}

// A Sample is the harness's look at the pipeline from outside.
type Sample struct {
	Header
	PID    int
	Lane   Lane
	Source string // whose memory Used is, by NVML: SourceProcess or SourceDevice; "" without a GPU
	// Reading has Used and Total of the device where there is one.
	Reading
	// DeviceUsed is everything in use on the device, in bytes, where Used is the process's; 0 where
	// the line does not give it. Others is what the driver says of it is other processes', 0 where
	// it names none.
	DeviceUsed, Others int64
	RSS                int64 // resident bytes of the process and its descendants, from /proc
	Run                int   // as in File.Run; known only in a timeline
	// Cached is how much of Used the allocator held as a cache at least (reserved - allocated), in
	// bytes: by the checkpoints before and after the sample, the smaller one. 0 where they do not
	// tell. Known only in a timeline.
	Cached int64
}

// OfDevice is what is in use on the whole device, in bytes, and whether the line gives it.
func (s *Sample) OfDevice() (int64, bool) {
	used, ok := s.Get(Used)
	if ok && s.Source == SourceDevice {
		return used.Bytes, true
	}
	return s.DeviceUsed, s.DeviceUsed > 0
}

// Whose memory a [Sample]'s Used is.
const (
	SourceProcess = "process" // that of the process and its descendants
	SourceDevice  = "device"  // all of the device's: the driver does not tell processes apart
)

// An Exit is the end of a pipeline process.
type Exit struct {
	Header
	PID    int
	Code   int    // exit code; -1 where a signal ended it
	Signal string // "SIGKILL"; "" where it exited by itself
	Reason ExitReason
	// Restarts is how often a crash has made a new process necessary in the run, this one's
	// counted; 0 where this one does not.
	Restarts int
	// Error is what the process printed on why it ended: "ModuleNotFoundError: No module named
	// 'whisper'". It is "" where the process ended well, or did not say.
	Error   string
	Process int // as in File.Process; known only in a timeline
}

// An Orphan is a process that the pipeline left behind: it outlived the process that the harness
// had started, or was still there when a later harness took the run up again.
type Orphan struct {
	Header
	PID     int
	Command string // its command line, shortened
	RSS     int64  // resident bytes
	Ended   bool   // the harness ended it; else it runs on
	// Run and Process are as in File; known only in a timeline. What was found when the run was
	// taken up again is of a process whose end nobody saw.
	Run, Process int
}

// An ExitReason says why the harness ended a process.
type ExitReason string

// The reasons for which the harness ends a process.
const (
	ExitByItself    ExitReason = ""          // the harness did not end it
	ExitTimeout     ExitReason = "timeout"   // it took too long
	ExitInterrupted ExitReason = Interrupted // the run was interrupted
	ExitOveruse     ExitReason = "overuse"   // it used more of the device than the run allows
	ExitUntil       ExitReason = "until"     // the time that the run was to soak is over
)

// A Resume is the harness taking a run up again that did not come to its end.
type Resume struct {
	Header
	Index int   // first file of the part that follows, from 1; 0 where none is left
	Cut   int64 // bytes that were cut off the log: its torn end
	// Reason is how the part before ended: "killed", or the reason of its [RunEnd], which no longer
	// counts.
	Reason  string
	Process int // the first that follows, as in File.Process; known only in a timeline
}

// Interrupted is the reason of a run's end that came from outside, and the error of the file that
// its process was taken from: a run that is resumed does it again.
const Interrupted = "interrupted"

// A RunEnd is the harness's last line of a run.
type RunEnd struct {
	Header
	Files   int     // files that were fed
	Seconds float64 // wall time of the run
	Reason  string  // "done", [Interrupted] or "stopped" (after a crash)
	Error   string  // why it was stopped
}

// A SyntaxError is a line that looks like a record and cannot be read as one. It is a record:
// reading goes on after it.
type SyntaxError struct {
	Header
	Expected string // what should stand there
	Found    string // what stands there, shortened
	Advice   string // what to do about it; may be empty
}

// Error is "path:line: expected X, found "Y"; advice".
func (e SyntaxError) Error() string {
	s := fmt.Sprintf("%s: expected %s, found %q", e.Pos, e.Expected, e.Found)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// TornAdvice is for a record that was cut, or that another writer wrote into.
const TornAdvice = "what cannot be read is left out; if two writers share the log, give each its own or write whole lines"

// Line is that of the words: of a traceback the last one.
func (c *Crash) Line() Position {
	at := c.Pos
	at.Line += c.Traceback
	return at
}
