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
// as the real allocator. Every cudaMalloc and cudaFree must come at the same event with the same
// size. In the end all segments must be the same, block by block.
//
// Three recordings begin with an empty allocator, those without held. For the others, the test
// first makes the blocks that were held at the beginning (see [snapshot.Device.Ops]). Two
// recordings (yiyi-*.pickle) have no allocations, and test only this step.
func TestRecorded(t *testing.T) {
	// The counts come from Python's pickle module: Counter(e["action"] for t in
	// snapshot["device_traces"] for e in t).
	recordings := []struct {
		file string
		want recorded
	}{
		{"jaspersolt-eor_nn-snapshot.pickle", recorded{
			held: 3, driver: 7, allocations: 1935,
			frees: 1926,
		}},
		{
			"kkaitlyn111-cs336-a2-systems-mory-files-memory-ctx128-forward-.pickle",
			recorded{held: 227, driver: 289, allocations: 2058, frees: 1155},
		},
		{"silmont2000-assignment2-systems-mem-snapshot.pickle", recorded{
			held: 0, driver: 9,
			allocations: 36, frees: 26,
		}},
		{"silmont2000-assignment2-systems-memory-forward-bf16-128.pickle", recorded{
			held:        43,
			allocations: 937, frees: 937,
		}},
		{
			"wedsonlin-assignment2-systems-ium-128-inference-memory-snapshot.pickle",
			recorded{held: 98, allocations: 1280, frees: 1280},
		},
		{"yiyi-philosophy-llm-inference-1.3b-snapshot.pickle", recorded{held: 257, frees: 1}},
		{"yiyi-philosophy-llm-inference-oom-snapshot.pickle", recorded{held: 176}},
		{"../../h100/snapshot.pickle.gz", recorded{driver: 119, allocations: 7502, frees: 7498}},
		{"../../h200/batch-32.pickle.gz", recorded{driver: 261, allocations: 31949, frees: 30628}},
	}
	for _, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			snap, err := snapshot.Open(filepath.Join("../../fixtures/logs/torch_snapshot", r.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(snap.Devices) != 1 {
				t.Fatalf("%d devices", len(snap.Devices))
			}
			if got := replayRecorded(t, &snap.Devices[0]); got != r.want {
				t.Errorf("replayed %+v, recorded %+v", got, r.want)
			}
		})
	}
}

// recorded has the counts of a recording: segments held before the first event, calls of the
// driver, allocations and frees.
type recorded struct{ held, driver, allocations, frees int }

func replayRecorded(t *testing.T, d *snapshot.Device) (n recorded) {
	t.Helper()
	driver := allocator.NewDevice(allocator.DeviceConfig{Total: 80 << 30})
	model := allocator.New(driver, allocator.Config{})
	var calls []call
	model.OnSegment(func(e allocator.SegmentEvent) {
		calls = append(calls, call{int(e.Kind), e.Address, e.Size})
	})

	held := heldBefore(d)
	driver.Place(held...)
	n.held = len(held)
	live := map[int]allocator.Block{}
	next := 0 // the next event to perform
	for op := range d.Ops() {
		var want []call // calls of the driver since the last operation
		if op.Event >= 0 {
			want = driverCalls(d.Events[next : op.Event+1])
			driver.Place()
			for _, c := range want {
				driver.Place([2]uint64{c.address, uint64(c.size)})
			}
			next, calls = op.Event+1, nil
		}
		switch op.Kind {
		case 'a':
			b, err := model.Malloc(op.Size, allocator.Stream(op.Stream))
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
			return e.Action == snapshot.SegmentAlloc && e.Address == s.Address
		})
		if !made {
			ranges = append(ranges, [2]uint64{s.Address, uint64(s.Size)})
		}
	}
	return ranges
}

// inFile returns the segments in the file. inModel returns the segments of the model in the same
// form.
func inFile(d *snapshot.Device) []record.Segment { return d.Map().Segments }

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
