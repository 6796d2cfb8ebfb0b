package simulator

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"vramsoak/parser/segments"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/scenario"
)

// errCrash is the error of a stage in which a fault crashes the process.
var errCrash = errors.New("the process crashed")

// runStage runs a stage for a file, between its two checkpoints, with its cleanups. After a crash
// there are no cleanups.
func (p *process) runStage(st *stage, v scenario.Vars) error {
	if st.clearBefore {
		p.clear("before " + st.Name)
	}
	p.checkpoint(st.before, nil)
	for _, f := range st.crashes {
		if f.Crash == v.File {
			return errCrash
		}
	}
	p.beginPeak()
	err := p.work(st, v)
	if f := p.failed(v.File, st.Name, err, func() (int64, error) {
		return p.stageWants(st)
	}); f != nil {
		p.outOfMemory(f)
		p.rewind(st)
		if st.OnOOM == scenario.OOMSkips {
			p.outcome.Skipped++
			p.log.text("WARNING: Falling back to the fast path: the file goes on without %s",
				st.Name)
			err = nil
		}
	}
	for _, c := range st.cleanups {
		p.cleanup(c, v.File, func(yield func(*holding) bool) { st.own(yield, true) })
	}
	st.own(func(h *holding) bool { p.release(h, v.File); return true }, false)
	if st.clearAfter {
		p.clear("after " + st.Name)
	}
	p.checkpoint(st.after, nil)
	p.endPeak(st, v.File)
	if unexpected(err) == nil && err != nil {
		return fmt.Errorf("%s: %w", st.Name, err)
	}
	return err
}

// own yields the memory that is freed at the end of the stage, like local variables. If all is
// true, it also yields the models that a cleanup names, which are not freed at the end of the
// stage.
func (st *stage) own(yield func(*holding) bool, all bool) {
	for _, m := range st.models {
		if !yield(&m.outputs) || !yield(&m.gradients) || !m.Resident && (all || !m.weights.cleaned) &&
			(!yield(&m.weights) || !yield(&m.optimizer)) {
			return
		}
	}
	for _, t := range st.tensors {
		if !t.Until.Outlives(scenario.WithStage) && !yield(&t.holding) {
			return
		}
	}
	if st.Footprint != nil {
		yield(&st.measured)
	}
}

// begin notes the present allocations of the tensors that are allocated in each pass, or once in a
// stage.
func (st *stage) begin(each scenario.Span) {
	for _, t := range st.tensors {
		if t.Each == each {
			t.began, t.staysBegan = len(t.blocks), len(t.stays.blocks)
		}
	}
}

// rewind frees the tensors that the unfinished pass allocated. The rest of the stage's memory stays
// until the stage ends. A variable that the pass overwrote keeps its new value.
func (p *process) rewind(st *stage) {
	for _, t := range st.tensors {
		if t.Each != scenario.Pass {
			continue
		}
		if t.Until != scenario.UntilNext {
			p.dropFrom(&t.holding, min(t.began, len(t.blocks)))
		}
		p.dropFrom(&t.stays, min(t.staysBegan, len(t.stays.blocks)))
	}
}

// cleanup frees the holdings that the cleanup names. If the cleanup names none, it frees the
// holdings that all yields: the memory of its stage or file.
func (p *process) cleanup(c *cleanup, file int, all func(yield func(*holding) bool)) {
	frees := func(yield func(*holding) bool) {
		if c.everything {
			all(yield)
			return
		}
		for _, h := range c.frees {
			if !yield(h) {
				return
			}
		}
	}
	holds := int64(0)
	for h := range frees {
		holds += h.bytes
	}
	p.checkpoint(c.before, &holds)
	for h := range frees {
		p.release(h, file)
	}
	if c.emptyCache {
		p.emptyCache()
	}
	p.checkpoint(c.after, nil)
}

