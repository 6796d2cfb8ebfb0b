package allocator_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/pipeline/allocator"
)

// TestRecorded compares the model with real GPUs. The model gets the requests that real programs
// made to PyTorch's allocator, as memory snapshots recorded them. The real driver chose the
// addresses of segments: at each cudaMalloc of the recording, the model's driver offers only the
// address of the recording, so any other cudaMalloc fails. The model must return the same addresses
// as the real allocator, and fail where it failed. Every cudaMalloc and cudaFree, and every mapping
// of an expandable segment, must come at the same event with the same size. In the end all segments
// must be the same, block by block.
//
// Recordings without held begin with an empty allocator. For the others, the test first makes the
// blocks that were held at the beginning (see [snapshot.Device.Ops]). Two recordings
// (yiyi-*.pickle) have no allocations, and test only this step.
func TestRecorded(t *testing.T) {
	// The counts come from Python's pickle module: Counter(e["action"] for t in
	// snapshot["device_traces"] for e in t).
	recordings := []recording{
		{
			file: "logs/torch_snapshot/jaspersolt-eor_nn-snapshot.pickle",
			want: recorded{held: 3, driver: 7, allocations: 1935, frees: 1926},
		},
		{
			file: "logs/torch_snapshot/" +
				"kkaitlyn111-cs336-a2-systems-mory-files-memory-ctx128-forward-.pickle",
			want: recorded{held: 227, driver: 289, allocations: 2058, frees: 1155},
		},
		{
			file: "logs/torch_snapshot/silmont2000-assignment2-systems-mem-snapshot.pickle",
			want: recorded{driver: 9, allocations: 36, frees: 26},
		},
		{
			file: "logs/torch_snapshot/silmont2000-assignment2-systems-memory-forward-bf16-128.pickle",
			want: recorded{held: 43, allocations: 937, frees: 937},
		},
		{
			file: "logs/torch_snapshot/" +
				"wedsonlin-assignment2-systems-ium-128-inference-memory-snapshot.pickle",
			want: recorded{held: 98, allocations: 1280, frees: 1280},
		},
		{
			file: "logs/torch_snapshot/yiyi-philosophy-llm-inference-1.3b-snapshot.pickle",
			want: recorded{held: 257, frees: 1},
		},
		{
			file: "logs/torch_snapshot/yiyi-philosophy-llm-inference-oom-snapshot.pickle",
			want: recorded{held: 176},
		},
		{
			file: "h100/snapshot.pickle.gz",
			want: recorded{driver: 119, allocations: 7502, frees: 7498},
		},
		{
			file: "h200/batch-32.pickle.gz", allowed: 16,
			want: recorded{driver: 261, allocations: 31949, frees: 30628},
		},
		{
			file: "h200/retry.pickle.gz", allowed: 7.2,
			want: recorded{driver: 317, allocations: 29546, frees: 28236, failed: 46},
		},
		{
			file: "h200/settings.pickle.gz", allowed: 7.2,
			want: recorded{driver: 1945, allocations: 35420, frees: 34105, failed: 13},
		},
		{
			file: "h200/expandable.pickle.gz", allowed: 7.2,
			want: recorded{driver: 246, allocations: 36823, frees: 35494},
		},
		{
			file: "h200/streams.pickle.gz", allowed: 16,
			want: recorded{driver: 272, allocations: 36824, frees: 35494},
		},
		{
			file: "h200/vit-16.pickle.gz",
			want: recorded{held: 1, driver: 117, allocations: 3634, frees: 3176},
		},
		{
			file: "h200/vit-16-amp.pickle.gz",
			want: recorded{held: 3, driver: 126, allocations: 4478, frees: 4020},
		},
		{
			file: "h200/specgan-24.pickle.gz",
			want: recorded{held: 4, driver: 26, allocations: 4131, frees: 4028},
		},
	}
	for _, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			snap, err := snapshot.Open(filepath.Join("../../fixtures", r.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(snap.Devices) != 1 {
				t.Fatalf("%d devices", len(snap.Devices))
			}
			if got := r.replay(t, &snap.Devices[0]); got != r.want {
				t.Errorf("replayed %+v, recorded %+v", got, r.want)
			}
		})
	}
}

// A recording is a snapshot with the events of a program.
type recording struct {
	file    string
	allowed float64 // GiB that the program allowed itself, of h200; 0: all
	want    recorded
}

// h200 is the memory of an H200 in bytes, as PyTorch gives it.
const h200 = 150109880320

// recorded has the counts of a recording: segments held before the first event, calls of the
// driver, allocations, frees, and allocations that failed.
type recorded struct{ held, driver, allocations, frees, failed int }

