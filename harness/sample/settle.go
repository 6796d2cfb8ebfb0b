package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

const (
	// settleEvery is the time between two readings of the memory in use.
	settleEvery = 250 * time.Millisecond
	// settleLooks is how many readings in a row must be equal to the reading before them. Settle waits
	// for that, because a driver frees the memory of a process some time after the process has ended.
	settleLooks = 4
)

// errNoAnswer is wrapped in the error of [Settle] if the driver did not answer in time.
var errNoAnswer = errors.New("the driver did not answer")

// Settle waits until the memory in use on the devices stops changing, for a second at least and the
// duration limit at most. The function read returns the memory in use now. Settle returns one
// record per device for the log, with the memory in use at the end of the wait. If that memory was
// still changing at the limit, Settled is false in the records.
func Settle(
	ctx context.Context, read func() ([]meter.Occupancy, error), limit time.Duration,
) ([]record.Idle, error) {
	type answer struct {
		all []meter.Occupancy
		err error
	}
	var last []meter.Occupancy
	seen, same := false, 0
	over := time.After(limit)
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		answers := make(chan answer, 1) // a driver that hangs blocks only the goroutine
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
				same++
			default:
				same = 0
			}
			last, seen = now.all, true
			if same == settleLooks || len(last) == 0 {
				return idleRecords(last, true)
			}
		case <-over:
			if !seen {
				return nil, fmt.Errorf("%w within %v", errNoAnswer, limit)
			}
			return idleRecords(last, false)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case <-tick.C:
		case <-over:
			return idleRecords(last, false)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func sameUse(a, b meter.Occupancy) bool { return a.GPU == b.GPU && a.Used == b.Used }

// idleRecords returns a record for each device, with the memory in use and the processes that hold
// it.
func idleRecords(all []meter.Occupancy, settled bool) ([]record.Idle, error) {
	orphans, err := supervise.FindOrphans("")
	if err != nil {
		return nil, err
	}
	head := record.Header{Time: time.Now()}
	out := make([]record.Idle, len(all))
	for i, o := range all {
		idle := &out[i]
		*idle = record.Idle{
			Header: head, Lane: record.Lane{Device: o.Device}, GPU: o.GPU, Settled: settled,
		}
		idle.Set(record.Used, record.Exact(o.Used))
		idle.Set(record.Total, record.Exact(o.Total))
		for _, h := range o.Holders {
			holder := record.Holder{Header: head, Lane: idle.Lane, PID: h.PID}
			if h.HasUsed {
				holder.Set(record.Used, record.Exact(h.Used))
			}
			if command, ok := supervise.CommandOf(h.PID); ok && h.Here {
				holder.Command = command
				isOrphan := func(o supervise.Orphan) bool { return o.PID == h.PID }
				holder.Ours = slices.ContainsFunc(orphans, isOrphan)
			}
			idle.Holders = append(idle.Holders, holder)
		}
	}
	return out, nil
}

// TooFull returns an error for each device on which more memory is in use than the limit most
// allows.
func TooFull(found []record.Idle, most Limit) []error {
	var errs []error
	for i := range found {
		idle := &found[i]
		used, total := idle.Bytes(record.Used), idle.Bytes(record.Total)
		if used <= most.Of(total) {
			continue
		}
		held := record.HeldBy(idle.Holders)
		if held == "" {
			held = "; the driver names no process that holds it, " +
				"as in a container where others hold it"
		}
		errs = append(errs, fmt.Errorf(
			"GPU %d: expected at most %v in use before the first file, found %s of %s%s",
			idle.GPU, most, record.FormatBytes(used), record.FormatBytes(total), held))
	}
	return errs
}