// work does the work of a stage: it loads the models, allocates the tensors and makes the passes. A
// stage with a measured footprint allocates the footprint instead.
func (p *process) work(st *stage, v scenario.Vars) error {
	v.Total, v.Free = p.scenario.GPU.Total,
		max(0, p.device.Free()-(p.capacity-p.scenario.GPU.Total))
	items, err := number(st.Items, v)
	if err != nil {
		return p.scenario.BadValue(st.Items, v, err)
	}
	v.Items = items
	batch, err := number(st.Batch, v)
	if err != nil {
		return p.scenario.BadValue(st.Batch, v, err)
	}
	effective := max(1, batch) // of the optimizer's step
	batch = st.OfPass(effective)
	if st.limit > 0 {
		batch = min(batch, st.limit)
	}
	v.Batch = batch
	if st.Accumulate <= 1 {
		effective = batch
	}
	p.step = step{batch: effective}
	p.working, p.allocations = v, 0
	if scenario.Passes(items, batch) > scenario.MaxAllocations {
		return p.scenario.TooMany(st.Items, v)
	}
	if st.Footprint != nil {
		if err := p.makeMeasuredStates(st, v); err != nil {
			return err
		}
		if err := p.measured(st, v); err != nil {
			return err
		}
		seconds, err := st.Seconds.Eval(v)
		if err != nil {
			return p.scenario.BadValue(st.Seconds, v, err)
		}
		p.now += seconds
		return p.leak(st, v.File)
	}
	for _, m := range st.models {
		if err := p.load(m); err != nil {
			return err
		}
	}
	if v.ItemSeconds, err = itemSeconds(st, v); err != nil {
		return p.scenario.BadValue(st.ItemSeconds, v, err)
	}
	st.begin(scenario.WithStage)
	if err := p.allocate(st, scenario.WithStage, false, v); err != nil {
		return err
	}
	if err := p.makePasses(st, items, batch, v); err != nil {
		return err
	}
	if err := p.allocate(st, scenario.WithStage, true, v); err != nil {
		return err
	}
	return p.leak(st, v.File)
}

