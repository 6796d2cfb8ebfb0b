package peak

import (
	"slices"

	"vramsoak/parser/dialect/serving"
	"vramsoak/parser/record"
)

// liveBuffers holds the buffers that a program holds at the same time.
type liveBuffers struct {
	set []liveBuffer
	// maybe is the size in bytes of earlier buffers that may still be in use, because the log does not
	// say whether the program freed them.
	maybe int64
}

type liveBuffer struct {
	name string
	size record.Size
}

// liveMax is the largest number of buffers that are kept by name.
const liveMax = 64

// add adds the next buffer. It returns the size of all buffers in use, and the bytes of earlier
// buffers that may still be in use. The parameter repeat says which buffer is meant if the program
// prints a name again.
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

// loads clears the set, because the program now loads another model. The earlier buffers may still
// be in use, but they take at most the device's total less its free memory. A program that prints
// no free memory here has just started, and has no buffers yet.
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
