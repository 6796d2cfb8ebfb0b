package trace

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"vramsoak/pipeline/allocator"
)

// Random returns a random trace for these settings, with a number of events. The same seed gives
// the same trace. The trace allocates like training and inference: tensors of few exact sizes,
// activations of batches of any length, caches that grow, and sizes near the allocator's limits.
// The live bytes go up and down, so memory sometimes runs out. Random runs each operation on the
// model, so that it knows which allocations failed and does not use their blocks.
func (s Settings) Random(seed uint64, events int) iter.Seq[Op] {
	return func(yield func(Op) bool) {
		conf, err := allocator.ParseConfig(s.Conf)
		if err != nil {
			panic(err) // Draw makes valid settings only
		}
		device := s.Device()
		p := &program{
			settings: s, rand: rand.New(rand.NewPCG(seed, 0x7ace)), left: events, yield: yield,
			device: device, allocator: allocator.New(device, conf), blocks: newLive(),
			maxSplit: cmp.Or(conf.MaxSplitSize, math.MaxInt64),
		}
		p.run()
	}
}

// Device returns a new card as the settings describe it.
func (s Settings) Device() *allocator.Device {
	return allocator.NewDevice(allocator.DeviceConfig{
		Total: s.Capacity, Overhead: s.Overhead, Placement: s.Placement,
		PendingEvents: s.PendingEvents,
	})
}

// A program makes the operations of a random trace and performs them on the model.
type program struct {
	settings Settings
	rand     *rand.Rand
	left     int // operations that are still to be made
	yield    func(Op) bool

	device    *allocator.Device
	allocator *allocator.Allocator
	blocks    *live

	line   int
	next   uint64 // the last ID of a block
	held   []tensor
	bytes  int64 // of all live tensors
	target int64 // bytes of live tensors to reach
	until  int   // value of left at which target changes
	sizes  []int64
	caches []tensor

	maxSplit int64 // max_split_size_mb in bytes, at present
}

// A tensor is a live block of the program.
type tensor struct {
	id     uint64
	size   int64
	stream allocator.Stream
}

// maxHeld limits the number of live tensors: a large model has about so many weights and
// activations.
const maxHeld = 3000

func (p *program) run() {
	p.begin()
	for p.left > 0 {
		if p.left <= p.until {
			share := 0.1 + 0.8*p.rand.Float64()
			if p.rand.IntN(5) == 0 {
				share = 1.1 // until memory runs out
			}
			p.target = int64(share * float64(p.settings.Capacity))
			p.until = p.left - 500 - p.rand.IntN(4000)
		}
		switch n := p.rand.IntN(1000); {
		case n < 12:
			p.seldom()
		case n < 60 && p.settings.RecordStreams:
			p.record()
		case len(p.held) >= maxHeld || p.bytes > p.target && n < 850 || n < 200:
			p.release(1 + p.rand.IntN(6))
		case n < 500:
			p.tensors(1 + p.rand.IntN(8))
		case n < 700:
			p.pass(2 + p.rand.IntN(12))
		case n < 850:
			p.grow()
		default:
			p.malloc(p.edge())
		}
	}
}

// begin draws the values that stay the same for the whole trace: the sizes of most tensors, the
// number of caches, and the memory fraction.
func (p *program) begin() {
	widths := []int64{80, 128, 192, 384, 512, 768, 1024, 1280, 1536, 3584, 4096} // of layers
	for range 4 + p.rand.IntN(30) {
		size := pick(p.rand, widths...) * int64(1+p.rand.IntN(3)*p.rand.IntN(4)) * pick[int64](
			p.rand, 1, 2, 4)
		if p.rand.IntN(2) == 0 {
			size *= pick(p.rand, widths...)
		}
		p.sizes = append(p.sizes, min(size, p.settings.Capacity/4))
	}
	p.caches = make([]tensor, 1+p.rand.IntN(8))
	p.until = p.left
	if p.settings.Fractions {
		p.fraction()
	}
}

