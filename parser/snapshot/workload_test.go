package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

const (
	mib  = 1 << 20
	base = 0x7f0000000000
)

// line returns a stack of one frame: the line n of the program.
func line(n int) []any {
	return []any{
		dictOf{"name", "malloc", "filename", "CUDACachingAllocator.cpp", "line", 0},
		dictOf{
			"name", "forward", "filename",
			"/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", "line", 125,
		},
		dictOf{"name", "main", "filename", "/home/me/train.py", "line", n},
	}
}

func event(action string, addr, size, stream, micros, at int) dictOf {
	return dictOf{
		"action", action, "addr", addr, "size", size, "stream", stream, "time_us", micros,
		"frames", line(at),
	}
}

// workload returns a snapshot of two devices. On device 1 a program began with one segment of 20
// MiB, whose first 4 MiB were allocated. It leaked 2 MiB in each of three rounds, freed another
// segment, and could not allocate 12 MiB:
//
//	segment at 0       before:  A 4 MiB (line 1) | 16 free
//	                   round n: temporary 3 MiB (line 10+n), 2 MiB that stay (line 20), temporary freed
//	segment at 64 MiB           30 MiB (line 30), freed, and the segment freed
//	                   failed:  12 MiB (line 40), when the driver had 5 MiB
func workload() dictOf {
	events := []any{}
	add := func(e dictOf) { events = append(events, e) }
	now := 1_700_000_000_000_000
	tick := func() int { now += 1000; return now }
	kept := []any{}
	for n := range 3 {
		// In each round the temporary block is at 4 MiB and ends at 7 MiB. The three blocks that the
		// program never frees are at 7, 9 and 11 MiB, one for each round.
		at := base + (4+2*n)*mib
		temporary, stays := at, at
		if n == 0 {
			stays += 3 * mib
		} else {
			stays = base + (7+2*n)*mib
			temporary = base + 4*mib
		}
		add(event("alloc", temporary, 3*mib, 0, tick(), 10+n))
		add(event("alloc", stays, 2*mib-100, 0, tick(), 20))
		add(event("free_requested", temporary, 3*mib, 0, tick(), 10+n))
		add(event("free_completed", temporary, 3*mib, 0, tick(), 10+n))
		kept = append(kept, dictOf{
			"address", stays, "size", 2 * mib, "requested_size", 2*mib - 100,
			"state", "active_allocated", "frames", line(20),
		})
	}
	add(event("segment_alloc", base+64*mib, 30*mib, 0, tick(), 30))
	add(event("alloc", base+64*mib, 30*mib, 0, tick(), 30))
	add(event("free_requested", base+64*mib, 30*mib, 0, tick(), 30))
	add(event("free_completed", base+64*mib, 30*mib, 0, tick(), 30))
	add(event("segment_free", base+64*mib, 30*mib, 0, tick(), 40))
	add(dictOf{
		"action", "oom", "device_free", 5 * mib, "size", 12 * mib, "stream", 0, "time_us",
		tick(), "frames", line(40),
	})
	free := func(at, size int) dictOf {
		return dictOf{
			"address", base + at*mib, "size", size * mib, "requested_size", 0, "state",
			"inactive", "frames",
			[]any{},
		}
	}
	blocks := []any{dictOf{
		"address", base, "size", 4 * mib, "requested_size", 4 * mib, "state",
		"active_allocated", "frames",
		[]any{},
	}, free(4, 3)}
	blocks = append(append(blocks, kept...), free(13, 7))
	return dictOf{
		"segments",
		[]any{
			dictOf{
				"device", 1, "address", base, "total_size", 20 * mib, "allocated_size", 10 * mib,
				"active_size", 10 * mib, "requested_size", 0, "stream", 0,
				"segment_type", "large", "segment_pool_id",
				[2]int{0, 0},
				"is_expandable", false, "frames",
				[]any{},
				"blocks", blocks,
			},
			dictOf{
				"device", 0, "address", base, "total_size", 2 * mib, "stream", 0x5f5e100, "segment_type",
				"small", "is_expandable", true, "blocks",
				[]any{
					dictOf{"size", 512, "requested_size", 4, "state", "active_pending_free"},
					dictOf{"size", 2*mib - 512, "state", "inactive"},
				},
			},
		},
		"device_traces",
		[]any{[]any{}, events},
		"allocator_settings",
		dictOf{
			"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64", "max_split_size", 64 * mib,
			"garbage_collection_threshold", 0.5,
		},
		"external_annotations",
		[]any{
			dictOf{"stage", "START", "name", "round 2", "device", 1, "time_us", 1_700_000_000_008_500},
			dictOf{"stage", "END", "name", "round 2", "device", 1, "time_us", 1_700_000_000_012_500},
		},
	}
}

