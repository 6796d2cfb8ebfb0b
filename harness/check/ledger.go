package check

import (
	"slices"

	"vramsoak/parser/record"
)

// A Ledger is one amount of memory, or of another resource, that is followed from file to file. A
// check judges whether it grows over the files of a process. To add a ledger, add an entry to
// [Ledgers]: its check, its key in the policy file and its metric follow from the entry.
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
	// missing is the message for a log in which no file has a level of the ledger. If missingSampled
	// is set, it is the message for such a log that has only samples.
	missing, missingSampled string
	// advice is appended to the message if the ledger grows too much.
	advice string

	// The following fields are for special ledgers. Each may be nil.

	// levels returns the levels over the files, in place of level.
	levels func(j *Judge, l *lane) *column
	// readings judges the levels in lines that belong to no file: see [Judge.leakOverReadings].
	readings readingsJudge
	// explain adds facts from the log to the finding.
	explain func(j *Judge, l *lane, w *worstProcess)
	// shared reports whether the levels include the memory of other processes.
	shared func(l *lane) bool
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
}

// difference returns the quantity of minus the quantity less at a checkpoint. The second result is
// false if the checkpoint does not have both.
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

// ledgerChecks returns the checks of the ledgers, without duplicates.
func ledgerChecks() []string {
	var all []string
	for i := range Ledgers {
		if !slices.Contains(all, Ledgers[i].Check) {
			all = append(all, Ledgers[i].Check)
		}
	}
	return all
}
