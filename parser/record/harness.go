package record

import (
	"strconv"
	"strings"
)

// A RunStart is the harness's first line of a run.
type RunStart struct {
	Header
	Files   int    // number of files in the batch; 0 where unknown
	Feed    string // how the harness gives files to the command: "process", "list" or "stdin"
	Command string // the command, for a person to read
	Version string // version of vramsoak
	Policy  string // text of the policy file that judges the run; "" for the defaults
	ID      string // an ID that all processes of the run have in their environment; "" in older logs
	// Until is the number of seconds for which the run repeats the batch, or 0 if the run ends
	// with the batch. If Until is set, Files is 0, because the number of files is not known in
	// advance.
	Until float64
	// FailFast is set if the run ends as soon as growth is certain: see [EarlyEnd].
	FailFast bool
	// Workers is the number of GPUs that the run uses at once. Each GPU has a worker and a log of
	// its own. Workers is 0 for a run without workers. GPU is the number of this log's GPU. Files
	// counts the files of all workers together.
	Workers, GPU int
	// Share is the part of the batch on which this run works. It is the zero value if the run
	// works on the whole batch. Files then counts the files of the share.
	Share
}

// A Share is one of the parts into which a batch is divided, one for each task of an array or a
// job. Each shard writes a log of its own. The logs of all shards are judged as one run.
type Share struct {
	Shard, Shards int    // number of the shard, from 1, and how many there are; 0 without shards
	Of            int    // number of files in the whole batch, in all rounds; 0 where unknown
	Batch         string // digest of the whole batch and of how it is divided; see package shard
	Run           string // name of the run, which all its shards have; "" in older logs
	Owner
}

// An Owner is the task that works on a shard. A scheduler may start a task again on another node
// while the first one still runs, so each task takes a lease.
type Owner struct {
	Lease int    // number of the lease, from 1; the task with the highest number owns the shard
	Node  string // name of the machine
}

// WorkerID returns the ID of a worker of a run, such as "4f2a-gpu1": the run's ID and the GPU.
func WorkerID(run string, gpu int) string { return run + workerMark + strconv.Itoa(gpu) }

const workerMark = "-gpu"

// RunID returns the ID of the run. In a worker's log, it removes the worker's suffix, such as
// "-gpu1", from the ID.
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
	Pipeline     bool    // the pipeline wrote the line, not the harness
	Index        int     // position in the batch, from 1; 0 where unknown
	Path         string  // the path that the harness gave to the pipeline
	AudioSeconds float64 // length of the audio; 0 where unknown
}

// A Status says how work on a file ended.
type Status string

// The statuses of a file.
const (
	StatusUnknown Status = ""        // the log does not say
	StatusOK      Status = "ok"      // finished
	StatusFailed  Status = "failed"  // the pipeline said so, or its process exited non-zero
	StatusTimeout Status = "timeout" // took longer than allowed, so the harness ended the process
	StatusCrashed Status = "crashed" // the process that worked on the file died
	StatusOOM     Status = "oom"     // out of memory
)

// A FileEnd says how work on a file ended.
type FileEnd struct {
	Header
	Pipeline bool // the pipeline wrote the line, not the harness
	Index    int  // position in the batch, from 1; 0 where unknown
	Path     string
	Status   Status
	Seconds  float64 // wall time; 0 where unknown
	Error    string  // why the pipeline failed, in its own words
}

