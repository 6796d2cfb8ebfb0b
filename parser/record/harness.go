package record

import (
	"strconv"
	"strings"
)

// A RunStart is the harness's first line of a run.
type RunStart struct {
	Header
	Files   int    // number of files in the batch; 0 where unknown
	Feed    string // how files reach the command: "process", "list" or "stdin"
	Command string // the command, for a person to read
	Version string // of vramsoak
	Policy  string // the policy file's text by which the run is judged; "" for the defaults
	ID      string // marks the run's processes, in their environment; "" in logs of older versions
	// Until is the number of seconds that the run repeats the batch for, or 0 if it ends with the
	// batch. With Until, Files is 0: nobody knows how many there will be.
	Until float64
	// Workers is the number of GPUs that the run uses at once, each with a worker and a log of its
	// own, or 0 for a run without workers. GPU is the GPU of this log. Files counts the files of all
	// workers.
	Workers, GPU int
}

// WorkerID returns the ID of the worker of a GPU in a run.
func WorkerID(run string, gpu int) string { return run + workerMark + strconv.Itoa(gpu) }

const workerMark = "-gpu"

// RunID returns the ID of the run without the suffix of a worker.
func (r RunStart) RunID() string {
	if r.Workers == 0 {
		return r.ID
	}
	return strings.TrimSuffix(r.ID, workerMark+strconv.Itoa(r.GPU))
}

// A FileStart says that work on a file begins. The harness writes one. A pipeline that names its
// files writes its own, which has no Index; see [ProtocolPrefix].
type FileStart struct {
	Header
	Pipeline     bool    // the pipeline's own line, not the harness's
	Index        int     // position in the batch, from 1; 0 where unknown
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
	Index    int  // position in the batch, from 1; 0 where unknown
	Path     string
	Status   Status
	Seconds  float64 // wall time; 0 where unknown
	Error    string  // the pipeline's reason where it failed
}

// A Sample is a measurement that the harness took of the pipeline from outside.
type Sample struct {
	Header
	PID    int
	Lane   Lane
	Source string // whose memory NVML counts in Used: SourceProcess, SourceDevice, or "" without a GPU
	// Reading holds Used and Total of the device, if there is one.
	Reading
	// DeviceUsed is all memory in use on the device, in bytes, where Used is that of the process; 0 if
	// the line does not give it. Others is the part that the driver assigns to other processes, 0 if
	// it names none.
	DeviceUsed, Others int64
	RSS                int64 // resident bytes of the process and its descendants, from /proc
	Run                int   // as in File.Run; only a timeline sets it
	// Cached is the least memory in Used that the allocator held as a cache (reserved - allocated), in
	// bytes. It is the smaller of the two caches at the checkpoints before and after the sample, or 0
	// if they do not say. Only a timeline sets it.
	Cached int64
}

// UsedOnDevice returns the memory in use on the whole device, in bytes. ok is false if the line
// does not give it.
func (s *Sample) UsedOnDevice() (bytes int64, ok bool) {
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
