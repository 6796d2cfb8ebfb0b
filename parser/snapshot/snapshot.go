package snapshot

import (
	"vramsoak/parser/record"
)

// A Snapshot is the content of a file: the state of all devices' allocators at one time, and the
// events that led to this state.
type Snapshot struct {
	Devices []Device // the devices that hold memory or have events, in the order of their index
	// Annotations are the beginnings and ends of named parts of the program, ordered by device
	// and time. The program records them with torch.profiler.record_function; optimizers record
	// them by themselves.
	Annotations []Annotation
	// Notes name what the file holds and this package leaves out: keys and events that it does not
	// know, pinned host memory, and numbers that cannot be right. Each is a sentence for people.
	Notes []string
}

// A Device is the state and the history of one device's allocator.
type Device struct {
	Index    int
	Segments []Segment // in the order of their addresses
	Settings *Settings // settings of the allocator; nil in old files
	// Events are the last events that PyTorch recorded, the oldest first. They are all events
	// since the recording began, unless there were more than max_entries. Without a recording,
	// Events has at most one element.
	Events []Event
	sites  sites // a cache that all devices of a snapshot share
}

// A Segment is memory that the allocator holds from the driver.
type Segment struct {
	Address   uint64
	Size      int64 // bytes
	Allocated int64 // bytes of blocks that the program holds
	Active    int64 // bytes of blocks that the program holds or that another stream still uses
	Requested int64 // bytes that the program requested for the active blocks
	Stream    uint64
	Small     bool // in the pool for blocks of at most 1 MiB
	// Expandable is set if the segment can grow and shrink at its end. The Segment is then one
	// part of it that is mapped without a gap.
	Expandable bool
	// Pool is the id of a private pool (of a CUDA graph, of torch.cuda.MemPool), or 0, 0 for the
	// common pool.
	Pool   [2]int64
	Stack  *Stack  // the call stack of the allocation; nil if this was not recorded
	Blocks []Block // without gaps, from the segment's address on
}

// A Block is a part of a segment.
type Block struct {
	Address   uint64
	Size      int64 // bytes
	Requested int64 // bytes of the last request for the block; 0 if unknown
	State     record.BlockState
	Stack     *Stack // the call stack of the allocation; nil if this was not recorded
}

// An Action is the kind of an event.
type Action uint8

// The actions of a trace, in the order of PyTorch's TraceEntry.
const (
	Alloc         Action = iota // the program got a block; Size is the requested size
	FreeRequested               // the program freed the block
	FreeCompleted               // no stream uses the block any more: the allocator may reuse it
	SegmentAlloc                // cudaMalloc
	SegmentFree                 // cudaFree
	SegmentMap                  // an expandable segment grew
	SegmentUnmap
	SnapshotTaken // Size is the active memory
	OOM           // Size is the rounded request; DeviceFree is the driver's free memory
)

var actions = map[string]Action{
	"alloc": Alloc, "free_requested": FreeRequested, "free_completed": FreeCompleted,
	"segment_alloc": SegmentAlloc,
	"segment_free":  SegmentFree, "segment_map": SegmentMap, "segment_unmap": SegmentUnmap,
	"snapshot": SnapshotTaken, "oom": OOM,
}

// An Event is one entry of a trace.
type Event struct {
	Action     Action
	Address    uint64 // 0 for OOM
	Size       int64  // bytes
	DeviceFree int64  // bytes; only for OOM
	Stream     uint64
	Micros     int64 // microseconds since 1970; 0 if the time was not recorded
	// Pool is the pool of the block or segment, see [Segment]. It is nil in files of older versions
	// of PyTorch, which do not give it.
	Pool  *[2]int64
	Stack *Stack // nil if the stack was not recorded
}

// A Stack is a call stack, innermost frame first. Blocks and events with the same stack point to
// the same Stack.
type Stack struct{ Frames []*Frame }

// A Frame is one line of a call stack. For C++, PyTorch often records no file ("??") and no line.
type Frame struct {
	Function, File string
	Line           int // 0 if it is unknown
}

// Settings are the settings of an allocator.
type Settings struct {
	Conf string // the text of PYTORCH_CUDA_ALLOC_CONF
	// RoundupPower2Divisions holds the setting roundup_power2_divisions for 16 ranges of sizes:
	// below 2 MiB, below 4, 8 ... 32768 MiB, and larger. 0 means that sizes are rounded up to 512
	// bytes.
	RoundupPower2Divisions [16]int64
}

// An Annotation is the beginning or the end of a named part of the program.
type Annotation struct {
	Name   string
	Device int
	Start  bool
	Micros int64 // microseconds since 1970
}
