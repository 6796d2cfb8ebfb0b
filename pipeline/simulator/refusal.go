package simulator

import (
	"errors"
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/models"
)

// A refusal describes the memory at the moment at which an allocation failed, before the failed
// stage frees its memory.
type refusal struct {
	of    part // what the allocation was for
	parts []Part
	held  record.SegmentMap
}

// refuse records the memory when an allocation for the use of fails.
func (p *process) refuse(of part) {
	level := p.level()
	p.refused = refusal{of: of, parts: p.onCard(p.ledger.present(), level.Reserved,
		level.Allocated)}
	if p.log.w != nil {
		p.refused.held = p.segmentMap("out of memory")
	}
}

// failed returns the failure that err describes, or nil if err is not an out-of-memory error. wants
// computes [Failure.Wants].
func (p *process) failed(file int, stage string, err error, wants func() (int64, error)) *Failure {
	oom, ok := errors.AsType[*allocator.OutOfMemoryError](err)
	if !ok {
		return nil
	}
	of := p.ledger.parts[p.refused.of]
	f := &Failure{
		File: file, Stage: stage, What: fmt.Sprintf("%s of %s", of.Kind, of.Name), Of: of,
		OOM: oom, Parts: p.refused.parts,
	}
	if of.Name == "" {
		f.What = string(of.Kind)
	}
	var bad error
	if f.Wants, bad = wants(); bad != nil {
		// wants fails if an expression has no value for a pass that did not begin.
		f.Wants = oom.Allocated + oom.Requested
	}
	return f
}

// residentWants returns how many bytes would be allocated if all resident models were loaded.
func (p *process) residentWants() (int64, error) {
	sum := p.ledger.allocated
	for _, m := range p.models {
		if m.Resident && len(m.weights.blocks) == 0 {
			sum += m.bytes
		}
	}
	return sum, nil
}

// stageWants returns how many bytes would have been allocated at the highest point of the failed
// pass, or of the stage's first pass, if no allocation had failed.
func (p *process) stageWants(st *stage) (int64, error) {
	v := p.working
	v.Batch = min(v.Batch, max(1, v.Items))
	sum := p.ledger.allocated
	if st.Footprint != nil {
		peak, _ := footprint(st, v)
		return sum - st.measured.bytes - st.keeps.bytes + peak, nil
	}
	for _, m := range st.models {
		// The current pass did not end, so its allocations do not count.
		sum -= p.ledger.parts[m.outputs.part].Bytes - m.outputs.bytes
		if m.Train {
			sum -= p.ledger.parts[m.gradients.part].Bytes - m.gradients.bytes
		}
		if len(m.weights.blocks) == 0 {
			sum += m.bytes
		}
	}
	results := int64(0)
	for _, t := range st.tensors {
		count, err := number(t.Count, v)
		if err != nil {
			return 0, err
		}
		missing := int64(0)
		for v.Index = 1; v.Index <= count; v.Index++ {
			bytes, err := t.Bytes(v)
			if err != nil {
				return 0, err
			}
			missing += bytes
		}
		for _, h := range t.blocks[min(t.began, len(t.blocks)):] {
			missing -= h.bytes
		}
		for _, h := range t.stays.blocks[min(t.staysBegan, len(t.stays.blocks)):] {
			missing -= h.bytes
		}
		if t.isResult() {
			results += max(0, missing)
		} else {
			sum += max(0, missing)
		}
	}
	item, err := itemSeconds(st, v)
	if err != nil {
		return 0, err
	}
	most := sum
	for _, m := range st.models {
		if m.passes.of == nil {
			continue
		}
		in := m.Input(v.Batch, item)
		if m.Train {
			if in.Frozen, err = m.Frozen(m.passes.of, v); err != nil {
				return 0, err
			}
			if in.Adds = p.step.made > 0; !in.Adds { // optimizer.zero_grad()
				sum -= m.outputs.bytes + m.gradients.bytes
			}
		}
		pass := m.passes.of.Forward(in, m.passes.dtype)
		most = max(most, sum+models.Peak(pass))
		for _, a := range pass {
			if a.To == models.Output {
				sum += a.Bytes
			}
		}
		if !m.Train {
			sum -= m.outputs.bytes
			continue
		}
		trained := m.passes.of.Trained(in.Frozen)
		sum += models.Peak(models.AdamStates(m.withoutStates(trained), m.passes.dtype))
		step := models.Peak(models.AdamStep(trained, m.passes.dtype))
		most = max(most, sum+step)
	}
	return max(most, sum+results), nil
}
