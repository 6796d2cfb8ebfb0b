package memory

import (
	"slices"

	"vramsoak/parser/record"
)

// A stretch names a part of the log. The file's first checkpoint decides to which stretch a short
// file belongs. A long file has several stretches.
type stretch struct{ fileTime, fileNumber, time, number int64 }

// stretch returns the stretch of a mark.
func (m *mark) stretch(step, stride int64) stretch {
	return stretch{
		m.of.time / step, int64(m.of.number) / stride,
		(m.time - m.of.time) / step, int64(m.number-m.of.number) / stride,
	}
}

// thin makes the stretches longer until the number of marks is within the limit. A longer stretch
// consists of whole old stretches, so their extremes are still there.
func (l *laneSketch) thin(limit int) {
	if len(l.marks) <= limit {
		return
	}
	for l.thinOnce(); len(l.marks) > limit; l.thinOnce() {
		times, numbers := 1, 1
		for i := 1; i < len(l.marks); i++ {
			a, b := &l.marks[i-1], &l.marks[i]
			at, next := a.stretch(l.step, l.stride), b.stretch(l.step, l.stride)
			if at.fileTime != next.fileTime || at.time != next.time {
				times++
			}
			if at.fileNumber != next.fileNumber || at.number != next.number {
				numbers++
			}
		}
		if times >= numbers {
			l.step *= 2
		} else {
			l.stride *= 2
		}
	}
}

// drawn are the quantities for which each stretch keeps its extremes.
var drawn = [...]record.Quantity{
	record.Allocated, record.Reserved, record.Used, record.Peak,
	record.Total,
}

func (l *laneSketch) thinOnce() {
	keep := make([]bool, len(l.marks))
	stretch := make([]int, len(l.marks)) // the first mark of the stretch of each mark
	for from, to := 0, 0; from < len(l.marks); from = to {
		for to = from; to < len(l.marks) && l.sameStretch(&l.marks[from], &l.marks[to]); to++ {
			stretch[to] = from
		}
		keepExtremes(l.marks[from:to], keep[from:to])
	}
	for from, to := 0, 0; from < len(l.marks); from = to {
		of := l.marks[from].of
		for to = from + 1; to < len(l.marks) && l.marks[to].of == of; {
			to++
		}
		keepStages(l.marks[from:to], keep[from:to], stretch[from:to], to == len(l.marks))
	}
	n := 0
	for i := range l.marks {
		if keep[i] {
			l.marks[n] = l.marks[i]
			n++
		}
	}
	clear(l.marks[n:])
	l.marks = l.marks[:n]
}

// sameStretch reports whether two marks are in the same stretch. All marks between them must be in
// this stretch too.
func (l *laneSketch) sameStretch(a, b *mark) bool {
	return a.stretch(l.step, l.stride) == b.stretch(l.step, l.stride)
}

// keepExtremes sets in keep which marks of a stretch are kept.
func keepExtremes(marks []mark, keep []bool) {
	keep[0], keep[len(keep)-1] = true, true
	for _, q := range drawn {
		low, high := -1, -1
		var lowest, highest int64
		for i := range marks {
			size, ok := marks[i].Get(q)
			if !ok {
				continue
			}
			if low < 0 || size.Bytes < lowest {
				low, lowest = i, size.Bytes
			}
			if high < 0 || size.Bytes > highest {
				high, highest = i, size.Bytes
			}
		}
		if high >= 0 {
			keep[low], keep[high] = true, true
		}
	}
	keepIdle(marks, keep)
	seen := [2]bool{} // a failed cleanup, and a failed stage
	for i := range marks {
		keep[i] = keep[i] || marks[i].first
		for _, r := range marks[i].failed {
			kind := 0
			if r.Stage {
				kind = 1
			}
			keep[i] = keep[i] || !seen[kind]
			seen[kind] = true
		}
	}
}

// keepIdle keeps the lowest and the highest idle level of a stretch.
func keepIdle(marks []mark, keep []bool) {
	low, high := -1, -1
	for i := range marks {
		if !marks[i].idle {
			continue
		}
		if low < 0 || marks[i].level() < marks[low].level() {
			low = i
		}
		if high < 0 || marks[i].level() > marks[high].level() {
			high = i
		}
	}
	if high >= 0 {
		keep[low], keep[high] = true, true
	}
}

// level returns the mark's reading of the quantity that [pattern.MainQuantity] prefers.
func (m *mark) level() int64 {
	for _, q := range []record.Quantity{record.Allocated, record.Used} {
		if size, ok := m.Get(q); ok {
			return size.Bytes
		}
	}
	return m.Bytes(record.Reserved)
}

// keepStages keeps both checkpoints of each stage that begins and ends in different stretches. The
// parameter open is set if the file may get more checkpoints.
func keepStages(marks []mark, keep []bool, stretch []int, open bool) {
	find := func(index int) (int, bool) {
		return slices.BinarySearchFunc(marks, index, func(m mark, index int) int {
			return m.index - index
		})
	}
	last := marks[len(marks)-1].index
	for _, s := range marks[0].of.stages {
		before, ok := find(s.Before)
		if !ok {
			continue
		}
		if open && s.After > last {
			keep[before] = true
		} else if after, ok := find(s.After); ok && stretch[before] != stretch[after] {
			keep[before], keep[after] = true, true
		}
	}
}
