package allocator

// A Stat is a figure and its highest value since the last [Allocator.ResetPeak].
type Stat struct{ Current, Peak int64 }

func (s *Stat) add(n int64) {
	s.Current += n
	s.Peak = max(s.Peak, s.Current)
}

// Stats are the figures of torch.cuda.memory_stats whose keys end in ".all".
type Stats struct {
	// In bytes:
	Allocated Stat // in live blocks, rounded: torch.cuda.memory_allocated
	Reserved  Stat // held from the driver: torch.cuda.memory_reserved
	Active    Stat // allocated, or freed while other streams still use it
	// Free bytes in segments that are partly in use; expandable segments do not count.
	InactiveSplit Stat
	Requested     Stat // requested by the callers, for active blocks

	// Numbers of:
	Segments       Stat // cudaMalloc'ed; expandable segments do not count
	ActiveBlocks   Stat
	InactiveSplits Stat

	// The number of times that a cudaMalloc failed, and the allocator released its cache and tried
	// again.
	Retries       int64
	OOMs          int64 // allocations that failed
	DeviceMallocs int64 // calls of cudaMalloc that succeeded, and mappings
	DeviceFrees   int64 // calls of cudaFree, and unmappings

	OversizeAllocations Stat // live blocks of max_split_size or more
	OversizeSegments    Stat // segments of max_split_size or more
}

// Stats returns the allocator's figures. The pointer stays valid, and each operation changes the
// figures.
func (a *Allocator) Stats() *Stats { return &a.stats }

// ResetPeak sets each figure's peak to its current value: torch.cuda.reset_peak_memory_stats.
func (a *Allocator) ResetPeak() {
	s := &a.stats
	for _, f := range []*Stat{
		&s.Allocated, &s.Reserved, &s.Active, &s.InactiveSplit, &s.Requested,
		&s.Segments, &s.ActiveBlocks, &s.InactiveSplits, &s.OversizeAllocations,
		&s.OversizeSegments,
	} {
		f.Peak = f.Current
	}
}
