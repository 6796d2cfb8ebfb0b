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
	ID      string // marks the run's processes in their environment; "" in older logs
	// Until is the number of seconds for which the run repeats the batch, or 0 if the run ends with
	// the batch. If Until is set, Files is 0, because nobody knows how many files there will be.
	Until float64
	// Workers is the number of GPUs that the run uses at once. Each GPU has a worker and a log of its
	// own. Workers is 0 for a run without workers. GPU is the GPU of this log. Files counts the files
	// of all workers.
	Workers, GPU int
}

// WorkerID returns the ID of a worker: the run's ID and the GPU, such as "4f2a-gpu1".
func WorkerID(run string, gpu int) string { return run + workerMark + strconv.Itoa(gpu) }

const workerMark = "-gpu"

// RunID returns the ID of the run, without the "-gpu1" of a worker.
func (r RunStart) RunID() string {
	if r.Workers == 0 {
		return r.ID
	}
	return strings.TrimSuffix(r.ID, workerMark+strconv.Itoa(r.GPU))
}

// A FileStart says that work on a file begins. The harness writes this line. A pipeline that names
// its files writes such a line too, without an Index; see [ProtocolPrefix].
type FileStart struct {
	Header
	Pipeline     bool    // the pipeline's own line, not the harness's
	Index        int     // position in the batch, from 1; 0 where unknown
	Path         string  // the path that the harness gave to the pipeline
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
	StatusCrashed Status = "crashed" // the process that worked on it died
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

// A Sample is a memory reading that the harness took while the pipeline was running.
type Sample struct {
	Header
	PID    int
	Lane   Lane
	Source string // whose memory NVML counts in Used: SourceProcess, SourceDevice, or "" without a GPU
	// Reading holds Used and Total of the device, if there is one.
	Reading
	// DeviceUsed is all memory in use on the device, in bytes. It is set if Used is only the process's
	// memory and the line gives both; otherwise it is 0. Others is the part of DeviceUsed that the
	// driver assigns to other processes, or 0 if the driver names no other process.
	DeviceUsed, Others int64
	RSS                int64 // resident bytes of the process and its descendants, from /proc
	Run                int   // as in timeline.File; only a timeline sets it
	// Cached is the least memory in Used, in bytes, that the allocator held as a cache (reserved minus
	// allocated). It is the smaller of the two caches at the checkpoints before and after the sample,
	// or 0 if these checkpoints do not give their caches. Only a timeline sets it.
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

// The values of [Sample.Source]. They say whose memory a sample's Used is.
const (
	SourceProcess = "process" // Used is the memory of the process and its descendants
	SourceDevice  = "device"  // Used is all memory in use on the device, by any process
)

// An Exit says that a pipeline process ended.
type Exit struct {
	Header
	PID    int
	Code   int    // exit code; -1 where a signal ended it
	Signal string // "SIGKILL"; "" where it exited by itself
	Reason ExitReason
	// Restarts is the number of processes that the run has replaced after a crash, including this
	// process. It is 0 if no new process replaced this one.
	Restarts int
	// Error is the reason that the process printed for its end: "ModuleNotFoundError: No module named
	// 'whisper'". It is "" if the process ended well or printed no reason.
	Error   string
	Process int // as in timeline.File; only a timeline sets it
}

// An Orphan is a process that outlived the process that the harness started. The harness looks for
// orphan processes whenever a process has ended, and when it resumes a run.
type Orphan struct {
	Header
	PID     int
	Command string // its command line, shortened
	RSS     int64  // resident bytes
	Ended   bool   // the harness ended it; else it runs on
	// Run and Process are as in timeline.File. Only a timeline sets them. If the orphan was found when
	// the run was resumed, Process is the process that was running when the harness died.
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
	ExitUntil       ExitReason = "until"     // the time for which the run should soak is over
)

// A Resume says that the harness resumed a run that had not come to its end.
type Resume struct {
	Header
	Index int   // the next file to work on, from 1; 0 if none is left
	Cut   int64 // bytes of a torn last line that were cut off the log
	// Reason says how the earlier part of the run ended: "killed", or the reason of its [RunEnd]. That
	// RunEnd no longer counts.
	Reason  string
	Process int // the first process after the resume, as in timeline.File; only a timeline sets it
}

// Interrupted is the reason of a run that was ended from outside, as by Ctrl-C. It is also the
// error of the file that was being worked on. A resumed run works on this file again.
const Interrupted = "interrupted"

// A RunEnd is the harness's last line of a run.
type RunEnd struct {
	Header
	Files   int     // files that were fed
	Seconds float64 // wall time of the run
	Reason  string  // "done", [Interrupted] or "stopped" (after a crash)
	Error   string  // why it was stopped
}
