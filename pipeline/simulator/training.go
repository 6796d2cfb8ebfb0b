package simulator

import (
	"math/bits"
	"slices"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// A step is the present step of a stage's optimizers. With accumulate, it takes several passes.
type step struct {
	batch int  // items of a step
	items int  // items of this step whose passes ended
	made  int  // passes of this step that ended
	ends  bool // the present pass is the last one of the step
}

// begin notes that a pass of so many items begins. last says whether it is the last pass of the
// stage.
func (s *step) begin(items int, last bool) { s.ends = last || s.items+items >= s.batch }

// end notes that a pass ended. If it was the last one of a step, end returns the number of passes
// that the step had; otherwise it returns 0.
func (s *step) end(items int) (passes int) {
	s.items += items
	s.made++
	if !s.ends {
		return 0
	}
	passes = s.made
	s.items, s.made = 0, 0
	return passes
}

// checkpointingTime is the time of a training step with gradient checkpointing, divided by the time
// without: 61 to 50 ms, of ViT-B/16 with a batch of 16 on an H200. In theory it is a third more,
// because the forward pass is made twice (Chen et al., arXiv:1604.06174).
const checkpointingTime = 61.0 / 50

// slowdown returns the factor by which settings of training lengthen a stage's passes.
func (p *process) slowdown(st *stage) float64 {
	if p.scenario.Checkpoints(st.Stage) {
		return checkpointingTime
	}
	return 1
}

// optimize makes a step of the Adam optimizer for the parameters that train. The first step of a
// parameter allocates its states, which stay.
func (p *process) optimize(m *model, trained []models.Tensor, stream int) error {
	if err := p.makeStates(m, trained, stream); err != nil {
		return err
	}
	err := p.takeAll(&m.step, models.AdamStep(trained, m.passes.dtype), stream)
	p.drop(&m.step)
	return err
}

// makeStates allocates Adam's states for the parameters that train and have none yet.
func (p *process) makeStates(m *model, trained []models.Tensor, stream int) error {
	if len(m.optimizer.blocks) == 0 {
		m.stated = map[string]bool{}
	}
	fresh := m.withoutStates(trained)
	if err := p.takeAll(&m.optimizer, models.AdamStates(fresh, m.passes.dtype), stream); err != nil {
		return err
	}
	for _, t := range fresh {
		m.stated[t.Name] = true
	}
	return nil
}

// takeAll allocates a list of tensors. If memory runs out, it frees those that it allocated.
func (p *process) takeAll(to *holding, list []models.Activation, stream int) error {
	before := len(to.blocks)
	for _, a := range list {
		if err := p.take(to, a.Bytes, stream); err != nil {
			p.dropFrom(to, before)
			return err
		}
	}
	return nil
}

// makeMeasuredStates allocates Adam's states of a stage with a measured footprint. A footprint is
// what a stage takes beyond its start, where the states of resident models already exist in all
// files but the first.
func (p *process) makeMeasuredStates(st *stage, v scenario.Vars) error {
	for _, m := range st.models {
		if !m.Train || !m.Resident || m.passes.of == nil {
			continue
		}
		frozen, err := m.Frozen(m.passes.of, v)
		if err != nil {
			return p.scenario.BadValue(m.TrainLayers, v, err)
		}
		if err := p.makeStates(m, m.passes.of.Trained(frozen), st.Stream); err != nil {
			return err
		}
	}
	return nil
}

// withoutStates returns the parameters that have no states of the optimizer yet.
func (m *model) withoutStates(trained []models.Tensor) []models.Tensor {
	return slices.DeleteFunc(slices.Clone(trained), func(t models.Tensor) bool {
		return len(m.optimizer.blocks) > 0 && m.stated[t.Name]
	})
}

// keepsGraph reports whether a fault keeps the graphs of the model's passes over a file.
func (m *model) keepsGraph(file int) bool { return m.graphFrom > 0 && file >= m.graphFrom }

// pin allocates the pinned host memory of the DataLoader that brings a tensor of this size to the
// card. PyTorch's allocator of pinned memory rounds a size up to a power of two
// (CachingHostAllocator.h), and keeps what it has for later batches.
func (p *process) pin(t *scenario.Tensor, bytes int64) {
	if !t.PinMemory || bytes <= 0 {
		return
	}
	if p.pinned == nil {
		p.pinned = map[pinnedSize]int64{}
	}
	of := pinnedSize{t, int64(1) << bits.Len64(uint64(bytes-1))}
	p.pinned[of] = max(p.pinned[of], of.bytes*int64(t.PinnedBuffers()))
}

// A pinnedSize is a size of the pinned buffers of a tensor.
type pinnedSize struct {
	tensor *scenario.Tensor
	bytes  int64
}

// pinnedBytes returns the pinned host memory of the process. ok is false if no tensor of the
// scenario uses such memory.
func (p *process) pinnedBytes() (sum int64, ok bool) {
	for _, bytes := range p.pinned {
		sum += bytes
	}
	return sum, p.pinned != nil
}
