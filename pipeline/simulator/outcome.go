package simulator

import (
	"vramsoak/pipeline/allocator"
)

// An Outcome is the result of a run. Sizes are in bytes, times in seconds of simulated time.
type Outcome struct {
	Files, Failed int
	Seconds       float64
	AudioSeconds  float64 // of the files that did not fail
	// Peak has the highest allocated, reserved and used memory of the run.
	Peak Level
	// Stages have the highest memory of each stage over all files, in the order of the scenario.
	Stages []StagePeak
	// FirstFailure is the first allocation that failed or the first crash, even if the pipeline
	// recovered from it; nil if nothing failed.
	FirstFailure *Failure
	// FirstPressure is the first file (from 1) in which an allocation had to release cached memory
	// and try again; 0: none.
	FirstPressure int
	// PerFile has the outcome of each file, in order.
	PerFile []FileOutcome
	// Skipped counts the stages that were abandoned because memory ran out, while the file went on.
	Skipped int
	Stats   Stats
}

// A Level is the memory in use at one time.
type Level struct {
	Allocated int64 // handed out by the allocator
	Reserved  int64 // held by the allocator
	Used      int64 // on the card, with the context and other processes
}

// AudioHoursPerHour returns the throughput: the hours of audio processed per hour.
func (o *Outcome) AudioHoursPerHour() float64 {
	if o.Seconds <= 0 {
		return 0
	}
	return o.AudioSeconds / o.Seconds
}

// A StagePeak is the highest memory that a stage reached.
type StagePeak struct {
	Stage                     string
	Reached                   bool  // the stage ran, for a file or before the first
	File                      int   // the first file in which Allocated was highest; 0: before all
	Allocated, Reserved, Used int64 // the largest of each, not necessarily at one time
	// Parts make up the memory in use on the card at that time: first the parts of Allocated, largest
	// first, then the cache, the context and other processes.
	Parts []Part
}

// A Part is the memory of one use, such as the weights of a model.
type Part struct {
	Kind  PartKind
	Name  string // of the model or tensor
	Bytes int64
}

// A PartKind says what memory is used for.
type PartKind string

// The kinds of parts.
const (
	Weights     PartKind = "weights"
	Activations PartKind = "activations"      // of a model's passes, with their output
	Gradients   PartKind = "gradients"        // of a model's weights
	Optimizer   PartKind = "optimizer states" // Adam's
	Tensors     PartKind = "tensors"
	// Kept is what was kept although it should have been freed. Without a name, it was leaked.
	Kept     PartKind = "kept"
	Measured PartKind = "measured" // a stage's measured footprint
	Cache    PartKind = "cache"    // reserved and not allocated
	Context  PartKind = "context"  // the CUDA context
	Others   PartKind = "others"   // held by other processes
)

// A Failure is an allocation that failed, or a crash, in the work on a file.
type Failure struct {
	File  int // from 1; 0: before the first
	Stage string
	What  string // what the allocation was for: "activations of asr"
	Of    Part   // the same use, with its bytes at that time; zero if the process crashed
	OOM   *allocator.OutOfMemoryError
	// Recovered is true if the work was done after all, with smaller batches.
	Recovered bool
	// Parts lists all memory in use on the card when the allocation failed, by what it was used for.
	Parts []Part
	// Wants is the number of bytes that would have been allocated at the highest point of the
	// failed pass, if no allocation had failed. If the stage failed before its first pass, Wants is
	// for the first pass.
	Wants int64
}

// Free returns the bytes that were free when the allocation failed: cached, or not yet reserved.
func (f *Failure) Free() int64 {
	return f.OOM.Reserved - f.OOM.Allocated + f.unreserved()
}

// unreserved returns how many bytes the allocator could still get from the driver, within the
// memory fraction.
func (f *Failure) unreserved() int64 {
	unreserved := f.OOM.DeviceFree
	if f.OOM.Fraction {
		unreserved = min(unreserved, f.OOM.Allowed-f.OOM.Reserved)
	}
	return max(0, unreserved)
}

// Missing returns how many bytes the card lacks for the rest of the work, on the assumption that
// all free memory is in one piece. It returns 0 if the card is large enough.
func (f *Failure) Missing() int64 {
	return max(0, max(f.OOM.Requested, f.Wants-f.OOM.Allocated)-f.Free())
}

// LargestFree returns the largest free piece of memory in bytes, in the cache or not yet reserved.
func (f *Failure) LargestFree() int64 { return max(f.OOM.LargestFree, f.unreserved()) }

// Fragmented reports whether the allocation failed because of fragmentation: enough memory was free
// in total for the rest of the work, but not in one piece.
func (f *Failure) Fragmented() bool {
	return f.OOM != nil && f.Missing() == 0
}

// A FileOutcome is the result of one file.
type FileOutcome struct {
	AudioSeconds, Seconds float64
	Idle                  Level // memory at the end of the file
	LargestFree           int64 // largest free block of the cache at the end of the file
	Retries               int64 // allocations that released cached memory and tried again
	Failed                bool
	Skipped               int // stages that were abandoned
}

// Fragmentation returns the bytes at the end of the file that the allocator held but had not handed
// out.
func (f *FileOutcome) Fragmentation() int64 { return f.Idle.Reserved - f.Idle.Allocated }

// Stats are sums over all processes of a run.
type Stats struct {
	Retries, OOMs              int64
	DeviceMallocs, DeviceFrees int64
	Clears                     int64 // calls of torch.cuda.empty_cache
	Passes                     int64 // forward passes
	// Repeated counts the Passes that were not simulated, because they repeat the passes before
	// them.
	Repeated int64
}
