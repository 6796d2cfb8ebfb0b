package serve

import (
	"context"
	"os"
	"time"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/reports/metrics"
)

// await is how often Follow looks whether the log is there.
const await = 100 * time.Millisecond

// Follow reads a log of the run while it grows, until the context ends. The log may begin to exist
// later. If it cannot be read, the metrics of memory stay as they are.
func (c *Collector) Follow(ctx context.Context, dialects *parser.Set, path string) {
	tick := time.NewTicker(await)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	l := newFeed(c)
	for rec, err := range dialects.Follow(ctx, path, path, nil) {
		if err != nil {
			return
		}
		l.add(rec)
	}
}

// A feed is what was read of one log of a run.
type feed struct {
	c *Collector
	// last has the last checkpoint of each lane in the file that is being worked on.
	last map[record.Lane]record.Checkpoint
	// gpu is the driver's number of the GPU that the processes see as device 0, if the log is of a
	// worker.
	gpu    int
	worker bool
}

func newFeed(c *Collector) *feed {
	return &feed{c: c, last: map[record.Lane]record.Checkpoint{}}
}

// add takes the next record of the log.
func (l *feed) add(rec record.Record) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	switch r := rec.(type) {
	case record.RunStart:
		if r.Workers > 0 && r.Pos.Line == 1 {
			l.worker, l.gpu = true, r.GPU
		}
	case record.Checkpoint:
		r.Lane = l.lane(r.Lane)
		l.checkpoint(&r)
	case record.Sample:
		lane := l.lane(r.Lane)
		for ledger, bytes := range metrics.OfSample(&r) {
			l.c.note(memoryKey{metrics.Sample, ledger, lane}, bytes)
		}
		l.c.machine[machineKey{l, metrics.Sample}] = r.Held
	case record.Holding:
		if r.Index > 0 || r.Path != "" {
			l.c.machine[machineKey{l, metrics.AtFileEnd}] = r.Resources
		}
	case record.OutOfMemory:
		if !r.Repeated {
			l.c.ooms++
		}
	case record.Exit:
		if r.Restarts > 0 {
			l.c.restarts++
		}
	case record.FileStart:
		if !r.Pipeline {
			clear(l.last)
		}
	case record.FileEnd:
		if !r.Pipeline {
			l.fileEnd(&r)
		}
	}
}

// lane returns a lane with the driver's number of the device.
func (l *feed) lane(lane record.Lane) record.Lane {
	if l.worker && lane.Device == 0 {
		lane.Device = l.gpu
	}
	return lane
}

func (l *feed) checkpoint(r *record.Checkpoint) {
	for i := range metrics.Ledgers {
		ledger := &metrics.Ledgers[i]
		if bytes, ok := ledger.Of(r); ok {
			l.c.note(memoryKey{metrics.Checkpoint, ledger.Key, r.Lane}, bytes)
		}
	}
	if total := r.Bytes(record.Total); total > 0 && room(l.c.sizes, r.Lane, 1) {
		l.c.sizes[r.Lane] = total
	}
	if !r.Sampled && room(l.last, r.Lane, 1) {
		l.last[r.Lane] = *r
	}
}

// fileEnd notes how a file ended and, if it ended well, what it leaves behind.
func (l *feed) fileEnd(r *record.FileEnd) {
	l.c.files[r.Status]++
	if r.Seconds > 0 {
		l.c.seconds = r.Seconds
	}
	if r.Status != record.StatusOK {
		clear(l.last)
	}
	for lane, c := range l.last {
		for i := range metrics.Ledgers {
			ledger := &metrics.Ledgers[i]
			at := memoryKey{ledger: ledger.Key, lane: lane}
			bytes, ok := ledger.Of(&c)
			if ok && ledger.Kept && room(l.c.fileEnd, at, len(metrics.Ledgers)) {
				l.c.fileEnd[at] = bytes
			}
		}
	}
	clear(l.last)
}

// note notes a reading, and raises its high-water mark.
func (c *Collector) note(at memoryKey, bytes int64) {
	if !room(c.memory, at, 2*len(metrics.Ledgers)) {
		return
	}
	c.memory[at] = bytes
	if high, ok := c.high[at]; !ok || bytes > high {
		c.high[at] = bytes
	}
}

// room reports whether a map has the key already, or may get another one. It has each lane as often
// as given.
func room[K comparable, V any](m map[K]V, key K, each int) bool {
	_, has := m[key]
	return has || len(m) < maxLanes*each
}
