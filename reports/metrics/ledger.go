package metrics

import (
	"iter"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// A Ledger is one account of a device's memory.
type Ledger struct {
	Key  string // the value of [LabelLedger]
	Name string // for people
	// Kept is set if files are judged by what they leave behind in this ledger, or if that helps to
	// explain what they leave behind.
	Kept bool
	of   func(c *record.Checkpoint) (record.Size, bool)
}

// Of returns the level of the ledger at a checkpoint. ok is false if the checkpoint does not give
// it.
func (l *Ledger) Of(c *record.Checkpoint) (bytes int64, ok bool) {
	size, ok := l.of(c)
	return size.Bytes, ok
}

// Keys of ledgers that are not only read from checkpoints.
const (
	DeviceUsed      = "device_used"        // by the processes of the pipeline
	DeviceUsedByAll = "device_used_by_all" // by all processes
)

// Ledgers lists the ledgers of a device.
var Ledgers = []Ledger{
	quantity(record.Allocated, true),
	quantity(record.Reserved, true),
	{
		"unused_reserve", check.UnusedReserve, true,
		func(c *record.Checkpoint) (record.Size, bool) { return c.Cache() },
	},
	quantity(record.Active, false),
	quantity(record.InactiveSplit, false),
	{"peak_allocated", "peak allocated", false, has(record.Peak)},
	{"peak_reserved", "peak reserved", false, has(record.PeakReserved)},
	{DeviceUsed, "device used", true, func(c *record.Checkpoint) (record.Size, bool) {
		used, ok := c.Get(record.Used)
		return used, ok && c.Own
	}},
	{
		DeviceUsedByAll, "device used by all processes", true,
		func(c *record.Checkpoint) (record.Size, bool) {
			used, ok := c.Get(record.Used)
			return used, ok && !c.Own
		},
	},
	{"dark_memory", check.DarkMemory, true, dark},
	{"pinned_memory", check.PinnedMemory, true, has(record.Pinned)},
}

// LedgerName returns the name of a ledger for people.
func LedgerName(key string) string {
	for i := range Ledgers {
		if Ledgers[i].Key == key {
			return Ledgers[i].Name
		}
	}
	return key
}

// quantity returns the ledger of a quantity that checkpoints give.
func quantity(q record.Quantity, kept bool) Ledger {
	return Ledger{q.String(), q.String(), kept, has(q)}
}

func has(q record.Quantity) func(c *record.Checkpoint) (record.Size, bool) {
	return func(c *record.Checkpoint) (record.Size, bool) { return c.Get(q) }
}

// dark returns device used minus reserved. A driver that rounds may say that less is used than
// reserved; the ledger is then 0.
func dark(c *record.Checkpoint) (record.Size, bool) {
	used, hasUsed := c.Get(record.Used)
	reserved, ok := c.Get(record.Reserved)
	return record.Exact(max(0, used.Bytes-reserved.Bytes)), ok && hasUsed
}

// OfSample ranges over the ledgers that a sample of the harness gives, with their levels in bytes.
func OfSample(s *record.Sample) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		size, ok := s.Get(record.Used)
		if ok && s.Source == record.SourceProcess && !yield(DeviceUsed, size.Bytes) {
			return
		}
		if bytes, ok := s.UsedOnDevice(); ok {
			yield(DeviceUsedByAll, bytes)
		}
	}
}

// Resources lists the metric of each resource of the machine.
var Resources = [record.ResourceKinds]*Metric{
	record.HostMemory:      &HostMemory,
	record.SharedMemory:    &SharedMemory,
	record.FileDescriptors: &OpenFiles,
	record.Threads:         &Threads,
	record.Processes:       &Processes,
}