// leak allocates the memory that faults leak in this stage, and never frees it.
func (p *process) leak(st *stage, file int) error {
	for _, f := range st.leaks {
		if file >= f.FromFile {
			if err := p.take(&p.leaked, f.Leak, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// number returns the value of an expression as a whole number, or 1 if the scenario does not give
// the expression.
func number(e scenario.Expr, v scenario.Vars) (int, error) {
	if e.String() == "" {
		return 1, nil
	}
	return e.Int(v)
}

// makePasses makes the passes of a stage over the items of a file, with up to batch items in each.
func (p *process) makePasses(st *stage, items, batch int, v scenario.Vars) error {
	seconds, err := st.Seconds.Eval(v)
	if err != nil {
		return p.scenario.BadValue(st.Seconds, v, err)
	}
	if items == 0 {
		p.now += seconds
		return nil
	}
	slowdown := p.slowdown(st)
	seconds *= slowdown
	repeats := p.repeats && p.scenario.Clear.Every == 0
	for _, t := range st.tensors {
		repeats = repeats && t.Each != scenario.Pass
	}
	for _, m := range st.models {
		repeats = repeats && !m.keepsGraph(v.File)
	}
	p.rep.n = 0
	for done, n := 0, 1; done < items; n++ {
		v.Batch, v.Pass = min(batch, items-done, p.step.batch-p.step.items), n
		itemSeconds, err := itemSeconds(st, v)
		if err != nil {
			return p.scenario.BadValue(st.ItemSeconds, v, err)
		}
		v.ItemSeconds = itemSeconds
		p.working = v
		p.step.begin(v.Batch, done+v.Batch >= items)
		err = p.onePass(st, itemSeconds, v)
		if err != nil && st.OnOOM == scenario.OOMHalves && v.Batch > 1 {
			f := p.failed(v.File, st.Name, err, func() (int64, error) { return p.stageWants(st) })
			if f == nil {
				return err
			}
			f.Recovered = true
			p.outOfMemory(f)
			p.rewind(st)
			batch = (v.Batch + 1) / 2
			st.limit = batch
			p.log.text("WARNING: Attempting GPU recovery and retry with smaller batch: %d "+
				"instead of %d", batch, v.Batch)
			p.clear("before the batch is tried again")
			v.Batch = batch
			if seconds, err = st.Seconds.Eval(v); err != nil {
				return p.scenario.BadValue(st.Seconds, v, err)
			}
			seconds *= slowdown
			if st.Accumulate <= 1 {
				p.step.batch = batch
			}
			p.rep.n = 0
			continue
		}
		if err != nil {
			return err
		}
		made, took := 1, v.Batch
		if ofStep := p.step.end(v.Batch); repeats && ofStep > 0 {
			if period := p.rep.add(v.Batch, itemSeconds, p.events, p.outputsOf(st)); period > 0 {
				// Whole steps are left out: each has as many passes as this one.
				steps := (items - done - v.Batch) / p.step.batch / period * period
				made, took = 1+steps*ofStep, v.Batch+steps*p.step.batch
				n += made - 1
			}
		}
		done += took
		p.now += seconds * float64(took) / float64(items)
		p.outcome.Stats.Passes += int64(made)
		p.outcome.Stats.Repeated += int64(made - 1)
		if p.passes += made; p.scenario.Clear.Every > 0 && p.passes >= p.scenario.Clear.Every {
			p.passes = 0
			p.clear("")
		}
	}
	return nil
}

// itemSeconds returns the length of the items of a pass in seconds. If the lengths differ, it is
// the longest, because the other items are padded to this length.
func itemSeconds(st *stage, v scenario.Vars) (float64, error) {
	if st.ItemSeconds.String() == "" {
		return v.Seconds / float64(max(1, v.Items)), nil
	}
	return st.ItemSeconds.Eval(v)
}

// outputsOf yields the addresses of the last outputs of a stage's models.
func (p *process) outputsOf(st *stage) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, m := range st.models {
			for _, h := range slices.Concat(m.outputs.blocks, m.gradients.blocks) {
				if !yield(p.alloc.Address(h.block)) {
					return
				}
			}
		}
	}
}

// onePass makes one pass: it allocates the pass's tensors, runs the models and frees the tensors.
func (p *process) onePass(st *stage, itemSeconds float64, v scenario.Vars) error {
	st.begin(scenario.Pass)
	if err := p.allocate(st, scenario.Pass, false, v); err != nil {
		return err
	}
	for _, m := range st.models {
		if m.passes.of == nil {
			continue
		}
		if err := p.forward(m, m.Input(v.Batch, itemSeconds), st.Stream, v); err != nil {
			return err
		}
	}
	if err := p.allocate(st, scenario.Pass, true, v); err != nil {
		return err
	}
	for _, t := range st.tensors {
		if t.Each == scenario.Pass && t.Until == scenario.Pass {
			p.release(&t.holding, v.File)
		}
	}
	return nil
}

// allocate allocates the tensors of a stage that are allocated once per pass, or once per stage, as
// each says. If results is true, it allocates the tensors that outlive the pass or stage, otherwise
// the other tensors.
func (p *process) allocate(st *stage, each scenario.Span, results bool, v scenario.Vars) error {
	for _, t := range st.tensors {
		if t.Each != each || t.isResult() != results {
			continue
		}
		count, err := number(t.Count, v)
		if err != nil {
			return p.scenario.BadValue(t.Count, v, err)
		}
		if p.allocations += count; p.allocations > scenario.MaxAllocations {
			return p.scenario.TooMany(t.Count, v)
		}
		kept, err := t.Kept.Int(v)
		if err != nil {
			return p.scenario.BadValue(t.Kept, v, err)
		}
		old := len(t.blocks)
		for i := range count {
			v.Index = i + 1
			bytes, err := t.Bytes(v)
			if err != nil {
				return p.scenario.BadTensor(*t.Tensor, v, err)
			}
			p.pin(t.Tensor, bytes)
			to := &t.holding
			if i < kept {
				to = &t.stays
			}
			if err := p.take(to, bytes, t.Stream); err != nil {
				if t.Until == scenario.UntilNext { // the variable keeps its old value
					p.dropFrom(&t.holding, old)
				}
				return err
			}
		}
		if t.Until == scenario.UntilNext {
			p.dropRange(&t.holding, 0, old)
			t.began = 0
		}
	}
	return nil
}

// measuredPiece is the size in bytes of the allocations that replace a measured footprint. A
// measured log gives only the total of a stage.
const measuredPiece = 32 << 20

// measuredStream is the stream on which the simulator reserves the cache of a measured stage.
// PyTorch's allocator uses cached memory only for allocations on the same stream, so the stage's
// work cannot use this cache; the allocator releases it when memory runs short.
const measuredStream = 1 << 10

// footprint returns the memory that an earlier real run measured for a stage and a file of this
// length, in bytes above the memory at the start of the stage. peak is the highest memory of the
// stage; kept is the memory that stays allocated until the end of the file.
func footprint(st *stage, v scenario.Vars) (peak, kept int64) {
	f := st.Footprint
	return f.Base + int64(f.PerSecond*v.Seconds), f.Kept + int64(f.KeptPerSecond*v.Seconds)
}

// spare returns how many bytes can be allocated on a stream before the allocator releases cached
// memory: the bytes that the driver has left, within the memory fraction, plus the bytes cached for
// the stream.
func (p *process) spare(stream allocator.Stream) int64 {
	left := p.device.Free()
	if f := p.scenario.MemoryFraction; f > 0 {
		left = min(left, int64(f*float64(p.scenario.GPU.Total))-p.level().Reserved)
	}
	for _, s := range p.alloc.Snapshot() {
		if s.Stream == stream {
			left += s.Size - s.Active
		}
	}
	return left
}

// measured allocates the memory that a real run measured for a stage, instead of the stage's models
// and tensors.
func (p *process) measured(st *stage, v scenario.Vars) error {
	peak, kept := footprint(st, v)
	cache := int64(max(0, st.Footprint.Reserved-1) * float64(peak))
	if cache > 0 {
		p.notePeak()
		// The cache must not make the stage fail, so it takes only memory that the stage leaves free. A
		// piece may need more memory than its size, hence the margin of one piece.
		for left := min(cache,
			p.spare(measuredStream)-peak-measuredPiece); left > 0; left -= measuredPiece {
			if err := p.take(&st.measured, min(left, measuredPiece), measuredStream); err != nil {
				break
			}
		}
		p.drop(&st.measured)
		p.forgetPeak() // the cache was never in use
		p.ledger.begin()
	}
	for left := peak - kept; left > 0; left -= measuredPiece {
		if err := p.take(&st.measured, min(left, measuredPiece), 0); err != nil {
			return err
		}
	}
	for left := min(kept, peak); left > 0; left -= measuredPiece {
		if err := p.take(&st.keeps, min(left, measuredPiece), 0); err != nil {
			return err
		}
	}
	return nil
}

// clear empties the cache (torch.cuda.empty_cache). It logs when, such as "before Transcription";
// if when is "", it logs nothing.
func (p *process) clear(when string) {
	p.emptyCache()
	if when != "" {
		p.log.text("Cleared GPU cache %s", when)
	}
}

// outOfMemory writes a failed allocation to the log, with PyTorch's message and the allocator's
// segments at that time.
func (p *process) outOfMemory(f *Failure) {
	p.charge()
	if p.outcome.FirstFailure == nil {
		p.outcome.FirstFailure = f
	}
	p.log.text("ERROR: %v", f.OOM)
	if p.log.w != nil {
		held := p.refused.held
		held.Header, held.Requested = p.log.head(), f.OOM.Requested
		p.log.write(func(b []byte) []byte { return segments.AppendLine(&held, b) })
	}
}
