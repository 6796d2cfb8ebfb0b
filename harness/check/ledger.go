package check

import (
	"slices"

	"vramsoak/parser/record"
)

// A Ledger is one amount of memory, or of another resource, that is followed from file to file. A
// check of its own judges whether it grows over the files of a process. To add a ledger, add an
// entry to [Ledgers]: its check, its key in the policy file and its metric follow from the entry.
// The schemas, and the order of metrics in package history, name the ledgers too.
type Ledger struct {
	Check string // name of its check, as in [Policy.Gate]
	Name  string // subject of its findings and name of its metric
	Key   string // its key in the policy file
	Unit  string
	// MaxGrowth is the default of [Policy.MaxGrowth]: the growth from one file to the next that is
	// allowed, in Unit.
	MaxGrowth float64
	// Gates is set if the ledger's check decides the verdict in the default policy.
	Gates bool

	// level returns the ledger's level at a checkpoint. It is called with a file's last checkpoint
	// that is not a sample.
	level func(c *record.Checkpoint) (level record.Size, ok bool)
	// missing is the message for a log in which no file has a level of the ledger. If
	// missingSampled is set, it is the message for such a log that has only samples.
	missing, missingSampled string
	// advice is appended to the message if the ledger grows too much.
	advice string

	// Machine is set if the ledger is not of a device but of the machine. Its levels are then those
	// of resource.
	Machine  bool
	resource record.Resource

	// The following fields are for special ledgers. Each may be nil.

	// levels returns the levels over the files, in place of level.
	levels func(j *Judge, l *lane) *column
	// readings judges the levels in lines that belong to no file: see [Judge.leakOverReadings].
	readings readingsJudge
	// explain adds facts from the log to the finding.
	explain func(j *Judge, l *lane, w *worstProcess)
	// shared reports whether the levels include the memory of other processes.
	shared func(l *lane) bool
	// extra is set if a log need not say anything about the ledger. A log that does not say
	// anything gets no finding.
	extra bool
	// ofProcess is set if the levels belong to the process and not to one of its devices.
	ofProcess bool
	// caches is set if the levels include a cache that never shrinks. They then fail only if they
	// keep rising: see [keepsRising].
	caches bool
	// fills is set if the levels include pools that fill: arenas of an allocator, caches. They then
	// fail only if the growth does not slow down: see [shape.Slows].
	fills bool
	// containsOthers is set if the ledgers before it are parts of this one. If a part grows just as
	// fast, only the part has a finding, because the cause is the same.
	containsOthers bool
}