// A Sample is a memory reading that the harness took while the pipeline was running.
type Sample struct {
	Header
	PID    int
	Lane   Lane
	Source string // whose memory Used counts: SourceProcess, SourceDevice, or "" without a GPU
	// Reading holds Used and Total of the device, if the sample is of a GPU.
	Reading
	// DeviceUsed is all memory in use on the device, in bytes. It is set only if Used is the
	// memory of the pipeline's process and the line also gives the memory in use on the device.
	// Otherwise it is 0. Others is the part of DeviceUsed that the driver assigns to other
	// processes, or 0 if the driver names no other process.
	DeviceUsed, Others int64
	// Pool names a library whose allocator took at least a quarter of the device's memory since the
	// sample before: "JAX". The library hands this memory out itself, so later samples do not show
	// what the program holds. Pool is set in that sample only.
	Pool string
	RSS  int64 // resident bytes of the process and its descendants, from /proc
	// Held is what the process and its descendants hold of the machine. A page that several of them
	// share counts once for each of them.
	Held Resources
	Run  int // the run's number, as in timeline.File; only a timeline sets it
	// Cached is the part of Used, in bytes, that the allocator certainly held as a cache (reserved
	// minus allocated). It is the smaller of the two caches at the checkpoints before and after
	// the sample, or 0 if these checkpoints do not give the size of the cache. Only a timeline
	// sets Cached.
	Cached int64
}

// UsedOnDevice returns the memory in use on the whole device, in bytes. ok is false if the line
// does not give this memory.
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
	Code   int    // exit code; -1 if a signal ended the process
	Signal string // "SIGKILL"; "" if the process exited by itself
	Reason ExitReason
	// Restarts is the number of processes that the run has replaced after a crash, including this
	// process. It is 0 if the run did not replace this process.
	Restarts int
	// Error is the error message that the process printed before it ended: "ModuleNotFoundError:
	// No module named 'whisper'". It is "" if the process ended well or printed no error message.
	Error   string
	Process int // the process's number, as in timeline.File; only a timeline sets it
}

// An Orphan is a process that the pipeline started and that went on running after the pipeline's
// process ended. The harness looks for orphan processes whenever a process has ended, and when it
// resumes a run.
type Orphan struct {
	Header
	PID     int
	Command string // its command line, shortened
	RSS     int64  // resident bytes
	Ended   bool   // true: the harness ended the orphan; false: the orphan goes on running
	// Run and Process are numbers as in timeline.File. Only a timeline sets them. If the orphan
	// was found when the run was resumed, Process is the process that was running when the
	// harness died.
	Run, Process int
}

// An ExitReason says why the harness ended a process.
type ExitReason string

// The reasons for which the harness ends a process.
const (
	ExitByItself    ExitReason = ""          // the harness did not end the process
	ExitTimeout     ExitReason = "timeout"   // the process took too long
	ExitInterrupted ExitReason = Interrupted // the run was interrupted
	ExitOveruse     ExitReason = "overuse"   // the process used more of the device than the run allows
	ExitUntil       ExitReason = "until"     // the duration of the soak, set by --until, is over
	ExitFailFast    ExitReason = FailFast    // growth was certain, and the run has --fail-fast
)

// A Resume says that the harness resumed a run that had not been completed.
type Resume struct {
	Header
	Index int   // the next file to work on, from 1; 0 if none is left
	Cut   int64 // bytes of an incomplete last line, which the harness cut off the log; else 0
	// Reason says how the earlier part of the run ended: "killed", or the reason of its [RunEnd].
	// This earlier RunEnd no longer counts.
	Reason  string
	Process int // the first process after the resume, as in timeline.File; only a timeline sets it
	// Owner is the task that resumed a shard, or the zero value in a run without shards. After is
	// the number of bytes that it took over from the log of the lease before. That log may go on,
	// if the other task still runs; the rest of it does not count.
	Owner
	After int64
}

// Interrupted is the reason of a run that was ended from outside, as by Ctrl-C. It is also the
// error of the file that the pipeline was then working on. A resumed run works on this file
// again.
const Interrupted = "interrupted"

// A RunEnd is the harness's last line of a run.
type RunEnd struct {
	Header
	Files   int     // files that the harness gave to the pipeline
	Seconds float64 // wall time of the run
	Reason  string  // "done", [FailFast], [Interrupted] or "stopped" (after a crash)
	Error   string  // why the run was stopped
}
