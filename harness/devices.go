package harness

import (
	"context"
	"errors"
	"fmt"

	"vramsoak/harness/sample"
	"vramsoak/parser/record"
)

// soak runs the whole soak: it measures the memory in use on the devices, works on the batch, and
// measures the devices again. It returns the decision that ended the run.
func (r *run) soak(ctx context.Context) (decision, error) {
	if err := r.checkDevices(ctx); err != nil {
		return decision{reason: ReasonStopped, what: err.Error()}, err
	}
	return r.work(ctx)
}

// work processes the batch. Then, unless the run was interrupted, it logs how much memory is in use
// on the devices.
func (r *run) work(ctx context.Context) (decision, error) {
	d, err := r.processAll(ctx)
	if err == nil && d.reason != ReasonInterrupted && r.looksAtDevices() {
		if _, err := r.settle(ctx, record.PhaseAfter); err != nil {
			r.cfg.Logger.Warn("the device was not looked at after the run", "error", err)
		}
	}
	return d, err
}

// looksAtDevices reports whether the run measures the memory in use on the devices before its first
// process and after its last.
func (r *run) looksAtDevices() bool { return r.cfg.Occupied != nil && r.cfg.SettleLimit > 0 }

// checkDevices logs how much memory is in use on the devices before the first process starts. It
// returns an error if more than Config.MaxIdleUsed is in use on a device.
func (r *run) checkDevices(ctx context.Context) error {
	if !r.looksAtDevices() {
		return nil
	}
	found, err := r.settle(ctx, record.PhaseBefore)
	switch most := r.cfg.MaxIdleUsed; {
	case ctx.Err() != nil || r.interrupted:
		return nil // processAll returns the interruption
	case err != nil && most != nil:
		return fmt.Errorf("looking at the device before the first file: %w; "+
			"without --max-idle-used the run begins all the same", err)
	case err != nil:
		r.cfg.Logger.Warn("the device was not looked at before the run", "error", err)
	case most != nil:
		return errors.Join(sample.TooFull(found, *most)...)
	}
	return nil
}

// settle waits until the memory in use on the devices stops changing. It then writes an idle line
// to the log for each device, and a line for each process that holds memory of the device. See
// [sample.Settle].
func (r *run) settle(ctx context.Context, phase record.Phase) ([]record.Idle, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found []record.Idle
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, err = sample.Settle(ctx, r.cfg.Occupied, r.cfg.SettleLimit)
	}()
	select {
	case <-done:
	case <-r.kill:
		r.kill, r.interrupted = nil, true
		cancel()
		<-done
	}
	for i := range found {
		idle := &found[i]
		idle.Phase = phase
		if !idle.Settled {
			r.cfg.Logger.Warn("what is in use on the device did not stop changing",
				"gpu", idle.GPU, "limit", r.cfg.SettleLimit)
		}
		r.log.Add(*idle)
		for k := range idle.Holders {
			h := &idle.Holders[k]
			h.Ours = h.Ours || r.stuck[h.PID] // this harness started it
			h.Command = r.cfg.Secrets.Text(h.Command)
			r.log.Add(*h)
		}
	}
	if err == nil {
		err = r.log.Flush()
	}
	return found, err
}
