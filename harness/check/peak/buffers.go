package peak

import (
	"slices"

	"vramsoak/parser/dialect/serving"
	"vramsoak/parser/record"
)

// liveBuffers are the buffers that a program holds at once.
type liveBuffers struct {
	set []liveBuffer
	// maybe is how many bytes of earlier buffers may still be in use, because the log does not say
	// that they were freed.
	maybe int64
}

type liveBuffer struct {
	name string
	size record.Size
}

// liveMax bounds the names that are kept.
const liveMax = 64

// add takes a buffer. It returns the size of all buffers held at once, and the bytes of earlier
// ones that may still be in use.
func (b *liveBuffers) add(name string, repeat serving.Repeat, size record.Size) (
	sum record.Size, maybe int64,
) {
	i := slices.IndexFunc(b.set, func(o liveBuffer) bool { return o.name == name })
	switch {
	case i >= 0 && repeat == serving.RepeatNewList:
		b.maybe += b.sum().High()
		b.set = append(b.set[:0], liveBuffer{name, size})
	case i >= 0:
		if repeat == serving.RepeatOrSecond {
			b.maybe += b.set[i].size.High()
		}
		b.set[i].size = size
	case len(b.set) < liveMax:
		b.set = append(b.set, liveBuffer{name, size})
	default:
		b.maybe += size.High()
	}
	return b.sum(), b.maybe
}

func (b *liveBuffers) sum() (sum record.Size) {
	for _, o := range b.set {
		sum.Bytes += o.size.Bytes
		sum.Resolution += o.size.Resolution
	}
	return sum
}

// loads notes that the program begins to load a model. Earlier buffers then take at most the memory
// that is not free. A program that prints the total alone has just started and has no buffers yet.
func (b *liveBuffers) loads(reading *record.Reading, totals []total) {
	before := b.maybe + b.sum().High()
	b.set, b.maybe = b.set[:0], before
	free, ok := reading.Get(record.Free)
	size, has := reading.Get(record.Total)
	if !has && len(totals) == 1 {
		size, has = totals[0].size, true
	}
	switch {
	case !ok:
		b.maybe = 0
	case has:
		b.maybe = min(before, max(0, size.High()-free.Low()))
	}
}
