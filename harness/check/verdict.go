package check

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Verdict is the outcome of a check, or of all of them.
type Verdict string

// The verdicts.
const (
	Pass      Verdict = "pass"      // holds for every value that the printed digits allow
	Fail      Verdict = "fail"      // broken for every value that the printed digits allow
	Undecided Verdict = "undecided" // the log cannot tell; the message says what would decide it
	Skipped   Verdict = "skipped"   // the log has nothing to judge by; never the verdict of the whole
)

// Units of Finding.Measured and Finding.Limit.
const (
	Ratio        = "ratio" // 0.95 is 95 %
	PerFile      = "/file" // ends a unit that changes over files
	BytesPerFile = Bytes + PerFile
	PerReading   = "/reading" // ends a unit that changes over readings
	Count        = "count"
)

// A Finding is what one check found about one subject: a cleanup, a stage, a device, the batch.
type Finding struct {
	Check   string  `json:"check"` // one of Checks
	Verdict Verdict `json:"verdict"`
	Subject string  `json:"subject"` // "Whisper Cleanup"
	// File is the place in the batch (from 1) of the file that decided the verdict: the first that
	// fails, or the worst where none does. 0 where the finding is about no single file.
	File int `json:"file,omitempty"`
	// FirstFile is the first file that fails; of growth, the first that leaks. nil where nothing
	// fails, or the failure is in no single file.
	FirstFile *FirstFile `json:"first_file,omitempty"`
	// Stage is the stage, or the cleanup, that it is about; of growth, the one in which the memory is
	// taken. "" where it is about none, or the log does not tell.
	Stage string `json:"stage,omitempty"`
	// Measured and Limit are in Unit; nil where nothing was measured.
	Measured *float64 `json:"measured,omitempty"`
	Limit    *float64 `json:"limit,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// Quantity is what a peak was decided by: "allocated", "used" (the process's device use),
	// "buffers", "reserved" or "device" (in use on the whole device, by any process); "" for other
	// checks.
	Quantity string `json:"quantity,omitempty"`
	// Message is one sentence for a person: what was found, where, and what would decide or mend it.
	Message string `json:"message"`
	// At is the line of the log that shows it; of growth, the first higher one. nil where it is about
	// the whole log.
	At *record.Position `json:"at,omitempty"`
	// Gates says whether the policy lets this check decide the verdict of the whole.
	Gates bool `json:"gates"`
	// absent says that it passes only because nothing speaks against it. No memory was seen to be
	// given back.
	absent bool
	count  int // how many findings it sums; 0 for a single one
}

// A FirstFile identifies a file.
type FirstFile struct {
	Index int    `json:"index,omitempty"` // place in the batch, from 1; 0 for a file that was not fed
	Path  string `json:"path,omitempty"`  // as the log names it; "" where it does not
}

// in notes the file in which a finding failed.
func (f *Finding) in(file *timeline.File) {
	f.File = file.Index
	if f.Verdict == Fail && !file.Outside {
		f.FirstFile = &FirstFile{file.Index, file.Path}
	}
}
