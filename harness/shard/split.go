package shard

import (
	"cmp"
	"math"
	"slices"

	"vramsoak/harness/queue"
)

// Split divides a batch into n shards, so that all shards have about the same length of audio. It
// returns the indices of the files of each shard, in the order of the batch. The longest files are
// dealt first, each to the shard with the least audio so far (Graham 1969: no shard gets more than
// 4/3 of what the best division gives to its longest). A file of unknown length counts as the mean
// of the others. If no length is known, the files are dealt in turn, like cards.
//
// The division is a function of the paths' order and of the lengths in whole milliseconds, so it is
// the same on every machine.
func Split(files []queue.Input, n int) [][]int32 {
	shares := make([][]int32, n)
	lengths := lengths(files)
	order := make([]int32, len(files))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(lengths[b], lengths[a]) })
	loads := newLoads(n)
	for _, i := range order {
		s := loads.add(lengths[i])
		shares[s] = append(shares[s], i)
	}
	for _, share := range shares {
		slices.Sort(share)
	}
	return shares
}

// lengths returns the length of each file in milliseconds.
func lengths(files []queue.Input) []int64 {
	all := make([]int64, len(files))
	known, sum := int64(0), int64(0)
	for i := range files {
		if all[i] = Milliseconds(files[i].AudioSeconds); all[i] > 0 {
			known++
			sum += all[i]
		}
	}
	mean := int64(1)
	if known > 0 {
		mean = max(1, sum/known)
	}
	for i := range all {
		if all[i] == 0 {
			all[i] = mean
		}
	}
	return all
}

// lengthMax limits the length of a file, so that sums of ten million lengths stay exact.
const lengthMax = math.MaxInt64 / 1e8

// Milliseconds returns a length of audio in whole milliseconds, or 0 if it is not known.
func Milliseconds(seconds float64) int64 {
	ms := math.Round(seconds * 1000)
	if !(ms > 0) { // NaN too
		return 0
	}
	return int64(min(ms, lengthMax))
}

// loads is a heap of shards. The first is the shard with the least audio; of several, the one with
// the fewest files, and then the one with the smallest number.
type loads []load

type load struct {
	sum   int64 // milliseconds
	files int
	shard int
}

func newLoads(n int) loads {
	all := make(loads, n)
	for i := range all {
		all[i].shard = i
	}
	return all
}

// add gives a file of this length to the first shard, and returns the shard.
func (l loads) add(length int64) int {
	given := l[0].shard
	l[0].sum += length
	l[0].files++
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(l); child++ {
			if l[child].compare(l[least]) < 0 {
				least = child
			}
		}
		if least == i {
			return given
		}
		l[i], l[least] = l[least], l[i]
		i = least
	}
}

func (a load) compare(b load) int {
	return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.files, b.files),
		cmp.Compare(a.shard, b.shard))
}
