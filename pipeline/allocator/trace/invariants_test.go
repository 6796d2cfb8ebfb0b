package trace_test

import (
	"errors"
	"iter"
	"testing"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// outcomes runs a trace on the model, to know which of its allocations succeed.
type outcomes struct {
	allocator *allocator.Allocator
	blocks    map[uint64]allocator.Block
}

func newOutcomes(s trace.Settings) *outcomes {
	config, err := allocator.ParseConfig(s.Conf)
	if err != nil {
		panic(err) // the settings come from a table
	}
	return &outcomes{
		allocator: allocator.New(s.Device(), config),
		blocks:    map[uint64]allocator.Block{},
	}
}

func (o *outcomes) live(id uint64) bool {
	_, is := o.blocks[id]
	return is
}

// do performs an operation. It returns false if PyTorch would end the process with an error other
// than out of memory.
func (o *outcomes) do(op trace.Op) bool {
	a := o.allocator
	var err error
	switch op.Kind {
	case trace.Malloc:
		var block allocator.Block
		if block, err = a.Malloc(op.Size, op.Stream); err == nil {
			o.blocks[op.ID] = block
		} else if _, is := errors.AsType[*allocator.OutOfMemoryError](err); is {
			err = nil
		}
	case trace.Free:
		if block, is := o.blocks[op.ID]; is {
			a.Free(block)
			delete(o.blocks, op.ID)
		}
	case trace.RecordStream:
		a.RecordStream(o.blocks[op.ID], op.Stream)
	case trace.EmptyCache:
		a.EmptyCache()
	case trace.Synchronize:
		a.Synchronize()
	case trace.ResetPeak:
		a.ResetPeak()
	case trace.MemoryFraction:
		err = a.SetMemoryFraction(op.Fraction)
	case trace.Configure:
		err = a.Configure(op.Conf)
	case trace.Snapshot:
	}
	return err == nil
}

// checked yields the operations of a trace. After each operation has run on the allocator, checked
// compares the allocator's figures with its blocks.
func checked(t *testing.T, s trace.Settings, ops []trace.Op, d *allocator.Device,
	a *allocator.Allocator,
) iter.Seq2[trace.Op, error] {
	return func(yield func(trace.Op, error) bool) {
		for _, op := range ops {
			if !yield(op, nil) {
				return
			}
			check(t, op, d.Total()-s.Overhead-d.Free(), a)
		}
	}
}

// check compares the allocator's figures with its segments and blocks, and with used, the bytes
// that the allocator took from the device. It names the operation in its errors.
func check(t *testing.T, after trace.Op, used int64, a *allocator.Allocator) {
	t.Helper()
	var allocated, active, reserved, activeBlocks, inactiveSplit, inactiveSplits, segments int64
	end := uint64(0)
	for _, s := range a.Snapshot() {
		if s.Address < end {
			t.Fatalf("line %d: the segment at %#x begins within the one before, which ends at %#x",
				after.Line, s.Address, end)
		}
		end = s.Address + uint64(s.Size)
		reserved += s.Size
		if !s.Expandable {
			segments++
		}
		size := int64(0)
		for i, b := range s.Blocks {
			size += b.Size
			switch {
			case b.State == allocator.Inactive && i > 0 &&
				s.Blocks[i-1].State == allocator.Inactive:
				t.Fatalf("line %d: two free blocks are neighbours in the segment at %#x",
					after.Line, s.Address)
			case b.State == allocator.Inactive && len(s.Blocks) > 1 && !s.Expandable:
				inactiveSplit += b.Size
				inactiveSplits++
			case b.State == allocator.Allocated:
				allocated += b.Size
			}
			if b.State != allocator.Inactive {
				active += b.Size
				activeBlocks++
			}
		}
		if size != s.Size {
			t.Fatalf("line %d: the blocks of the segment at %#x are %d bytes of %d", after.Line,
				s.Address, size, s.Size)
		}
	}
	stats := a.Stats()
	for _, figure := range []struct {
		name string
		got  allocator.Stat
		want int64
	}{
		{"allocated", stats.Allocated, allocated},
		{"active", stats.Active, active},
		{"reserved", stats.Reserved, reserved},
		{"reserved, by the device", stats.Reserved, used},
		{"segments", stats.Segments, segments},
		{"active blocks", stats.ActiveBlocks, activeBlocks},
		{"inactive split", stats.InactiveSplit, inactiveSplit},
		{"inactive splits", stats.InactiveSplits, inactiveSplits},
	} {
		if figure.got.Current != figure.want || figure.got.Peak < figure.got.Current {
			t.Fatalf("line %d: %v: %s: expected %d by the blocks, found %d/%d", after.Line, after,
				figure.name, figure.want, figure.got.Current, figure.got.Peak)
		}
	}
}
