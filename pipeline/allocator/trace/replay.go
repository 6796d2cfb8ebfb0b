package trace

import (
	"errors"
	"io"
	"iter"
	"strconv"

	"vramsoak/pipeline/allocator"
)

// Options say what Replay prints.
type Options struct {
	Name       string // of the trace, for errors
	Quiet      bool   // no line for each operation
	Segments   bool   // print a line for each segment event and for each out of memory
	NoSnapshot bool   // print no snapshot at the end
}

// Totals are the counts of a replay.
type Totals struct {
	Events      int // operations that were run
	OutOfMemory int // allocations that failed
	// Unknown counts frees that were skipped, because their ID names neither a live block nor a
	// failed allocation. They are mistakes of the trace. FirstUnknown is the line of the first such
	// free.
	Unknown, FirstUnknown int
}

// Replay runs the operations on the allocator a of device d, and prints exactly what PyTorch's own
// allocator prints in the program of ci/oracle. It ends at the first operation that cannot be run.
// The error is then an [*Error] for a mistake in the trace, or a [*Refusal].
func Replay(w io.Writer, ops iter.Seq2[Op, error], d *allocator.Device, a *allocator.Allocator,
	o Options,
) (Totals, error) {
	r := &replay{
		Options: o, device: d, allocator: a, live: newLive(), failures: map[uint64]bool{},
		w: w,
	}
	if o.Segments {
		a.OnSegment(r.segment)
		defer a.OnSegment(nil)
	}
	for op, err := range ops {
		if err == nil {
			r.now = op
			err = r.op(&r.now)
		}
		if err != nil {
			return r.totals, errors.Join(err, r.flush(0))
		}
	}
	if r.totals.Events == 0 {
		return r.totals, nil // no summary to print
	}
	r.out = append(r.out, "END live="...)
	r.out = strconv.AppendInt(r.out, int64(r.live.count), 10)
	r.out = appendStats(r.out, a.Stats())
	if !o.NoSnapshot {
		r.snapshot()
	}
	return r.totals, r.flush(0)
}

// A replay is the state of a call of Replay.
type replay struct {
	Options
	device    *allocator.Device
	allocator *allocator.Allocator
	live      *live
	failures  map[uint64]bool // IDs of failed allocations that were not freed since
	totals    Totals
	now       Op // the current operation; kept here to avoid an allocation for each operation
	w         io.Writer
	out       []byte // not yet written
}

// enough is the number of bytes that replay collects before it writes them to the output.
const enough = 64 << 10

func (r *replay) flush(least int) error {
	if len(r.out) <= least {
		return nil
	}
	_, err := r.w.Write(r.out)
	r.out = r.out[:0]
	return err
}

// op runs an operation and prints its line.
func (r *replay) op(op *Op) error {
	r.totals.Events++
	if r.Segments && !r.Quiet {
		r.out = append(op.AppendTo(r.out), '\n')
	}
	block, oom, skipped, err := r.run(op)
	if err != nil {
		return err
	}
	if !r.Quiet {
		r.line(op, block, oom, skipped)
	}
	return r.flush(enough)
}

// run runs an operation. It returns the address of the operation's block, or 0 for an operation
// without a block. oom is set if memory ran out. skipped is true for the free of a block that is
// not live.
func (r *replay) run(op *Op) (address uint64, oom *allocator.OutOfMemoryError, skipped bool,
	err error,
) {
	a := r.allocator
	switch op.Kind {
	case Malloc:
		if _, is := r.live.get(op.ID); is {
			return 0, nil, false, r.wrong(op, "the ID of no live block")
		}
		block, err := a.Malloc(op.Size, op.Stream)
		if err != nil {
			if oom, is := err.(*allocator.OutOfMemoryError); is { //nolint:errorlint // never wrapped
				r.totals.OutOfMemory++
				r.failures[op.ID] = true
				return 0, oom, false, nil
			}
			return 0, nil, false, r.failed(op, err)
		}
		r.live.put(op.ID, block)
		return r.address(block), nil, false, nil
	case Free:
		block, is := r.live.take(op.ID)
		if !is {
			r.skip(op)
			return 0, nil, true, nil
		}
		address = r.address(block)
		a.Free(block)
	case RecordStream:
		block, is := r.live.get(op.ID)
		if !is {
			return 0, nil, false, r.wrong(op, "the ID of a live block")
		}
		address = r.address(block)
		a.RecordStream(block, op.Stream)
	case EmptyCache:
		a.EmptyCache()
	case ResetPeak:
		a.ResetPeak()
	case Synchronize:
		a.Synchronize()
	case MemoryFraction:
		err = a.SetMemoryFraction(op.Fraction)
	case Configure:
		err = a.Configure(op.Conf)
	case Snapshot:
		r.snapshot()
	}
	if err != nil {
		err = r.failed(op, err)
	}
	return address, nil, false, err
}

