package allocator_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/pipeline/allocator"
)

// TestHistoryCutOff: a snapshot can be replayed even if the beginning of its history is missing,
// because PyTorch keeps only the last max_entries events. The test makes a history with the model,
// cuts off its beginning, and replays the operations that package snapshot computes from the rest:
// first the blocks that were held at the cut, then the events. In the end all blocks must be as
// they were in the first run. The addresses of segments may differ, but not their order.
//
// A snapshot does not have the size of a block that was allocated before the cut and freed after
// it, if its neighbour was freed before it. Such a block may have up to 1 MiB more than was
// requested. For this reason 3 of 4,000 random histories end differently, but none with the seeds
// of this test.
func TestHistoryCutOff(t *testing.T) {
	for seed := range uint64(30) {
		for _, conf := range []string{
			"", "expandable_segments:True", "max_split_size_mb:64",
			"roundup_power2_divisions:4",
		} {
			t.Run(fmt.Sprintf("%d %s", seed, conf), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(len(conf))))
				d := history(t, rng, conf)
				d.Events = d.Events[rng.IntN(len(d.Events)):]
				model := newModel(t, "")
				live := map[int]allocator.Block{}
				for op := range d.Ops() {
					perform(t, model, live, op)
				}
				if diff := cmp.Diff(inFile(d), inModel(model),
					cmpopts.IgnoreFields(record.Segment{}, "Address")); diff != "" {
					t.Errorf("segments (-history +replayed):\n%s", diff)
				}
			})
		}
	}
}

func newModel(t *testing.T, conf string) *allocator.Allocator {
	t.Helper()
	config, err := allocator.ParseConfig(conf)
	if err != nil {
		t.Fatal(err)
	}
	return allocator.New(allocator.NewDevice(allocator.DeviceConfig{
		Total:     1 << 40,
		Placement: allocator.Up,
	}), config)
}

func perform(t *testing.T, model *allocator.Allocator, live map[int]allocator.Block,
	op snapshot.Op,
) {
	t.Helper()
	var err error
	switch op.Kind {
	case 'a':
		live[op.ID], err = model.Malloc(op.Size, allocator.Stream(op.Stream))
	case 'f':
		model.Free(live[op.ID])
	case 'e':
		model.EmptyCache()
	case 'c':
		err = model.Configure(op.Text)
	}
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
}

// history returns the history of a random program, as a snapshot has it. The program allocates on
// two streams, frees, and sometimes empties the cache.
func history(t *testing.T, rng *rand.Rand, conf string) *snapshot.Device {
	t.Helper()
	model := newModel(t, conf)
	d := &snapshot.Device{Settings: &snapshot.Settings{Conf: conf}}
	if strings.HasPrefix(conf, "roundup") {
		for i := range d.Settings.RoundupPower2Divisions {
			d.Settings.RoundupPower2Divisions[i] = 4
		}
	}
	actions := map[allocator.SegmentEventKind]snapshot.Action{
		allocator.SegmentAlloc: snapshot.SegmentAlloc, allocator.SegmentFree: snapshot.SegmentFree,
		allocator.SegmentMap: snapshot.SegmentMap, allocator.SegmentUnmap: snapshot.SegmentUnmap,
	}
	model.OnSegment(func(e allocator.SegmentEvent) {
		d.Events = append(d.Events, snapshot.Event{
			Action: actions[e.Kind], Address: e.Address,
			Size: e.Size, Stream: uint64(e.Stream),
		})
	})
	type owned struct {
		block  allocator.Block
		size   int64
		stream allocator.Stream
	}
	var live []owned
	for range 300 {
		switch n := rng.IntN(100); {
		case n < 55:
			o := owned{
				size:   1 + rng.Int64N(1<<(9+rng.IntN(18))),
				stream: allocator.Stream(rng.IntN(2)),
			}
			var err error
			if o.block, err = model.Malloc(o.size, o.stream); err != nil {
				t.Fatal(err)
			}
			d.Events = append(d.Events, snapshot.Event{
				Action: snapshot.Alloc, Address: model.Address(o.block), Size: o.size,
				Stream: uint64(o.stream),
			})
			live = append(live, o)
		case n < 97 && len(live) > 0:
			i := rng.IntN(len(live))
			o := live[i]
			live = append(live[:i], live[i+1:]...)
			for _, action := range []snapshot.Action{
				snapshot.FreeRequested,
				snapshot.FreeCompleted,
			} {
				d.Events = append(d.Events, snapshot.Event{
					Action: action, Address: model.Address(o.block), Size: o.size,
					Stream: uint64(o.stream),
				})
			}
			model.Free(o.block)
		// Not with expandable segments: a replay would place the remaining parts next to each
		// other.
		case n == 99 && !strings.HasPrefix(conf, "expandable"):
			model.EmptyCache()
		}
	}
	for _, s := range model.Snapshot() {
		seg := snapshot.Segment{
			Address: s.Address, Size: s.Size, Small: !s.Large,
			Expandable: s.Expandable, Stream: uint64(s.Stream),
		}
		at := s.Address
		for _, b := range s.Blocks {
			block := snapshot.Block{Address: at, Size: b.Size, Requested: b.Requested}
			if b.State == allocator.Allocated {
				block.State = record.BlockAllocated
			}
			at += uint64(b.Size)
			seg.Blocks = append(seg.Blocks, block)
		}
		d.Segments = append(d.Segments, seg)
	}
	return d
}
