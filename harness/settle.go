package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

const (
	// settleEvery is the time between two looks at a device that may still be moving.
	settleEvery = 250 * time.Millisecond
	// settleStill is how many looks in a row must find what the one before them found. A driver
	// gives the memory of a process that has ended back some time after it.
	settleStill = 4
)

// errSilent is in the error of [Settle] where the driver gave no answer.
var errSilent = errors.New("the driver did not answer")

// Settle waits until what is in use on the devices stops moving, a second at least and limit at
// most, and says what they hold then, in the form of the log. Where it moved to the end, Settled is
// false.
func Settle(ctx context.Context, read func() ([]meter.Occupancy, error), limit time.Duration) ([]parser.Idle, error) {
	type answer struct {
		all []meter.Occupancy
		err error
	}
	var last []meter.Occupancy
	seen, still := false, 0
	over := time.After(limit)
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		answers := make(chan answer, 1) // a driver that hangs leaves its caller behind
		go func() {
			all, err := read()
			answers <- answer{all, err}
		}()
		select {
		case now := <-answers:
			switch {
			case now.err != nil:
				return nil, now.err
			case seen && slices.EqualFunc(last, now.all, sameUse):
				still++
			default:
				still = 0
			}
			last, seen = now.all, true
			if still == settleStill || len(last) == 0 {
				return idles(last, true)
			}
		case <-over:
			if !seen {
				return nil, fmt.Errorf("%w within %v", errSilent, limit)
			}
			return idles(last, false)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case <-tick.C:
		case <-over:
			return idles(last, false)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func sameUse(a, b meter.Occupancy) bool { return a.GPU == b.GPU && a.Used == b.Used }

// idles are the devices as the log has them, with the processes that hold their memory.
func idles(all []meter.Occupancy, settled bool) ([]parser.Idle, error) {
	left, err := Leftovers("")
	if err != nil {
		return nil, err
	}
	head := parser.Header{Time: time.Now()}
	out := make([]parser.Idle, len(all))
	for i, o := range all {
		idle := &out[i]
		*idle = parser.Idle{Header: head, Lane: parser.Lane{Device: o.Device}, GPU: o.GPU, Settled: settled}
		idle.Set(parser.Used, parser.Exact(o.Used))
		idle.Set(parser.Total, parser.Exact(o.Total))
		for _, h := range o.Holders {
			holder := parser.Holder{Header: head, Lane: idle.Lane, PID: h.PID}
			if h.HasUsed {
				holder.Set(parser.Used, parser.Exact(h.Used))
			}
			if p, ok := readProc(h.PID); ok && h.Here {
				holder.Command = p.command()
				holder.Ours = slices.ContainsFunc(left, func(l Leftover) bool { return l.PID == h.PID })
			}
			idle.Holders = append(idle.Holders, holder)
		}
	}
	return out, nil
}

// soak is processAll between two looks at the devices.
func (r *run) soak(ctx context.Context) (verdict, error) {
	if err := r.preflight(ctx); err != nil {
		return verdict{reason: ReasonStopped, what: err.Error()}, err
	}
	return r.work(ctx)
}

// work is processAll and the look at the devices after it.
func (r *run) work(ctx context.Context) (verdict, error) {
	v, err := r.processAll(ctx)
	if err == nil && v.reason != ReasonInterrupted && r.looks() {
		if _, err := r.settle(ctx, parser.PhaseAfter); err != nil {
			r.cfg.Logger.Warn("the device was not looked at after the run", "error", err)
		}
	}
	return v, err
}

// looks says that the devices are looked at before the run and after it.
func (r *run) looks() bool { return r.cfg.Occupied != nil && r.cfg.SettleLimit > 0 }

// preflight looks at the devices before the first process, and refuses to begin where they hold too
// much.
func (r *run) preflight(ctx context.Context) error {
	if !r.looks() {
		return nil
	}
	found, err := r.settle(ctx, parser.PhaseBefore)
	switch most := r.cfg.MaxIdleUsed; {
	case ctx.Err() != nil || r.interrupted:
		return nil // which is told by what follows
	case err != nil && most != nil:
		return fmt.Errorf("looking at the device before the first file: %w; without --max-idle-used the run begins all the same", err)
	case err != nil:
		r.cfg.Logger.Warn("the device was not looked at before the run", "error", err)
	case most != nil:
		return errors.Join(dirty(found, *most)...)
	}
	return nil
}

// settle waits for the devices to settle and writes what they hold to the log.
func (r *run) settle(ctx context.Context, phase parser.Phase) ([]parser.Idle, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found []parser.Idle
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, err = Settle(ctx, r.cfg.Occupied, r.cfg.SettleLimit)
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
			r.cfg.Logger.Warn("what is in use on the device did not stop moving", "gpu", idle.GPU, "limit", r.cfg.SettleLimit)
		}
		r.log.own(*idle)
		for k := range idle.Holders {
			h := &idle.Holders[k]
			h.Ours = h.Ours || r.stuck[h.PID] // whose harness is this one
			h.Command = r.cfg.Secrets.Text(h.Command)
			r.log.own(*h)
		}
	}
	if err == nil {
		err = r.log.flush()
	}
	return found, err
}

// dirty says what holds more than it may, of each device.
func dirty(found []parser.Idle, most Limit) []error {
	var errs []error
	for i := range found {
		idle := &found[i]
		used, total := idle.Bytes(parser.Used), idle.Bytes(parser.Total)
		if used <= most.Of(total) {
			continue
		}
		held := parser.HeldBy(idle.Holders)
		if held == "" {
			held = "; the driver names no process that holds it, as in a container where others hold it"
		}
		errs = append(errs, fmt.Errorf("GPU %d: expected at most %v in use before the first file, found %s of %s%s", idle.GPU, most,
			parser.FormatBytes(used), parser.FormatBytes(total), held))
	}
	return errs
}
