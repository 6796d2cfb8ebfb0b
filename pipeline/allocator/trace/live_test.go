package trace

import (
	"math/rand/v2"
	"testing"

	"vramsoak/pipeline/allocator"
)

// TestLive compares the table of live blocks with a Go map, for any IDs.
func TestLive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, id := range map[string]func() uint64{
		"counted":   func() uint64 { return r.Uint64N(5000) },
		"addresses": func() uint64 { return 0x7f0000000000 + r.Uint64N(5000)<<21 },
		// The worst IDs for Fibonacci hashing, a hash with a fixed factor: all would have the same hash.
		"one place of a fixed hash": func() uint64 { return r.Uint64N(5000) * 0xf1de83e19937733d },
		"high":                      func() uint64 { return ^uint64(0) - r.Uint64N(5000) },
	} {
		table, want := newLive(), map[uint64]allocator.Block{}
		for step := range 50_000 {
			id, block := id(), allocator.Block(step)
			got, found := table.get(id)
			if b, is := want[id]; is != found || b != got {
				t.Fatalf("%s, step %d: expected %v %v, found %v %v", name, step, b, is, got, found)
			}
			if !found {
				table.put(id, block)
				want[id] = block
			} else if got, found := table.take(id); !found || got != want[id] {
				t.Fatalf("%s, step %d: expected %v, found %v %v", name, step, want[id], got, found)
			} else {
				delete(want, id)
			}
			if table.count != len(want) {
				t.Fatalf("%s, step %d: expected %d live blocks, found %d", name, step, len(want),
					table.count)
			}
		}
	}
}
