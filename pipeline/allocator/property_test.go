package allocator_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"pgregory.net/rapid"

	"vramsoak/pipeline/allocator"
)

// TestMain fixes the seed, so that the tests try the same cases every time and no build fails by
// chance. The flag -rapid.seed sets another seed.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var settings = []string{
	"", "expandable_segments:True", "expandable_segments:False", "max_split_size_mb:30",
	"max_split_size_mb:25,max_non_split_rounding_mb:40",
	"garbage_collection_threshold:0.5", "roundup_power2_divisions:4",
	"roundup_power2_divisions:[1:8,4:2,>:1]",
	"max_split_size_mb:40,garbage_collection_threshold:0.3",
	"expandable_segments:True,garbage_collection_threshold:0.6",
	"expandable_segments:True,max_split_size_mb:64,roundup_power2_divisions:8",
}

// TestInvariants: after any operations in any order, the allocator's sums agree with its blocks,
// live blocks do not overlap, and each failure is an error of a documented type.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, allocator.DeviceConfig{
			Total:         rapid.Int64Range(0, 300).Draw(t, "total") << 20,
			Overhead:      rapid.Int64Range(0, 20).Draw(t, "overhead") << 20,
			Placement:     allocator.Placement(rapid.IntRange(0, 2).Draw(t, "placement")),
			PendingEvents: rapid.Bool().Draw(t, "pending"),
		}, rapid.SampledFrom(settings).Draw(t, "settings"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 400).Draw(t, "operations") {
			m.do(r.Uint64())
		}
	})
}

// FuzzOperations checks the properties of TestInvariants for operations that the fuzzer chooses.
func FuzzOperations(f *testing.F) {
	f.Add(int64(100), uint8(0), []byte("12345678abcdefgh87654321hgfedcba"))
	f.Fuzz(func(t *testing.T, mib int64, setup uint8, ops []byte) {
		m := newMachine(t, allocator.DeviceConfig{
			Total: mib % 400 << 20, Placement: allocator.Placement(setup % 3),
			PendingEvents: setup&4 != 0,
		}, settings[int(setup>>3)%len(settings)])
		for ; len(ops) >= 8; ops = ops[8:] {
			var op uint64
			for _, b := range ops[:8] {
				op = op<<8 | uint64(b)
			}
			m.do(op)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// A machine performs operations, each chosen by a number, and checks the allocator after each.
type machine struct {
	t    fataler
	a    *allocator.Allocator
	live []allocator.Block
}

func newMachine(t fataler, d allocator.DeviceConfig, conf string) *machine {
	c, err := allocator.ParseConfig(conf)
	if err != nil {
		t.Fatalf("%s: %v", conf, err)
	}
	return &machine{t: t, a: allocator.New(allocator.NewDevice(d), c)}
}

func (m *machine) do(op uint64) {
	m.t.Helper()
	arg := op >> 8
	switch op := op % 32; {
	case op < 14:
		m.malloc(arg)
	case op < 25:
		if len(m.live) > 0 {
			i := arg % uint64(len(m.live))
			m.a.Free(m.live[i])
			m.live[i] = m.live[len(m.live)-1]
			m.live = m.live[:len(m.live)-1]
		}
	case op < 28:
		if len(m.live) > 0 {
			m.a.RecordStream(m.live[arg%uint64(len(m.live))], allocator.Stream(arg>>32%7))
		}
	case op == 28:
		m.a.EmptyCache()
	case op == 29:
		m.a.Synchronize()
	case op == 30:
		if err := m.a.SetMemoryFraction(float64(arg%11) / 10); err != nil {
			m.t.Fatalf("%v", err)
		}
	default:
		if err := m.a.Configure(settings[arg%uint64(len(settings))]); err != nil {
			m.t.Fatalf("%v", err)
		}
	}
	if err := m.a.Check(); err != nil {
		m.t.Fatalf("after operation %#x: %v", op, err)
	}
}

func (m *machine) malloc(arg uint64) {
	m.t.Helper()
	size := int64(1) << (arg % 28)
	size += int64(arg>>8) % size
	b, err := m.a.Malloc(size, allocator.Stream(arg>>40%3))
	if err != nil {
		oom, isOOM := errors.AsType[*allocator.OutOfMemoryError](err)
		_, isDriver := errors.AsType[*allocator.DriverError](err)
		if !isOOM && !isDriver || isOOM && (oom.Size != size || oom.Requested < size) {
			m.t.Fatalf("Malloc(%d): %#v", size, err)
		}
		return
	}
	if m.a.Size(b) < size || m.a.Address(b)%512 != 0 {
		m.t.Fatalf("Malloc(%d): %d bytes at %#x", size, m.a.Size(b), m.a.Address(b))
	}
	m.live = append(m.live, b)
}