// skip handles the free of a block that is not live. It counts a mistake, unless the block's
// allocation failed.
func (r *replay) skip(op *Op) {
	if r.failures[op.ID] {
		delete(r.failures, op.ID)
		return
	}
	if r.totals.Unknown++; r.totals.Unknown == 1 {
		r.totals.FirstUnknown = op.Line
	}
}

func (r *replay) address(b allocator.Block) uint64 {
	if b == 0 || r.Quiet {
		return 0
	}
	return r.allocator.Address(b)
}

// wrong returns the error for an operation whose block is not as expected.
func (r *replay) wrong(op *Op, expected string) error {
	return &Error{
		Name: r.Name, Line: op.Line, Column: 1, Expected: expected,
		Found: strconv.Quote(op.String()),
	}
}

// A Refusal is an operation that the allocator refused, with the allocator's error.
type Refusal struct {
	Name string
	Line int
	Op   Op
	Err  error
}

func (e *Refusal) Error() string {
	return e.Name + ":" + strconv.Itoa(e.Line) + ": " + e.Op.String() + ": " + e.Err.Error()
}

func (e *Refusal) Unwrap() error { return e.Err }

func (r *replay) failed(op *Op, err error) error {
	return &Refusal{Name: r.Name, Line: op.Line, Op: *op, Err: err}
}

// line prints the result of an operation:
//
//	a 1 9437184              0x7f0000000000 alloc=9437184/9437184 resv=20971520/20971520 ...
func (r *replay) line(op *Op, address uint64, oom *allocator.OutOfMemoryError, skipped bool) {
	const width = 24 // of the operation's column
	begin := len(r.out)
	b := op.AppendTo(r.out)
	for len(b) < begin+width {
		b = append(b, ' ')
	}
	switch {
	case skipped:
		r.out = append(b, " not live (skipped)\n"...)
		return
	case oom != nil:
		b = append(b, " OOM"...)
	case address != 0:
		b = appendHex(append(b, ' '), address)
	}
	b = appendStats(b, r.allocator.Stats())
	if oom != nil {
		b = append(append(append(b, "    ! "...), oom.Facts()...), '\n')
	}
	r.out = b
}

// segment prints a line for an event between the allocator and the driver.
func (r *replay) segment(e allocator.SegmentEvent) {
	b := append(append(r.out, "    > "...), e.Kind.String()...)
	b = appendHex(append(b, ' '), e.Address)
	// For an allocation that failed, the size may be 2^63.
	b = strconv.AppendUint(append(b, ' '), uint64(e.Size), 10)
	b = appendStream(append(b, " stream="...), e.Stream)
	r.out = append(b, '\n')
}

// snapshot prints all segments and their blocks.
func (r *replay) snapshot() {
	segments := r.allocator.Snapshot()
	b := strconv.AppendInt(append(r.out, "SNAPSHOT segments="...), int64(len(segments)), 10)
	b = strconv.AppendInt(append(b, " device_free="...), r.device.Free(), 10)
	b = strconv.AppendInt(append(b, " device_total="...), r.device.Total(), 10)
	b = append(b, '\n')
	for i := range segments {
		b = appendSegment(b, &segments[i])
	}
	r.out = b
}
