package simulator

import (
	"vramsoak/pipeline/allocator"
)

// An Outcome is what became of a run. Sizes are bytes, times virtual seconds.
type Outcome struct {
	Files, Failed int
	Seconds       float64
	AudioSeconds  float64 // of the files that did not fail
	// Peak has the largest of each level at any time.
	Peak Level
	// Stages have the peak of each stage over the files, in the order of the scenario.
	Stages []StagePeak
	// FirstFailure is what failed first, also where the process then recovered from it; nil where
	// nothing did.
	FirstFailure *Failure
	// FirstPressure is the first file (from 1) in which an allocation had to release cached memory
	// and try again; 0: none.
	FirstPressure int
	// PerFile are the files in order.
	PerFile []FileOutcome
	// Skipped is how often a stage was given up because memory ran out, and the file went on
	// without it.
	Skipped int
	Stats   Stats
}

// A Level is what is in use at one time.
type Level struct {
	Allocated int64 // handed out by the allocator
	Reserved  int64 // held by the allocator
	Used      int64 // of the card, with the context and what others hold
}

// AudioHoursPerHour is the throughput.
func (o *Outcome) AudioHoursPerHour() float64 {
	if o.Seconds <= 0 {
		return 0
	}
	return o.AudioSeconds / o.Seconds
}

// A StagePeak is the highest that a stage reached.
type StagePeak struct {
	Stage                     string
	Reached                   bool  // by any file, or before the first
	File                      int   // in which Allocated was reached first; 0: before the first
	Allocated, Reserved, Used int64 // the largest of each, not necessarily at one time
	// Parts are what made up Allocated, the largest first, and what was on the card beside: their
	// sum is what was in use.
	Parts []Part
}

// A Part is memory of one kind.
type Part struct {
	Kind  PartKind
	Name  string // of the model or tensor
	Bytes int64
}

// A PartKind says what memory is for.
type PartKind string

// The kinds of parts.
const (
	Weights     PartKind = "weights"
	Activations PartKind = "activations"      // of a model's passes, with what they put out
	Optimizer   PartKind = "optimizer states" // Adam's
	Tensors     PartKind = "tensors"
	Kept        PartKind = "kept"     // by a fault: it should have been freed
	Measured    PartKind = "measured" // a stage's footprint
	Cache       PartKind = "cache"    // reserved and not allocated
	Context     PartKind = "context"  // of CUDA
	Others      PartKind = "others"   // what other processes hold
)

// A Failure is an allocation that failed, or another end of the work on a file.
type Failure struct {
	File  int // from 1; 0: before the first
	Stage string
	What  string // what the allocation was for: "activations of asr"
	Of    Part   // the same, with the bytes that it had; the zero Part where the process crashed
	OOM   *allocator.OutOfMemoryError
	// Recovered says that all of the work was done all the same, with smaller batches.
	Recovered bool
	// Parts are what was on the card when the allocation failed.
	Parts []Part
	// Wants is what would have been allocated at the most in the pass that failed, or while its
	// stage was made ready, had every allocation succeeded.
	Wants int64
}

// Free is what was there in sum when the allocation failed: cached, and not yet reserved.
func (f *Failure) Free() int64 {
	return f.OOM.Reserved - f.OOM.Allocated + f.unreserved()
}

// unreserved is what the driver would still give, as far as a memory fraction allows it.
func (f *Failure) unreserved() int64 {
	unreserved := f.OOM.DeviceFree
	if f.OOM.Fraction {
		unreserved = min(unreserved, f.OOM.Allowed-f.OOM.Reserved)
	}
	return max(0, unreserved)
}

// Missing is by how much the card is too small for all that was still to come, were all that is
// free in one piece; 0: it is not.
func (f *Failure) Missing() int64 {
	return max(0, max(f.OOM.Requested, f.Wants-f.OOM.Allocated)-f.Free())
}

// LargestFree is the largest block that there was, in the cache or not yet reserved.
func (f *Failure) LargestFree() int64 { return max(f.OOM.LargestFree, f.unreserved()) }

// Fragmented says that what the allocation asked for was there in sum, and not in one piece, and
// all that was still to come in sum, too: with memory in one piece it would have fitted.
func (f *Failure) Fragmented() bool {
	return f.OOM != nil && f.Missing() == 0
}

// A FileOutcome is what became of one file.
type FileOutcome struct {
	AudioSeconds, Seconds float64
	Idle                  Level // at its end
	LargestFree           int64 // block of the cache, at its end
	Retries               int64 // allocations that released cached memory and tried again
	Failed                bool
	Skipped               int // stages that were given up
}

// Fragmentation is what the allocator held and had not handed out at the file's end.
func (f *FileOutcome) Fragmentation() int64 { return f.Idle.Reserved - f.Idle.Allocated }

// Stats are sums over all processes of a run.
type Stats struct {
	Retries, OOMs              int64
	DeviceMallocs, DeviceFrees int64
	Clears                     int64 // calls of torch.cuda.empty_cache
	Passes                     int64 // forward passes
	// Of those, not simulated one by one: they repeat what those before did.
	Repeated int64
}
