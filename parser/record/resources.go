package record

import (
	"iter"
	"strconv"
)

// A Resource is one kind of what the pipeline's processes hold of the machine, apart from the
// memory of devices.
type Resource uint8

// The resources. All processes of the pipeline count together.
const (
	// HostMemory is anonymous and shared memory in bytes, including what was swapped out. Pages of
	// files (the page cache) do not count, because the kernel can drop them.
	HostMemory Resource = iota
	// SharedMemory is what the processes hold in /dev/shm, in bytes.
	SharedMemory
	FileDescriptors
	Threads
	Processes
	ResourceKinds // the number of resources
)

var resourceKeys = [ResourceKinds]string{"host", "shm", "fds", "threads", "processes"}

// String returns the key of the resource in a line of the log: "fds".
func (r Resource) String() string { return resourceKeys[r] }

// Resources says how much of each [Resource] is held. The zero value knows none of them.
type Resources struct {
	values [ResourceKinds]int64
	known  uint8
}

// Set sets the amount of a resource, in bytes or as a count.
func (r *Resources) Set(kind Resource, amount int64) {
	r.values[kind] = amount
	r.known |= 1 << kind
}

// Get returns the amount of a resource. ok is false if it is not known.
func (r *Resources) Get(kind Resource) (amount int64, ok bool) {
	return r.values[kind], r.known&(1<<kind) != 0
}

// All ranges over the resources that are known, in the order of their constants.
func (r *Resources) All() iter.Seq2[Resource, int64] {
	return func(yield func(Resource, int64) bool) {
		for kind := range ResourceKinds {
			if amount, ok := r.Get(kind); ok && !yield(kind, amount) {
				return
			}
		}
	}
}

// Comparable returns the resources of a sample that can be compared with those of a holding. A
// sample counts a page of memory once for each process that shares it, and a holding counts it
// once. So the host memory can be compared only for a single process.
func (r *Resources) Comparable() *Resources {
	c := *r
	if n, _ := r.Get(Processes); n != 1 {
		c.known &^= 1 << HostMemory
	}
	return &c
}

// Lower sets each resource that other has to the smaller of the two amounts.
func (r *Resources) Lower(other *Resources) {
	for kind, amount := range other.All() {
		if least, ok := r.Get(kind); !ok || amount < least {
			r.Set(kind, amount)
		}
	}
}

func (r *Resources) appendFields(b []byte) []byte {
	for kind, amount := range r.All() {
		b = appendNumber(b, kind.String(), amount)
	}
	return b
}

func appendNumber(b []byte, key string, n int64) []byte {
	return AppendField(b, key, strconv.FormatInt(n, 10))
}

// A Holding says what the pipeline's processes held at a moment: when a file had just ended, or
// when the pipeline had just printed a checkpoint. The harness takes it within 100 ms after that
// line. When a file has ended it is more exact than a [Sample]: memory that several
// processes share counts once.
type Holding struct {
	Header
	PID int
	// Index is the number in the batch of the file that ended. If the file was not fed, it is 0 and
	// Path names the file. Both are empty if the line before this one is a checkpoint.
	Index int
	Path  string
	Resources
	// MostFiles is the largest number of file descriptors that one of the processes has open. The
	// limit of descriptors (ulimit -n) applies to each process.
	MostFiles int
	// Available is how many more bytes of memory the processes can take, until the machine or their
	// control group has none left. SharedFree is the free memory of /dev/shm in bytes. 0 means
	// unknown.
	Available, SharedFree int64
}

// AppendLine appends the record as a line of the harness.
func (r Holding) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "holding")
	b = appendNumber(b, "pid", int64(r.PID))
	if r.Index != 0 {
		b = appendNumber(b, "index", int64(r.Index))
	} else if r.Path != "" {
		b = AppendField(b, "path", r.Path)
	}
	b = r.appendFields(b)
	if r.MostFiles > 0 {
		b = appendNumber(b, "most_fds", int64(r.MostFiles))
	}
	if r.Available > 0 {
		b = appendNumber(b, "available", r.Available)
	}
	if r.SharedFree > 0 {
		b = appendNumber(b, "shm_free", r.SharedFree)
	}
	return b
}

// Limits are the limits of a process of the pipeline, read when it starts. A limit that is not
// known or not set is 0.
type Limits struct {
	Header
	PID int
	// Memory is the memory of the machine in bytes or, if Group is set, the lower limit of the
	// process's control group, such as that of a container.
	Memory int64
	Group  bool
	// Files is the soft limit of open file descriptors of one process (ulimit -n).
	Files int
	// Tasks is the limit of processes and threads together: of the control group or of the user.
	Tasks int
	// Shared is the size of /dev/shm in bytes.
	Shared int64
	Run    int // the run's number, as in timeline.File; only a timeline sets it
}

// AppendLine appends the record as a line of the harness.
func (r Limits) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "limits")
	b = appendNumber(b, "pid", int64(r.PID))
	if r.Memory > 0 {
		b = appendNumber(b, "memory", r.Memory)
	}
	if r.Group {
		b = AppendField(b, "group", "true")
	}
	for _, limit := range []struct {
		key string
		n   int64
	}{{"fds", int64(r.Files)}, {"tasks", int64(r.Tasks)}, {"shm", r.Shared}} {
		if limit.n > 0 {
			b = appendNumber(b, limit.key, limit.n)
		}
	}
	return b
}

// A Leftover is a file in /dev/shm that the pipeline left behind when its last process had ended.
type Leftover struct {
	Header
	Path  string
	Bytes int64 // memory that the file holds
	// Seen is set if a process of the pipeline was seen with the file. If not, another program of
	// the same user may have made it.
	Seen bool
	Run  int // the run's number, as in timeline.File; only a timeline sets it
}

// AppendLine appends the record as a line of the harness.
func (r Leftover) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "leftover")
	b = AppendField(b, "path", r.Path)
	b = appendNumber(b, "bytes", r.Bytes)
	if r.Seen {
		b = AppendField(b, "seen", "true")
	}
	return b
}

// Moved implements [Record].
func (r Holding) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Limits) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Leftover) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}