// Ledgers lists all ledgers, in the order of their checks in a report.
var Ledgers = []Ledger{
	{
		Check: Leak, Name: IdleLevel, Key: "leak", Unit: Bytes, MaxGrowth: 256 << 10, Gates: true,
		levels:  idleLevels,
		missing: "no file has an idle level: the reading at its last checkpoint",
		missingSampled: "all readings are samples, and none shows what a file leaves behind; " +
			`print a checkpoint at the end of each file, ` +
			`such as "[GPU Memory] After File: Allocated: 0.18GB"`,
		readings: (*Judge).leakOverReadings, explain: (*Judge).explainLeak,
	},
	{
		Check: Fragmentation, Name: UnusedReserve, Key: "fragmentation", Unit: Bytes,
		MaxGrowth: 1 << 20, Gates: true,
		level: func(c *record.Checkpoint) (record.Size, bool) {
			return difference(c, record.Reserved, record.Allocated)
		},
		missing:  "no file ends with a checkpoint that has both allocated and reserved",
		advice:   "the allocator reserves more and more that it does not hand out: " + adviceFragmented,
		readings: (*Judge).reserveOverReadings, explain: (*Judge).explainUnused,
	},
	{
		Check: DarkGrowth, Name: DarkMemory, Key: "dark_memory", Unit: Bytes,
		MaxGrowth: 1 << 20, Gates: true,
		level: func(c *record.Checkpoint) (record.Size, bool) {
			return difference(c, record.Used, record.Reserved)
		},
		missing: "no file ends with a checkpoint that has both device used (used=) and reserved",
		levels:  darkLevels, explain: (*Judge).explainDark, shared: (*lane).darkIsShared,
	},
	{
		Check: DeviceGrowth, Name: DeviceUsed, Key: "device_used", Unit: Bytes,
		MaxGrowth: 1 << 20, Gates: true, extra: true,
		level:  func(c *record.Checkpoint) (record.Size, bool) { return c.Get(record.Used) },
		levels: deviceLevels, explain: (*Judge).explainDevice, shared: (*lane).deviceIsShared,
		caches: true, containsOthers: true,
	},
	{ // It does not gate, because a pool of varying sizes rises in steps: docs/explanation/growth.md.
		Check: PinnedGrowth, Name: PinnedMemory, Key: "pinned_memory", Unit: Bytes,
		MaxGrowth: 1 << 20, extra: true, ofProcess: true, caches: true,
		level:  func(c *record.Checkpoint) (record.Size, bool) { return c.Get(record.Pinned) },
		levels: pinnedLevels, explain: (*Judge).explainPinned, advice: pinnedAdvice,
	},
	machine(record.HostMemory, Ledger{
		Check: HostGrowth, Name: "host memory", Key: "host_memory", Unit: Bytes,
		MaxGrowth: 1 << 20, Gates: true, fills: true,
	}),
	machine(record.SharedMemory, Ledger{
		Check: SharedGrowth, Name: "shared memory", Key: "shared_memory", Unit: Bytes,
		MaxGrowth: 1 << 20, Gates: true,
		advice: "close and unlink what each file creates in /dev/shm",
	}),
	machine(record.FileDescriptors, Ledger{
		Check: DescriptorGrowth, Name: "file descriptors", Key: "file_descriptors", Unit: Count,
		MaxGrowth: 0.1, Gates: true,
		advice: "ls -l /proc/PID/fd shows what stays open",
	}),
	machine(record.Threads, Ledger{
		Check: ThreadGrowth, Name: "threads", Key: "threads", Unit: Count, MaxGrowth: 0.1,
	}),
	machine(record.Processes, Ledger{
		Check: ProcessGrowth, Name: "processes", Key: "processes", Unit: Count, MaxGrowth: 0.1,
	}),
}

// machine returns the ledger of a resource of the machine.
func machine(of record.Resource, l Ledger) Ledger {
	l.Machine, l.resource = true, of
	l.missing = "the harness did not look at the pipeline's processes when a file ended"
	return l
}

// difference returns the quantity of minus the quantity less at a checkpoint. The second result
// is false if the checkpoint does not have both.
func difference(c *record.Checkpoint, of, less record.Quantity) (record.Size, bool) {
	a, hasA := c.Get(of)
	b, hasB := c.Get(less)
	return record.Size{Bytes: a.Bytes - b.Bytes, Resolution: a.Resolution + b.Resolution}, hasA && hasB
}

// levelsOf returns the levels of a ledger over the files.
func (j *Judge) levelsOf(l *lane, of *Ledger) *column {
	if of.levels != nil {
		return of.levels(j, l)
	}
	return l.column(of.Name)
}

// LedgerOf returns the ledger that a check judges, or nil if the check judges no ledger.
func LedgerOf(check string) *Ledger {
	for i := range Ledgers {
		if of := &Ledgers[i]; of.Check == check {
			return of
		}
	}
	return nil
}

// ledgerNamed returns the ledger with this name.
func ledgerNamed(name string) *Ledger {
	return &Ledgers[slices.IndexFunc(Ledgers, func(l Ledger) bool { return l.Name == name })]
}

// ledgerChecks returns the checks of the ledgers.
func ledgerChecks() []string {
	all := make([]string, len(Ledgers))
	for i := range Ledgers {
		all[i] = Ledgers[i].Check
	}
	return all
}