func (r *recording) replay(t *testing.T, d *snapshot.Device) (n recorded) {
	t.Helper()
	driver := allocator.NewDevice(allocator.DeviceConfig{Total: h200, Placement: allocator.Up})
	model := allocator.New(driver, allocator.Config{})
	if r.allowed > 0 {
		if err := model.SetMemoryFraction(r.allowed * (1 << 30) / h200); err != nil {
			t.Fatal(err)
		}
	}
	var calls []call
	model.OnSegment(func(e allocator.SegmentEvent) {
		if e.Kind == allocator.OOM {
			return
		}
		calls = append(calls, call{int(e.Kind), e.Address, e.Size})
	})

	held := heldBefore(d)
	driver.Place(held...)
	n.held = len(held)
	live := map[int]allocator.Block{}
	next := 0 // the next event to perform
	reserved := map[uint64]bool{}
	for op := range d.Ops() {
		switch {
		case op.Kind == '#':
			continue
		case op.Kind == 'e' && r.allowed > 0:
			continue // the model must release segments by itself, when the program's limit is reached
		}
		var want []call // calls of the driver since the last operation
		if op.Event >= 0 {
			want = driverCalls(d.Events[next : op.Event+1])
			place(driver, want, reserved)
			next, calls = op.Event+1, nil
		}
		failed := op.Event >= 0 && d.Events[op.Event].Action == snapshot.OOM
		switch op.Kind {
		case 'a':
			b, err := model.Malloc(op.Size, allocator.Stream(op.Stream))
			if failed {
				if n.failed++; err == nil {
					t.Fatalf("event %d: %s: the model allocates it, the recorded allocation failed",
						op.Event, op)
				}
				break
			}
			if err != nil {
				t.Fatalf("event %d: %s: %v", op.Event, op, err)
			}
			live[op.ID] = b
			if op.Event >= 0 {
				n.allocations++
				if got, want := model.Address(b), d.Events[op.Event].Address; got != want {
					t.Fatalf("event %d: %s: the model's address is %#x, the recorded one %#x",
						op.Event, op, got, want)
				}
			}
		case 'f':
			if failed {
				break
			}
			model.Free(live[op.ID])
			if op.Event >= 0 {
				n.frees++
			}
		case 'e':
			model.EmptyCache()
		case 'c':
			if err := model.Configure(op.Text); err != nil {
				t.Fatal(err)
			}
		}
		if op.Event >= 0 {
			n.driver += len(want)
			if !slices.Equal(calls, want) {
				t.Fatalf("event %d: %s: calls of the model's driver %+v, recorded %+v", op.Event,
					op, calls, want)
			}
		}
	}
	if diff := cmp.Diff(inFile(d), inModel(model)); diff != "" {
		t.Errorf("segments when the recording ends (-recorded +model):\n%s", diff)
	}
	return n
}

// place offers the addresses of the calls to the model: those of new segments and, at the first
// mapping in an expandable segment, the segment's whole range of addresses. The parameter reserved
// holds the first addresses of such ranges.
func place(driver *allocator.Device, calls []call, reserved map[uint64]bool) {
	// PyTorch reserves an eighth more than the device has, in pages of up to 20 MiB.
	const page = 20 << 20
	const span = (h200 + h200/8 + page - 1) / page * page
	var ranges [][2]uint64
	for _, c := range calls {
		switch allocator.SegmentEventKind(c.kind) {
		case allocator.SegmentMap:
			inside := false
			for base := range reserved {
				inside = inside || c.address >= base && c.address < base+h200+h200/8
			}
			if !inside {
				reserved[c.address] = true
				ranges = append(ranges, [2]uint64{c.address, span})
			}
		case allocator.SegmentAlloc:
			ranges = append(ranges, [2]uint64{c.address, uint64(c.size)})
		}
	}
	driver.Place(ranges...)
}

// A call is a call of the driver, such as cudaMalloc, at an address.
type call struct {
	kind    int
	address uint64
	size    int64
}

// driverCalls returns the calls of the driver among the events.
func driverCalls(events []snapshot.Event) (calls []call) {
	kinds := map[snapshot.Action]allocator.SegmentEventKind{
		snapshot.SegmentAlloc: allocator.SegmentAlloc, snapshot.SegmentFree: allocator.SegmentFree,
		snapshot.SegmentMap: allocator.SegmentMap, snapshot.SegmentUnmap: allocator.SegmentUnmap,
	}
	for _, e := range events {
		if kind, ok := kinds[e.Action]; ok {
			calls = append(calls, call{int(kind), e.Address, e.Size})
		}
	}
	return calls
}

// heldBefore returns the addresses and sizes of the segments that the program held before the first
// event. These are the segments in the file that no event allocated. No recording frees such a
// segment.
func heldBefore(d *snapshot.Device) (ranges [][2]uint64) {
	for _, s := range d.Segments {
		made := slices.ContainsFunc(d.Events, func(e snapshot.Event) bool {
			return (e.Action == snapshot.SegmentAlloc || e.Action == snapshot.SegmentMap) &&
				e.Address <= s.Address && s.Address < e.Address+uint64(e.Size)
		})
		if !made {
			ranges = append(ranges, [2]uint64{s.Address, uint64(s.Size)})
		}
	}
	return ranges
}

// inFile returns the segments in the file. inModel returns the segments of the model in the same
// form.
func inFile(d *snapshot.Device) []record.Segment {
	segments := d.Map().Segments
	streams := []uint64{0} // the model numbers the streams; in the file, their pointers are
	for _, e := range d.Events {
		if !slices.Contains(streams, e.Stream) {
			streams = append(streams, e.Stream)
		}
	}
	for i := range segments {
		segments[i].Stream = uint64(slices.Index(streams, segments[i].Stream))
	}
	return segments
}

func inModel(a *allocator.Allocator) (out []record.Segment) {
	states := map[allocator.BlockState]record.BlockState{
		allocator.Inactive: record.BlockFree, allocator.Allocated: record.BlockAllocated,
		allocator.PendingFree: record.BlockPending,
	}
	for _, s := range a.Snapshot() {
		seg := record.Segment{
			Address: s.Address, Size: s.Size, Small: !s.Large,
			Expandable: s.Expandable, Stream: uint64(s.Stream),
		}
		for _, b := range s.Blocks {
			seg.Blocks = append(seg.Blocks, record.Block{Size: b.Size, State: states[b.State]})
		}
		out = append(out, seg)
	}
	return out
}
