package allocator

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFreeSet compares a freeSet with a sorted slice of the same keys. The freeSet grows to many
// chunks and shrinks to none.
func TestFreeSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var set freeSet
	var sorted []key
	find := func(k key) int {
		i, _ := slices.BinarySearchFunc(sorted, k, func(a, b key) int {
			return 1 - 2*int(a.less(b))
		})
		return i
	}
	for n := range 40_000 {
		if grows := n/10_000%2 == 0; len(sorted) == 0 || r.Float64() < 0.5 && grows || grows &&
			r.Float64() < 0.4 {
			// There are only 40 sizes, so that some keys differ only in their addresses. The
			// addresses go up to the highest one.
			k := newKey(512*(1+r.Int64N(40)), highestVA-512*uint64(1+r.IntN(1<<20)), int32(n))
			set.insert(k)
			sorted = slices.Insert(sorted, find(k), k)
		} else {
			i := r.IntN(len(sorted))
			set.remove(sorted[i])
			sorted = slices.Delete(sorted, i, i+1)
		}
		size := 512 * r.Int64N(45)
		at, ok := set.ceil(size)
		i := find(newKey(size, 0, 0))
		if ok != (i < len(sorted)) || ok && set.key(at) != sorted[i] {
			t.Fatalf("step %d: the first block of %d bytes is %v, expected that at %d", n,
				size, at, i)
		}
		for steps := 0; ok && steps < 3; steps++ {
			if at, ok = set.next(at); ok {
				if i++; set.key(at) != sorted[i] {
					t.Fatalf("step %d: wrong key at %d", n, i)
				}
			}
		}
		if n%500 == 0 {
			var want []int32
			for _, k := range sorted {
				want = append(want, k.block())
			}
			if got := slices.Collect(set.from(0)); !slices.Equal(got, want) {
				t.Fatalf("step %d: blocks %v, expected %v", n, got, want)
			}
			at, back := set.end(), len(sorted)
			for at, ok = set.prev(at); ok; at, ok = set.prev(at) {
				if back--; set.key(at) != sorted[back] {
					t.Fatalf("step %d: wrong key at %d when iterating backwards", n, back)
				}
			}
			if back != 0 {
				t.Fatalf("step %d: %d keys missing when iterating backwards", n, back)
			}
		}
	}
}