// do adds an operation to the trace. The caller has performed it on the model.
func (p *program) do(op Op) {
	if p.left <= 0 {
		return
	}
	p.left--
	p.line++
	op.Line = p.line
	if !p.yield(op) {
		p.left = 0
	}
}

// malloc allocates a tensor. If the allocation fails, malloc does what programs do: it gives up, or
// empties the cache or frees some tensors and tries again, up to twice. It returns false if it gave
// up.
func (p *program) malloc(size int64) (tensor, bool) {
	stream := allocator.Stream(0)
	if p.settings.Streams > 1 && p.rand.IntN(3) > 0 {
		stream = allocator.Stream(p.rand.IntN(p.settings.Streams))
	}
	for try := 0; p.left > 0; try++ {
		p.next++
		t := tensor{p.next, size, stream}
		block, err := p.allocator.Malloc(size, stream)
		p.do(Op{
			Kind: Malloc, ID: t.id, Size: size, Stream: stream,
			OnStream: p.settings.Streams > 1,
		})
		if err == nil {
			p.blocks.put(t.id, block)
			p.held = append(p.held, t)
			p.bytes += size
			return t, true
		}
		react := p.rand.IntN(3)
		if try == 2 || react == 0 {
			break
		}
		if react == 1 {
			p.allocator.EmptyCache()
			p.do(Op{Kind: EmptyCache})
		} else {
			p.release(10)
		}
	}
	return tensor{}, false
}

// free frees the i-th live tensor.
func (p *program) free(i int) {
	t := p.held[i]
	last := len(p.held) - 1
	p.held[i] = p.held[last]
	p.held = p.held[:last]
	p.bytes -= t.size
	block, _ := p.blocks.take(t.id)
	p.allocator.Free(block)
	p.do(Op{Kind: Free, ID: t.id})
}

// drop frees a tensor if it is still live.
func (p *program) drop(t tensor) {
	for i, held := range slices.Backward(p.held) {
		if held.id == t.id {
			p.free(i)
			return
		}
	}
}

// release frees n tensors, either at random or the newest first.
func (p *program) release(n int) {
	newest := p.rand.IntN(2) == 0
	for ; n > 0 && len(p.held) > 0 && p.left > 0; n-- {
		if newest {
			p.free(len(p.held) - 1)
		} else {
			p.free(p.rand.IntN(len(p.held)))
		}
	}
}

// tensors allocates n tensors of the program's sizes.
func (p *program) tensors(n int) {
	for ; n > 0 && p.left > 0; n-- {
		p.malloc(pick(p.rand, p.sizes...))
	}
}

// pass is the forward pass of a model with a number of layers for a batch of random length. Each
// layer's activation is freed when the next one is allocated, except activations that a backward
// pass would need.
func (p *program) pass(layers int) {
	length := int64(1 + p.rand.IntN(64))
	most := p.settings.Capacity / 8
	var kept []tensor
	var before tensor
	for ; layers > 0 && p.left > 0; layers-- {
		t, ok := p.malloc(min(most, length*pick(p.rand, p.sizes...)))
		if before.id != 0 {
			p.drop(before)
		}
		before = tensor{}
		switch {
		case !ok:
		case p.rand.IntN(4) == 0:
			kept = append(kept, t)
		default:
			before = t
		}
	}
	if p.rand.IntN(8) == 0 {
		return // the tensors leak until release frees them
	}
	if before.id != 0 {
		p.drop(before)
	}
	for _, t := range slices.Backward(kept) {
		p.drop(t)
	}
}

// grow makes every cache of attention keys and values a little longer: for each it allocates a new
// tensor, then frees the old one.
func (p *program) grow() {
	row := pick(p.rand, p.sizes...)
	for i := range p.caches {
		old := p.caches[i]
		size := old.size + min(row, p.settings.Capacity/64)
		if size > p.settings.Capacity/6 || p.rand.IntN(40) == 0 {
			size = row
		}
		p.caches[i], _ = p.malloc(size)
		p.drop(old)
	}
}