func readWorkload(t *testing.T) *Snapshot {
	t.Helper()
	snap, err := Read(bytes.NewReader(pickled(t, workload())), "x")
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestWorkload compares an analysis with the numbers in the comment on the function workload.
func TestWorkload(t *testing.T) {
	snap := readWorkload(t)
	if len(snap.Devices) != 2 || snap.Devices[0].Index != 0 || snap.Devices[1].Index != 1 {
		t.Fatalf("%+v", snap.Devices)
	}
	if got := snap.Devices[1].Settings.Conf; got != "max_split_size_mb:64" {
		t.Errorf("settings %q", got)
	}
	a := snap.Devices[1].Analyze(snap.Annotations)
	at := func(n int) Site {
		return Site{Function: "main", File: "/home/me/train.py", Line: n}
	}
	a.Holds, a.Trace.PeakHolds = bare(a.Holds), bare(a.Trace.PeakHolds)
	for i := range a.Trace.Kept {
		a.Trace.Kept[i].Usage = bare([]Usage{a.Trace.Kept[i].Usage})[0]
	}
	before := Site{Function: Before}
	want := &Analysis{
		Device: 1,
		Totals: Totals{
			Segments: 1, Blocks: 4, Reserved: 20 * mib, Allocated: 10 * mib, Active: 10 * mib,
			Requested: 10*mib - 300,
		},
		Holds: []Usage{
			{Site: at(20), Bytes: 6 * mib, Blocks: 3, Largest: 2 * mib},
			{Site: before, Bytes: 4 * mib, Blocks: 1, Largest: 4 * mib},
		},
		Free: Free{
			Sum: 10 * mib, InactiveSplit: 10 * mib, Largest: 7 * mib,
			Pins: []Pin{{Site: at(20), Segments: 1, Free: 10 * mib, Holds: 10 * mib}},
		},
		Trace: &Trace{
			Events: 18, Micros: 17000, StartReserved: 20 * mib, StartAllocated: 4 * mib, Allocations: 7,
			// 4 MiB from before, 6 MiB that stay, and the 30 MiB.
			Peak: Moment{Event: 13, Micros: 1_700_000_000_014_000, Reserved: 50 * mib, Allocated: 40 * mib},
			PeakHolds: []Usage{
				{Site: at(30), Bytes: 30 * mib, Blocks: 1, Largest: 30 * mib},
				{Site: at(20), Bytes: 6 * mib, Blocks: 3, Largest: 2 * mib},
				{Site: before, Bytes: 4 * mib, Blocks: 1, Largest: 4 * mib},
			},
			Kept: []Growth{{
				Usage: Usage{Site: at(20), Bytes: 6 * mib, Blocks: 3, Largest: 2 * mib}, Steps: 3,
				From: 1. / 17, To: 9. / 17,
			}},
			OOMs: []OutOfMemory{{
				Event: 17, Micros: 1_700_000_000_018_000, Requested: 12 * mib, DeviceFree: 5 * mib,
				Reserved: 20 * mib, Allocated: 10 * mib,
				Free: 10 * mib, Usable: 10 * mib, Largest: 7 * mib, Site: at(40),
			}},
		},
	}
	if diff := cmp.Diff(want, a, cmp.AllowUnexported(Usage{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !a.Trace.OOMs[0].Fragmented() { // 5 + 10 MiB would do, 7 MiB do not
		t.Error("the failure is not reported as fragmentation")
	}
	if got := within(snap.Annotations, 1, 1_700_000_000_010_000); got != "round 2" {
		t.Errorf("within %q", got)
	}
}

// bare returns the usages without their stacks, which are pointers.
func bare(usages []Usage) []Usage {
	for i := range usages {
		usages[i].Stacks, usages[i].bytes = nil, nil
	}
	return usages
}

func TestMap(t *testing.T) {
	want := record.SegmentMap{
		Name: "snapshot", Lane: record.Lane{Device: 0},
		Segments: []record.Segment{{
			Address: base, Size: 2 * mib, Small: true, Expandable: true, Stream: 0x5f5e100,
			Blocks: []record.Block{
				{Size: 512, State: record.BlockPending},
				{Size: 2*mib - 512, State: record.BlockFree},
			},
		}},
	}
	if diff := cmp.Diff(want, readWorkload(t).Devices[0].Map()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTrace: the trace first allocates the first segment as one block, frees it and fills the
// segment with blocks. Then the events follow.
func TestTrace(t *testing.T) {
	snap := readWorkload(t)
	var got strings.Builder
	if err := snap.Devices[1].WriteTrace(&got); err != nil {
		t.Fatal(err)
	}
	want := `# device 1: 18 events
# held when the first event came: 20.0 MiB in 1 segments, 4.00 MiB of it allocated
a 1 20971520
f 1
a 2 4194304
a 3 16777216
f 3
c max_split_size_mb:64
r
# the events
a 4 3145728
a 5 2097052
f 4
a 6 3145728
a 7 2097052
f 6
a 8 3145728
a 9 2097052
f 8
a 10 31457280
f 10
e
# out of memory: 12.0 MiB, of which the driver had 5.00 MiB
a 11 12582912
f 11
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMaps: maps are taken at the beginning, at the peak (with the segment of 30 MiB), at the
// failure and at the end.
func TestMaps(t *testing.T) {
	snap := readWorkload(t)
	d := &snap.Devices[1]
	var got []string
	for m := range d.Maps(d.Analyze(nil).Trace) {
		sums := m.Sums()
		got = append(got,
			fmt.Sprintf("%s %s: %d reserved, %d allocated, %d largest free, %d requested, %d allowed",
				m.Time.Format("05.000"), m.Name, sums.Reserved/mib, sums.Allocated/mib, sums.LargestFree/mib,
				m.Requested/mib, m.Allowed/mib))
	}
	want := []string{
		"20.001 history begins: 20 reserved, 4 allocated, 16 largest free, 0 requested, 0 allowed",
		"20.014 peak: 50 reserved, 40 allocated, 7 largest free, 0 requested, 0 allowed",
		"20.018 out of memory: 20 reserved, 10 allocated, 7 largest free, 12 requested, 25 allowed",
		"20.018 snapshot: 20 reserved, 10 allocated, 7 largest free, 0 requested, 0 allowed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLongTexts: only the first 4,096 bytes of a name are kept.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	w := workload()
	w = append(w[:len(w)-1], []any{dictOf{
		"stage", "START", "name", strings.Repeat("é", 3000),
		"device", 1, "time_us", 1,
	}})
	snap, err := Read(bytes.NewReader(pickled(t, w)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if got := snap.Annotations[0].Name; got != strings.Repeat("é", 2048) {
		t.Errorf("%d bytes: %.20q...", len(got), got)
	}
}
