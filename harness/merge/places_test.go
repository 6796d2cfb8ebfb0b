package merge

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlaces compares the set with a list of flags.
func TestPlaces(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		of := 1 + random.IntN(3*partBits)
		var p places
		has := make([]bool, of+1)
		for range random.IntN(60) {
			from := 1 + random.IntN(of)
			for place := from; place < min(of+1, from+random.IntN(40_000)); place++ {
				if p.add(place) != has[place] {
					t.Fatalf("place %d: added again: %t", place, !has[place])
				}
				has[place] = true
			}
		}
		missing := p.missing(of)
		count, listed := 0, missing.more
		for place := 1; place <= of; place++ {
			if !has[place] {
				count++
			}
		}
		for _, r := range missing.list {
			listed += r[1] - r[0] + 1
			if slices.Contains(has[r[0]:r[1]+1], true) {
				t.Errorf("%v are not all missing", r)
			}
			if r[0] > 1 && !has[r[0]-1] || r[1] < of && !has[r[1]+1] && missing.more == 0 {
				t.Errorf("the range %v is not whole", r)
			}
		}
		if missing.count != count || listed != count {
			t.Errorf("%d of %d places are missing; got %d, listed %d", count, of, missing.count, listed)
		}
	}
}

// TestPlacesOfHugeBatch: a log may claim any number of files.
func TestPlacesOfHugeBatch(t *testing.T) {
	t.Parallel()
	var p places
	p.add(1 << 40)
	p.add(3)
	missing := p.missing(100_000)
	if got := missing.String(); got != "1, 2 and 4-100000" || len(p.parts) != 2 {
		t.Errorf("got %s, with %d parts", got, len(p.parts))
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		numbers []int
		want    string
	}{
		{[]int{3}, "shard 3"},
		{[]int{3, 4}, "shards 3 and 4"},
		{[]int{3, 7, 12, 13, 14}, "shards 3, 7 and 12-14"},
		{
			[]int{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27},
			"shards 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and 2 more",
		},
	} {
		var r ranges
		for _, n := range c.numbers {
			r.add(n)
		}
		if got := r.named("shard"); got != c.want || r.count != len(c.numbers) {
			t.Errorf("got %q of %d, want %q", got, r.count, c.want)
		}
	}
}

// TestTwiceInAnyOrder: a file that several shards have done counts once, and the files are listed
// in order, whatever order the shards worked in.
func TestTwiceInAnyOrder(t *testing.T) {
	t.Parallel()
	e := filesEnded{of: 7}
	for shard, places := range [][]int{{7, 3, 1}, {3, 7}, {2, 7, 4}, {5, 6}} {
		e.noteEnded(&judgedShard{number: shard + 1, ended: places})
	}
	f := e.finding(nil, 4)
	const want = "2 files were done by several shards (3 and 7); 7 of 7 files ended ok"
	if f.Message != want || *f.Measured != 2 {
		t.Errorf("%s (%v), expected %s", f.Message, *f.Measured, want)
	}
}