// edge returns a size near one of the allocator's limits, such as 1 MiB and 10 MiB, or any size.
func (p *program) edge() int64 {
	const kib, mib = 1 << 10, 1 << 20
	switch p.rand.IntN(40) {
	case 0:
		return 0
	case 1:
		return p.settings.Capacity + p.rand.Int64N(1<<20)
	case 2:
		// More than any card has, up to more than the largest size that PyTorch requests from a driver.
		return (1 << 62) >> p.rand.IntN(20)
	case 3:
		return max(1, p.device.Free()-p.rand.Int64N(3)*(2<<20))
	}
	if p.rand.IntN(2) == 0 {
		most := math.Log2(float64(p.settings.Capacity / 3))
		return int64(math.Exp2(most * p.rand.Float64()))
	}
	bound := pick[int64](p.rand, 1, 512, 1024, 256*kib, 512*kib, mib, mib-512, 2*mib, 10*mib,
		20*mib, 21*mib, 64*mib, 128*mib, 200*mib, 256*mib)
	size := bound + pick[int64](p.rand, -513, -512, -1, 0, 1, 511, 512, 513, mib, -mib)
	return max(1, min(size, p.settings.Capacity/2))
}

// record records that another stream uses one of the tensors.
func (p *program) record() {
	if len(p.held) == 0 {
		return
	}
	t := p.held[p.rand.IntN(len(p.held))]
	for range 1 + p.rand.IntN(2) {
		if p.left <= 0 {
			return
		}
		stream := allocator.Stream(p.rand.IntN(p.settings.Streams))
		block, _ := p.blocks.get(t.id)
		p.allocator.RecordStream(block, stream)
		p.do(Op{Kind: RecordStream, ID: t.id, Stream: stream})
	}
	if p.rand.IntN(2) == 0 {
		p.drop(t) // the tensor goes out of scope while another stream works on it
	}
}

// seldom sometimes performs an operation that programs do rarely, such as emptying the cache.
func (p *program) seldom() {
	switch n := p.rand.IntN(1000); {
	case n < 3:
		p.do(Op{Kind: Snapshot})
	case n < 60:
		p.do(Op{Kind: ResetPeak}) // has no effect on later operations
	case n < 120:
		p.allocator.EmptyCache()
		p.do(Op{Kind: EmptyCache})
	case n < 160 && p.settings.Fractions:
		p.fraction()
	case n < 200 && len(p.settings.Configures) > 0:
		p.configure(pick(p.rand, p.settings.Configures...))
	case n < 240 || p.settings.PendingEvents && n < 800:
		p.allocator.Synchronize()
		p.do(Op{Kind: Synchronize})
	}
}

// configure changes the settings to conf, unless conf lowers max_split_size_mb. PyTorch would then
// later free a part of a segment that was split before, and end with the driver's error.
func (p *program) configure(conf string) {
	config, err := allocator.ParseConfig(conf)
	if err != nil {
		panic(err) // Draw makes valid settings only
	}
	limit := cmp.Or(config.MaxSplitSize, math.MaxInt64)
	if limit < p.maxSplit {
		return
	}
	p.maxSplit = limit
	if err := p.allocator.Configure(conf); err != nil {
		panic(err) // ParseConfig accepted conf
	}
	p.do(Op{Kind: Configure, Conf: conf})
}

// fraction sets a random limit for the share of the card that the program may reserve.
func (p *program) fraction() {
	fraction := pick(p.rand, 0.5, 0.75, 0.9, 0.25+0.75*p.rand.Float64(), 1)
	if err := p.allocator.SetMemoryFraction(fraction); err != nil {
		panic(err) // it is between 0 and 1
	}
	p.do(Op{Kind: MemoryFraction, Fraction: fraction})
}
