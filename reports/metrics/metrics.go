// Package metrics names the metrics that vramsoak gives to Prometheus. The live metrics of a soak
// and the OpenMetrics files of an export use the same names, so that one dashboard shows both.
//
// The names follow Prometheus's conventions: they have the prefix vramsoak_, base units (bytes,
// seconds), and the suffix _total if the value only grows. docs/reference/metrics.md lists them.
package metrics

// A Kind says how the value of a metric changes.
type Kind string

// The kinds of metrics, as in OpenMetrics.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter" // only grows, except when the process starts again
	Info    Kind = "info"    // always 1; the labels have the information
)

// A Metric is a metric family: one name for several series, which differ in their labels.
type Metric struct {
	// Name is the full name of the series. In OpenMetrics, the name of the family lacks the suffix
	// _total or _info.
	Name string
	Kind Kind
	Unit string // "bytes", "seconds" or ""
	Help string // one sentence
	// Labels are the names of the labels. A label whose value is empty is left out.
	Labels []string
}

// Labels. The values of LabelLedger are the keys in [Ledgers].
const (
	LabelLog    = "log" // the name of the log, in exports only
	LabelLedger = "ledger"
	LabelDevice = "device" // CUDA device ordinal; on several GPUs, the driver's number
	LabelRank   = "rank"   // distributed rank
	LabelSource = "source" // where a reading is from: see [Sources]
	LabelStatus = "status" // how a file ended: ok, failed, timeout, crashed, oom
	LabelState  = "state"  // what a soak does: see [States]
)

var (
	lane       = []string{LabelLedger, LabelDevice, LabelRank}
	sourceLane = []string{LabelSource, LabelLedger, LabelDevice, LabelRank}
)

// The metrics of memory and of the machine.
var (
	Memory = Metric{
		Name: "vramsoak_memory_bytes", Kind: Gauge, Unit: "bytes",
		Help:   "Memory of a device, by ledger.",
		Labels: sourceLane,
	}
	HighWater = Metric{
		Name: "vramsoak_memory_high_water_bytes", Kind: Gauge, Unit: "bytes",
		Help:   "Largest reading of the run so far, by ledger.",
		Labels: sourceLane,
	}
	FileEnd = Metric{
		Name: "vramsoak_file_end_memory_bytes", Kind: Gauge, Unit: "bytes",
		Help:   "Memory at the last checkpoint of the last file that ended well. A leak makes it grow.",
		Labels: lane,
	}
	DeviceSize = Metric{
		Name: "vramsoak_device_size_bytes", Kind: Gauge, Unit: "bytes",
		Help:   "Memory of the whole device.",
		Labels: []string{LabelDevice, LabelRank},
	}
	HostMemory = ofProcesses("vramsoak_host_memory_bytes", "bytes",
		"Anonymous and shared memory of the pipeline's processes.")
	SharedMemory = ofProcesses("vramsoak_shared_memory_bytes", "bytes",
		"Memory that the pipeline's processes hold in /dev/shm.")
	OpenFiles = ofProcesses("vramsoak_open_file_descriptors", "",
		"File descriptors that the pipeline's processes have open.")
	Threads   = ofProcesses("vramsoak_threads", "", "Threads of the pipeline's processes.")
	Processes = ofProcesses("vramsoak_processes", "", "Processes of the pipeline.")
)

// ofProcesses returns the metric of what the pipeline's processes hold of the machine.
func ofProcesses(name, unit, help string) Metric {
	return Metric{
		Name: name, Kind: Gauge, Unit: unit, Help: help, Labels: []string{LabelSource},
	}
}

// The metrics of files and processes.
var (
	FilesDone = Metric{
		Name: "vramsoak_files_total", Kind: Counter,
		Help:   "Files that ended, by status.",
		Labels: []string{LabelStatus},
	}
	FileSeconds = Metric{
		Name: "vramsoak_file_seconds", Kind: Gauge, Unit: "seconds",
		Help: "Wall time of the last file that ended.",
	}
	OutOfMemory = Metric{
		Name: "vramsoak_out_of_memory_total", Kind: Counter,
		Help: "Failed allocations.",
	}
	Restarts = Metric{
		Name: "vramsoak_restarts_total", Kind: Counter,
		Help: "Processes that were replaced after a crash.",
	}
)

// The metrics that only a running soak has.
var (
	BatchFiles = Metric{
		Name: "vramsoak_batch_files", Kind: Gauge,
		Help: "Files of the batch. Missing if their number is not known.",
	}
	Done = Metric{
		Name: "vramsoak_files_done", Kind: Gauge,
		Help: "Files of the batch that have ended. A file that is tried again counts once.",
	}
	Failed = Metric{
		Name: "vramsoak_files_failed", Kind: Gauge,
		Help: "Files of the batch that have ended with a status other than ok.",
	}
	Elapsed = Metric{
		Name: "vramsoak_elapsed_seconds", Kind: Gauge, Unit: "seconds",
		Help: "Time since the run began.",
	}
	Left = Metric{
		Name: "vramsoak_left_seconds", Kind: Gauge, Unit: "seconds",
		Help: "Estimated time for the remaining files. Missing while there is no estimate.",
	}
	State = Metric{
		Name: "vramsoak_state", Kind: Gauge,
		Help:   "1 for the state that the run is in, 0 for the others.",
		Labels: []string{LabelState},
	}
	BuildInfo = Metric{
		Name: "vramsoak_build_info", Kind: Info,
		Help:   "The version of vramsoak, and of Go.",
		Labels: []string{"version", "goversion"},
	}
)

// LogInfo says from which log an export was made.
var LogInfo = Metric{
	Name: "vramsoak_log_info", Kind: Info,
	Help:   "How the log gives its times: with a date, or not at all.",
	Labels: []string{"times"},
}

// All lists all metrics, in the order of an export.
var All = []*Metric{
	&Memory, &HighWater, &FileEnd, &DeviceSize,
	&HostMemory, &SharedMemory, &OpenFiles, &Threads, &Processes,
	&FilesDone, &FileSeconds, &OutOfMemory, &Restarts,
	&BatchFiles, &Done, &Failed, &Elapsed, &Left, &State, &BuildInfo, &LogInfo,
}

// The values of [LabelSource].
const (
	Checkpoint = "checkpoint" // the pipeline printed it
	Sample     = "sample"     // vramsoak sampled it while the pipeline was running
	AtFileEnd  = "file_end"   // vramsoak measured it when a file had ended
)

// The values of [LabelState].
const (
	Starting = "starting" // no file has begun
	Working  = "working"  // a file is being worked on
	Between  = "between"  // between two files
	Ended    = "ended"    // the run is over
)

// States lists the states of a soak.
var States = []string{Starting, Working, Between, Ended}
