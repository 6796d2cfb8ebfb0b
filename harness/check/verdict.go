package check

import (
	"cmp"

	"vramsoak/harness/waiver"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Verdict is the outcome of one check, or of a report.
type Verdict string

// These are the verdicts.
const (
	Pass      Verdict = "pass"      // what is checked holds for every value that the digits allow
	Fail      Verdict = "fail"      // it is violated for every value that the digits allow
	Undecided Verdict = "undecided" // the log does not show it; the message says what would decide it
	Skipped   Verdict = "skipped"   // the log has no data for the check; a report is never skipped
)

// These are units of Finding.Measured and Finding.Limit.
const (
	Ratio        = "ratio" // 0.95 is 95 %
	PerFile      = "/file" // suffix of a unit of growth per file
	BytesPerFile = Bytes + PerFile
	PerReading   = "/reading" // suffix of a unit of growth per reading
	Count        = "count"
)

// A Finding is the result of one check on one subject: a cleanup, a stage, a device or the batch.
type Finding struct {
	Check   string  `json:"check"` // one of Checks
	Verdict Verdict `json:"verdict"`
	Subject string  `json:"subject"` // "Whisper Cleanup"
	// File is the index in the batch, from 1, of the file that decided the verdict: the first that
	// fails or, if none fails, the worst. It is 0 if no single file decided.
	File int `json:"file,omitempty"`
	// FirstFile is the first file that fails; for growth, the first file with a higher level. It is
	// nil if the finding does not fail, or if no single file is at fault.
	FirstFile *FirstFile `json:"first_file,omitempty"`
	// Stage is the stage or cleanup that the finding is about; for growth, the one in which the memory
	// is allocated. It is "" if there is none, or if the log does not name it.
	Stage string `json:"stage,omitempty"`
	// Measured and Limit are in Unit. They are nil if nothing was measured.
	Measured *float64 `json:"measured,omitempty"`
	Limit    *float64 `json:"limit,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// Quantity is the kind of reading that decided a peak: "allocated", "used" (on the device by the
	// process), "buffers", "reserved" or "device" (on the device by any process). It is "" for other
	// checks.
	Quantity string `json:"quantity,omitempty"`
	// OfAllocated is (before - after) / before, the ratio of what was freed to all that was allocated
	// before. It is nil unless the finding is on a recovery and has another ratio.
	OfAllocated *float64 `json:"of_allocated,omitempty"`
	// Message is one sentence for people: what was found, where, and what would decide or fix it.
	Message string `json:"message"`
	// Advice lists what to do about a failed allocation, by the numbers of the log, a sentence each.
	// What helps most comes first.
	Advice []string `json:"advice,omitempty"`
	// Also lists the checks of further ledgers that grow together with this one. The finding is theirs
	// too.
	Also []string `json:"also,omitempty"`
	// At is the line of the log that shows the finding; for growth, the first line with a higher
	// level. It is nil if the finding is about the whole log.
	At *record.Position `json:"at,omitempty"`
	// Cause names the finding that this one follows from. It is nil if the finding does not fail, or
	// has a cause of its own. [Report.Join] sets it.
	Cause *Cause `json:"cause,omitempty"`
	// Device names the device and the rank of the finding, "rank 1, device 0", if the log has several.
	Device string `json:"device,omitempty"`
	// Shard is the number of the shard that decided the finding, if several tasks shared the batch,
	// and Node the machine on which it ran. InShards is the number of shards with this verdict.
	Shard    int    `json:"shard,omitempty"`
	Node     string `json:"node,omitempty"`
	InShards int    `json:"in_shards,omitempty"`
	// Gates is set if this finding takes part in the verdict of the report.
	Gates bool `json:"gates"`
	// Waived is set if the policy waives the finding, which then keeps its verdict and does not gate.
	Waived *waiver.Waiver `json:"waived,omitempty"`
	// absent is set if the finding passes only because nothing speaks against it, such as the finding
	// of a log without an out-of-memory message.
	absent bool
	count  int // number of findings that this finding sums up; 0 if it sums up none
	// noData is set if the finding says that a check has no data. Such a finding cannot be waived.
	noData bool
	// worst is the worst value among the files or processes that do not pass, which a waiver must
	// cover. It is nil if that is Measured. See includes.
	worst *float64
	// rate is the growth with its interval, in words, if the finding is on growth: "4.00 MiB a file
	// (95 %: 3.86 MiB to 4.12 MiB)".
	rate string
	// causeInput is what [Judge.findCauses] needs to know of the finding. It is nil if no rule for
	// causes uses the finding. cause is the cause that was found.
	causeInput *causeInput
	cause      *Cause
	// found is the message without what it says about waivers. It is "" if Message says nothing about
	// them.
	found string
}

// Found returns the message without what it says about waivers.
func (f *Finding) Found() string { return cmp.Or(f.found, f.Message) }

// Stands returns how many findings this one stands for: 1, or more if it sums up the findings that
// a report does not list one by one.
func (f *Finding) Stands() int { return max(1, f.count) }

// HigherIsBetter reports whether a smaller value is worse: a share that is given back.
func (f *Finding) HigherIsBetter() bool { return f.Check == Recovery || f.Check == DeviceRecovery }

// A FirstFile identifies a file.
type FirstFile struct {
	Index int    `json:"index,omitempty"` // index in the batch, from 1; 0 if it was not fed
	Path  string `json:"path,omitempty"`  // as in the log; "" if the log does not name it
}

// in sets the file that the finding names. If the finding fails, it is also the first file that
// fails.
func (f *Finding) in(file *timeline.File) {
	f.File = file.Index
	if f.Verdict == Fail && !file.Outside {
		f.FirstFile = &FirstFile{file.Index, file.Path}
	}
}
