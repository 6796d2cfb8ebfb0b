package check

import (
	"slices"

	"vramsoak/parser/record"
)

// pinnedAdvice says what keeps pinned memory growing. The allocator of PyTorch rounds each request
// up to a power of two, keeps freed blocks, and uses a block only for requests of its own size
// (CachingHostAllocator.h). So sizes that differ from file to file also make it grow; see
// vllm#48165.
const pinnedAdvice = "either tensors made with pin_memory stay alive, or sizes differ from file " +
	"to file, and the allocator keeps a block for each power of two: reuse one pinned buffer; " +
	"torch.accelerator.empty_host_cache() gives the cache back (in older versions " +
	"torch._C._host_emptyCache())"

// pinnedLevels returns the pinned memory of a process at the ends of files. The figure belongs to
// the process, and any of its devices' lines may print it. So only the first device of the process
// gets the levels, which then come from the lines of all its devices.
func pinnedLevels(j *Judge, l *lane) *column {
	first, _ := slices.BinarySearchFunc(j.lanes, record.Lane{Rank: l.id.Rank, Device: -1},
		func(l *lane, id record.Lane) int { return byLane(l, &lane{id: id}) })
	all := &column{}
	if first == len(j.lanes) || j.lanes[first] != l {
		return all
	}
	for _, of := range j.lanes[first:] {
		if of.id.Rank != l.id.Rank {
			break
		}
		all = all.merged(of.column(PinnedMemory))
	}
	return all
}

// merged returns a column with the files of both columns. If a file is in both, its value is the
// larger one.
func (c *column) merged(other *column) *column {
	switch {
	case len(other.files) == 0:
		return c
	case len(c.files) == 0:
		return other
	}
	all := &column{resolution: max(c.resolution, other.resolution)}
	for a, b := 0, 0; a < len(c.files) || b < len(other.files); {
		switch {
		case b == len(other.files) || a < len(c.files) && c.files[a] < other.files[b]:
			all.add(c.files[a], c.values[a], c.resolution)
			a++
		case a == len(c.files) || other.files[b] < c.files[a]:
			all.add(other.files[b], other.values[b], other.resolution)
			b++
		default:
			all.add(c.files[a], max(c.values[a], other.values[b]), c.resolution)
			a, b = a+1, b+1
		}
	}
	return all
}

// explainPinned adds to the finding between which two checkpoints the pinned memory is allocated.
func (j *Judge) explainPinned(l *lane, w *worstProcess) {
	if w.of == nil || w.finding.Verdict != Fail {
		return
	}
	var taken string
	taken, w.finding.Stage = takenAt(w, "pinned", l.levelsAt(w, func(p *point) *column {
		return p.pinned
	}))
	if taken != "" {
		w.finding.Message += "; " + taken
	}
}
